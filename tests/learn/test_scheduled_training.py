"""Numbers that change during training reach the losses, on the host and as tensors of the device."""

from dataclasses import replace

import pytest
import torch

from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.policy_learner import PolicyLearner
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.losses.policy_loss import loss_weights
from worldloom.learn.losses.policy_loss_kernels import categorical_loss
from worldloom.learn.training.callbacks import Callback

SMALL = {"num_envs": 8, "device": "cpu", "policy": PolicyConfig(hidden=(16,))}
POINTS = [(0, 0.5), (10_000, 0.7)]
CASES = {
    "ppo": (
        PPO,
        PPOConfig(
            **SMALL,
            num_steps=8,
            total_steps=256,
            learning_rate=[(0, 1e-3), (256, 1e-4)],
            normalize_rewards=True,
            **dict.fromkeys(
                ("gamma", "lam", "clip", "value_clip", "entropy_weight", "value_weight", "reward_scale"), POINTS
            ),
            max_gradient_norm=[(0, 0.5), (128, 0.1)],
        ),
    ),
    "a2c": (
        A2C,
        A2CConfig(
            **SMALL,
            num_steps=8,
            total_steps=256,
            **dict.fromkeys(("gamma", "entropy_weight", "value_weight", "max_gradient_norm"), POINTS),
        ),
    ),
    "vtrace": (
        VTrace,
        VTraceConfig(
            **SMALL, num_steps=8, total_steps=256, **dict.fromkeys(("gamma", "lam", "rho_clip", "c_clip"), POINTS)
        ),
    ),
    "dqn": (
        DQN,
        DQNConfig(
            **SMALL,
            total_steps=256,
            learning_starts=32,
            batch_size=16,
            replay_capacity=1000,
            huber=0.0,
            prioritized=True,
            schedule="constant",
            **dict.fromkeys(("gamma", "tau", "priority_alpha", "reward_scale", "epsilon_start"), POINTS),
        ),
    ),
}


class StopAtStep(Callback):
    """Stops a training after some steps, with the schedules of the whole."""

    def __init__(self, steps):
        self.steps = steps

    def on_iteration(self, trainer, progress):
        if progress.steps >= self.steps:
            trainer.stop()


def parameters(trainer):
    (learner,) = trainer.learners.values()
    return learner.optimizer.flat.clone()


@pytest.mark.parametrize("name", CASES)
def test_device_tensors_give_the_same_bits_as_numbers(name, monkeypatch):
    """On a GPU the numbers are tensors, which captured graphs read. The kernels accept them on the CPU too."""
    trainer_class, config = CASES[name]
    config = replace(config, native=False)
    plain = parameters(trainer_class("CartPole-v1", config).learn())
    host = PolicyLearner.setting
    used = set()

    def on_device(self, name):
        if name in self.schedules:
            used.add(name)
            return self._device_numbers[name]
        return host(self, name)

    monkeypatch.setattr(PolicyLearner, "setting", on_device)
    again = parameters(trainer_class("CartPole-v1", config).learn())
    assert (
        torch.equal(again, plain) if name != "dqn" else torch.allclose(again, plain)
    )  # pow of a tensor rounds otherwise
    assert used >= set(trainer_class("CartPole-v1", config).learners["Cart"].schedules) - {
        "learning_rate",
        "tau",
        "epsilon_start",
    }


@pytest.mark.parametrize("name", CASES)
def test_a_saved_training_continues_bit_for_bit(name):
    trainer_class, config = CASES[name]
    straight, first, second = (trainer_class("CartPole-v1", config) for _ in range(3))
    straight.learn()
    first.learn(callbacks=StopAtStep(128))
    assert 128 <= first.steps < 256
    tensors, plain = first.state()
    second.load_state({key: tensor.clone() for key, tensor in tensors.items()}, plain)
    second.learn()
    for key, tensor in straight.tensors().items():
        assert torch.equal(second.tensors()[key], tensor), key


@pytest.mark.parametrize(
    ("name", "setting"),
    [(n, s) for n, (_, c) in CASES.items() for s in ("gamma", "entropy_weight", "tau") if hasattr(c, s)],
)
def test_a_schedule_changes_the_training_after_its_first_value(name, setting):
    trainer_class, config = CASES[name]
    plain = {
        f: getattr(trainer_class.config_class(), f) for f in ("gamma", "entropy_weight", "tau") if hasattr(config, f)
    }
    other = type(config)(**{**SMALL, **_sizes(config), **plain})
    constant = type(config)(
        **{**SMALL, **_sizes(config), **plain, setting: [(0, plain[setting]), (99, plain[setting])]}
    )
    changing = type(config)(**{**SMALL, **_sizes(config), **plain, setting: [(64, plain[setting]), (128, 0.9)]})
    before, same, changed = (parameters(trainer_class("CartPole-v1", c).learn()) for c in (other, constant, changing))
    assert torch.equal(before, same)
    assert not torch.equal(before, changed)


def _sizes(config):
    names = ("num_steps", "total_steps", "learning_starts", "batch_size", "replay_capacity", "huber")
    return {name: getattr(config, name) for name in names if hasattr(config, name)}


def test_learning_rate_and_epsilon_follow_their_points():
    trainer = DQN("CartPole-v1", CASES["dqn"][1])
    (learner,) = trainer.learners.values()
    learner.schedule(5_000, 10_000)
    assert float(learner.explorer.epsilon) == pytest.approx(0.6)
    ppo = PPO("CartPole-v1", CASES["ppo"][1])
    ppo.learners["Cart"].schedule(128, 256)
    assert float(ppo.learners["Cart"].optimizer.learning_rate) == pytest.approx(5.5e-4)


def test_the_fused_loss_reads_scheduled_coefficients():
    """The kernel that a GPU uses, on the CPU: coefficients in a tensor count instead of those in the struct."""
    from worldloom.learn.device.warp_launch import launch

    def gradients(settings):
        torch.manual_seed(0)
        logits, values = torch.randn(5, 2), torch.randn(5)
        outputs = torch.empty(5, 2), torch.empty(5), torch.empty(5, 5)
        starts, places = torch.tensor([0, 2], dtype=torch.int32), torch.arange(5)
        old = (torch.randn(5) - 1.0, torch.randn(5), torch.randn(5), torch.randn(5), torch.empty(0), torch.empty(0))
        actions, masks = torch.zeros((5, 1), dtype=torch.int32), torch.empty((0, 0), dtype=torch.bool)
        arguments = (logits, values, places, starts, actions, masks, *old, settings, *outputs)
        launch(categorical_loss, 5, arguments, torch.device("cpu"))
        return torch.cat([o.flatten() for o in outputs])

    numbers = (0.2, 0.3, 0.5, 0.01)
    plain = gradients(loss_weights(*numbers))
    assert torch.equal(gradients(loss_weights(torch.tensor(0.2), *numbers[1:])), plain)
    assert not torch.equal(gradients(loss_weights(torch.tensor(0.1), *numbers[1:])), plain)
