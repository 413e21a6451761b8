"""Value normalization: the critic predicts normalized values, and everything else sees them in units of the returns."""

from dataclasses import replace

import pytest
import torch
from thorough import sample
from worlds import CLOCK

from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig

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
