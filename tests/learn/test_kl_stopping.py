"""KL early stopping: the rest of an update is skipped, with the same result on the host and by a flag on the device."""

import math

import pytest
import torch
from worlds import CLOCK

from worldloom.core.simulation import Simulation
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.divergence_check import DivergedError, DivergenceCheck
from worldloom.learn.training.kl_stopping import KLStopping

CONFIG = {
    "num_envs": 8,
    "num_steps": 16,
    "epochs": 10,
    "learning_rate": 0.01,
    "total_steps": 512,
    "device": "cpu",
    "native": False,
    "policy": PolicyConfig(hidden=(16,)),
}


class Steps(Callback):
    """The optimizer steps of every iteration, and the largest KL metric."""

    def __init__(self):
        self.steps, self.kl = [], []

    def on_iteration(self, trainer, progress):
        (stopping,) = trainer._kl_stopping.values()
        self.steps.append(float(stopping.steps))
        self.kl.append(progress.metrics["update/kl"])


def train(**settings):
    seen = Steps()
    trainer = PPO("CartPole-v1", PPOConfig(**CONFIG, **settings)).learn(callbacks=seen)
    return trainer, seen


def test_steps_end_at_the_limit():
    _, seen = train(max_kl=0.005)
    assert all(1.0 <= steps < 40.0 for steps in seen.steps)
    assert max(seen.kl) <= 0.005
    _, seen = train(max_kl=100.0)
    assert seen.steps == [40.0] * 4


def test_a_limit_that_is_never_reached_changes_nothing():
    plain = PPO("CartPole-v1", PPOConfig(**CONFIG)).learn()
    limited, _ = train(max_kl=100.0)
    assert torch.equal(plain.learners["Cart"].optimizer.flat, limited.learners["Cart"].optimizer.flat)


def test_the_flag_of_a_gpu_leaves_the_same_state(monkeypatch):
    """On a GPU the skipped steps are computed, and change neither the parameters nor the optimizer."""
    host, _ = train(max_kl=0.005)
    check = KLStopping.check

    def on_device(self, divergence, limit):
        check(self, divergence, limit)
        return False

    monkeypatch.setattr(KLStopping, "check", on_device)
    device, _ = train(max_kl=0.005)
    for name, tensor in host.tensors().items():
        torch.testing.assert_close(device.tensors()[name], tensor, rtol=0, atol=0 if "metrics" not in name else 1e-6)


def test_the_limit_may_be_scheduled():
    _, seen = train(max_kl=[(0, 100.0), (128, 1e-6)])
    assert seen.steps[0] == 40.0 and max(seen.steps[1:]) < 5.0


@pytest.mark.parametrize("setting", [{"policy": PolicyConfig(hidden=(16,), memory="gru", memory_size=8)}])
def test_recurrent_policies_stop_too(setting):
    seen = Steps()
    PPO("CartPole-v1", PPOConfig(**{**CONFIG, **setting}, max_kl=0.002)).learn(callbacks=seen)
    assert max(seen.steps) < 40.0


@pytest.mark.parametrize("native", [True, False])
def test_an_observation_that_is_not_finite_is_not_skipped_silently(native):
    worlds = Simulation(CLOCK, 8, "cpu", seed=0, autoreset="same_step", checks=False)
    worlds["Ticker"]["sight"].torch()[3, 0, 1] = math.nan
    config = PPOConfig(**{**CONFIG, "native": native}, max_kl=0.005)
    with pytest.raises(DivergedError, match=r"observation 'sight\[1\]' of Ticker 0 in world 3 is nan"):
        PPO(worlds, config).learn(callbacks=DivergenceCheck())


@pytest.mark.parametrize("native", [True, False])
def test_an_update_without_a_step_is_no_divergence(native):
    """With overlap the behavior policy is older, so that the first minibatch may exceed the limit."""
    seen = Steps()
    config = PPOConfig(**{**CONFIG, "native": native, "total_steps": 1280}, max_kl=1e-5, overlap=True)
    PPO("CartPole-v1", config).learn(callbacks=[DivergenceCheck(), seen])
    assert 0.0 in seen.steps[1:] and max(seen.steps) > 0.0
    without = [kl for kl, steps in zip(seen.kl[1:], seen.steps[1:], strict=True) if steps == 0.0]
    assert all(kl > 1e-5 for kl in without), "the divergence that ended the update is reported"
