"""Value normalization: the critic predicts normalized values, and everything else sees them in units of the returns."""

from dataclasses import replace

import pytest
import torch
from thorough import sample
from worlds import CLOCK

from worldloom.learn.algorithms import a2c, ppo
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.training.callbacks import Callback

SMALL = {
    "num_envs": 16,
    "num_steps": 10,
    "device": "cpu",
    "policy": PolicyConfig(hidden=(32,)),
    "gamma": 0.9,
    "normalize_values": True,
}
CASES = {
    "ppo": (PPO, PPOConfig(**SMALL, learning_rate=3e-3, total_steps=16_000)),
    "a2c": (A2C, A2CConfig(**SMALL, learning_rate=1e-2, total_steps=32_000)),
    "vtrace": (VTrace, VTraceConfig(**SMALL, learning_rate=1e-2, total_steps=32_000)),
}


@pytest.mark.parametrize("name", sample(CASES, 1))
def test_large_rewards_are_learned_as_well_as_small_ones(name):
    """With rewards of 1,000 per step the value is 10,000; the outputs of the critic stay near 1 in size."""
    trainer_class, config = CASES[name]
    trainer = trainer_class(CLOCK, replace(config, reward_scale=1000.0)).learn()
    (learner,) = trainer.learners.values()
    assert learner.value_moments is not None and float(learner.value_moments.mean) == pytest.approx(10_000.0, rel=0.1)
    with torch.no_grad():
        predicted = learner.policy.value(learner.agent_group.observations(), learner.actor.state)
    assert float(predicted.abs().max()) < 10.0
    assert float(learner.denormalized(predicted).mean()) == pytest.approx(10_000.0, rel=0.1)


def test_targets_round_trip():
    trainer = PPO(CLOCK, CASES["ppo"][1])
    (learner,) = trainer.learners.values()
    returns, values = torch.randn(10, 16) * 50.0 + 300.0, torch.randn(10, 16) * 50.0 + 290.0
    targets, old = learner.normalize_targets(returns, values, None)
    assert float(targets.mean()) == pytest.approx(0.0, abs=1e-3) and float(targets.std()) == pytest.approx(
        1.0, abs=0.01
    )
    torch.testing.assert_close(learner.denormalized(targets), returns, rtol=1e-4, atol=1e-2)
    torch.testing.assert_close(learner.denormalized(old), values, rtol=1e-4, atol=1e-2)


def test_without_it_nothing_is_saved_and_nothing_changes():
    trainer = PPO(CLOCK, replace(CASES["ppo"][1], normalize_values=False))
    (learner,) = trainer.learners.values()
    values = torch.ones(3)
    assert learner.denormalized(values) is values
    assert not any("values/" in name for name in trainer.tensors())


@pytest.mark.parametrize("name", CASES)
def test_a_saved_training_continues_bit_for_bit(name):
    trainer_class, config = CASES[name]
    short = replace(config, total_steps=640)
    straight = trainer_class(CLOCK, short).learn()
    first = trainer_class(CLOCK, short).learn(320)
    tensors, plain = first.state()
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    assert "Ticker/values/mean" in tensors
    second = trainer_class(CLOCK, short)
    second.load_state(tensors, plain)
    second.learn()
    for key, tensor in straight.tensors().items():
        assert torch.equal(second.tensors()[key], tensor), key


def test_targets_are_not_clipped():
    trainer = PPO(CLOCK, CASES["ppo"][1])
    (learner,) = trainer.learners.values()
    returns = torch.zeros(10, 16)
    returns[0, 0] = 1000.0
    targets, _ = learner.normalize_targets(returns, torch.zeros(10, 16), None)
    assert float(targets.max()) > 12.0  # sqrt(159) standard deviations
    torch.testing.assert_close(learner.denormalized(targets), returns, rtol=1e-4, atol=1e-2)


class Moments(Callback):
    """The moments of the value targets after every iteration."""

    def __init__(self):
        self.seen = []

    def on_iteration(self, trainer, progress):
        (learner,) = trainer.learners.values()
        self.seen.append({name: tensor.clone() for name, tensor in learner.value_moments.state_dict().items()})


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(("name", "module", "function"), [("ppo", ppo, "gae"), ("a2c", a2c, "n_step_returns")])
def test_with_overlap_values_are_denormalized_as_they_were_predicted(name, module, function, native, monkeypatch):
    """The acting critic of a rollout was trained before the update that runs during it, with older moments."""
    trainer_class, config = CASES[name]
    config = replace(config, overlap=True, native=native, reward_scale=1000.0, total_steps=5 * 160)
    moments, used, predicted = Moments(), [], []
    compute = getattr(module, function)

    def recorded(rewards, values, *arguments, **options):
        used.append(values.clone())
        return compute(rewards, values, *arguments, **options)

    class Predictions(Callback):
        """The acting critic's outputs for the rollout of every iteration."""

        def on_iteration(self, trainer, progress):
            (learner,) = trainer.learners.values()
            with torch.no_grad():
                observed = {key: value.flatten(0, 1) for key, value in learner.actor.storage.observations.items()}
                predicted.append(learner.actor.policy.value(observed, learner.actor.state).view(10, 16))

    monkeypatch.setattr(module, function, recorded)
    trainer_class(CLOCK, config).learn(callbacks=[moments, Predictions()])
    assert len(used) == 4 and len(predicted) == 5
    for iteration in (2, 3):  # the first update has no earlier moments
        before = moments.seen[iteration - 1]
        expected = before["mean"] + predicted[iteration] / before["scale"]
        torch.testing.assert_close(used[iteration][:-1], expected, rtol=1e-4, atol=0.1)


@pytest.mark.parametrize("name", CASES)
def test_with_overlap_a_saved_training_continues_bit_for_bit(name):
    trainer_class, config = CASES[name]
    short = replace(config, overlap=True, total_steps=640)
    straight = trainer_class(CLOCK, short).learn()
    first = trainer_class(CLOCK, short).learn(320)
    tensors, plain = first.state()
    tensors = {key: tensor.clone() for key, tensor in tensors.items()}
    second = trainer_class(CLOCK, short)
    second.load_state(tensors, plain)
    second.learn()
    for key, tensor in straight.tensors().items():
        assert torch.equal(second.tensors()[key], tensor), key
