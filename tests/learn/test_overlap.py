"""Learning while the next roll-out is taken: who plays, what is learned from, and that it is the same update."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from thorough import covering
from worlds import CLOCK, FARM, PARTY

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig

COMMON: dict[str, Any] = {"num_envs": 8, "device": "cpu", "seed": 3, "policy": PolicyConfig(hidden=(8,))}
LEARNERS: dict[str, tuple[Any, Any]] = {
    "ppo": (PPO, PPOConfig(num_steps=4, minibatches=2, **COMMON)),
    "a2c": (A2C, A2CConfig(num_steps=4, **COMMON)),
    "vtrace": (VTrace, VTraceConfig(num_steps=4, steps_per_update=2, batches=2, **COMMON)),
    "vtrace, whole": (VTrace, VTraceConfig(num_steps=4, steps_per_update=4, batches=2, **COMMON)),
}


def weights(trainer: OnPolicyTrainer) -> torch.Tensor:
    return trainer.learners["Cart"].optimizer.flat.clone()


def played_with(trainer: OnPolicyTrainer) -> torch.Tensor:
    return torch.cat([p.flatten() for p in trainer.learners["Cart"].actor.policy.parameters()]).clone()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_policy_from_before_plays_meanwhile(name: str) -> None:
    kind, config = LEARNERS[name]
    trainer = kind("CartPole-v1", replace(config, overlap=True))
    start = weights(trainer)
    trainer.iterate()
    assert torch.equal(weights(trainer), start), "there is nothing to learn from yet"
    for _ in range(3):
        before = weights(trainer)
        trainer.iterate()
        assert torch.equal(played_with(trainer), before) and not torch.equal(weights(trainer), before)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_first_update_is_the_one_without_overlap(name: str) -> None:
    """Both have played with the same policy until then, and learn from the same steps; the next ones differ."""
    kind, config = LEARNERS[name]
    plain, both = (kind("CartPole-v1", replace(config, overlap=overlap)) for overlap in (False, True))
    plain.iterate()
    both.iterate()
    both.iterate()
    assert torch.equal(weights(plain), weights(both))
    plain.iterate()
    both.iterate()
    assert not torch.equal(weights(plain), weights(both))


@pytest.mark.parametrize(("name", "memory"), covering(LEARNERS, ["none", "gru"]))
def test_it_works_with_agents_that_leave_and_policies_that_remember(name: str, memory: Any) -> None:
    kind, config = LEARNERS[name]
    policy = PolicyConfig(hidden=(8,), memory=memory, memory_size=4, normalize_observations=True)
    worlds = wl.Simulation(PARTY, 4, "cpu", seed=0, config={"leaves_at": 2, "over_at": 6})
    trainer = kind(worlds, replace(config, overlap=True, normalize_rewards=True, policy=policy))
    trainer.learn(40 * 4)
    assert trainer.steps >= 160 and all(
        tensor.isfinite().all() for name, tensor in trainer.tensors().items() if "policy/" in name
    )


def test_policies_that_only_play_play_themselves() -> None:
    policy_groups = {"wolves": PolicyGroup("Wolf"), "flock": PolicyGroup("Sheep,Ram", train=False)}
    trainer = PPO(FARM, replace(LEARNERS["ppo"][1], overlap=True, num_envs=4), policy_groups=policy_groups)
    trainer.learn(4 * 4 * 4)
    wolves, flock = trainer.learners["wolves"], trainer.learners["flock"]
    assert wolves.actor.policy is not wolves.policy and flock.actor.policy is flock.policy


@pytest.mark.parametrize(
    ("name", "iterations", "settings"),
    covering(
        LEARNERS,
        [1, 5],
        [
            {"stagger": True},
            {"normalize_values": True, "cut_values": "before", "reward_scale": 0.5},
            {"normalize_rewards": True, "policy": PolicyConfig(hidden=(8,), memory="gru", memory_size=4)},
        ],
    ),
)
def test_a_saved_training_continues_bit_for_bit(name: str, iterations: int, settings: dict[str, Any]) -> None:
    """Episodes of CLOCK are truncated after 5 steps, so that rollouts have bootstrap values.

    Staggered ones also end in the first iteration, which reports no episodes yet.
    """
    kind, config = LEARNERS[name]
    config = replace(config, overlap=True, **settings)

    def learn(trainer: OnPolicyTrainer, until: int) -> OnPolicyTrainer:
        while trainer.iteration < until:
            trainer.learn(trainer.steps + 1)
        return trainer

    straight = learn(kind(CLOCK, config), iterations)
    tensors, plain = straight.state()
    tensors = {key: tensor.clone() for key, tensor in tensors.items()}
    resumed = kind(CLOCK, config)
    resumed.load_state(tensors, plain)
    learn(straight, iterations + 4)
    learn(resumed, iterations + 4)
    (expected, values), (found, found_values) = straight.state(), resumed.state()
    assert expected.keys() == found.keys() and any("/rows/rollout/values" in key for key in found)
    for key, tensor in expected.items():
        assert torch.equal(tensor, found[key]), key
    assert {**values, "seconds": 0} == {**found_values, "seconds": 0}


def test_a_checkpoint_may_omit_the_rollout() -> None:
    kind, config = LEARNERS["ppo"]
    trainer = kind("CartPole-v1", replace(config, overlap=True, save_rollout=False)).learn(64)
    assert not any("rollout" in key for key in trainer.tensors())
    assert not any("rollout" in key for key in kind("CartPole-v1", config).learn(64).tensors())
    vtrace, windowed = LEARNERS["vtrace"]
    trainer = vtrace("CartPole-v1", replace(windowed, overlap=True, save_window=False)).learn(64)
    assert not any("rollout" in key for key in trainer.tensors())


@pytest.mark.parametrize(("key", "value"), [("first", 4), ("final_steps", 4), ("actions", 2)])
def test_an_altered_rollout_is_refused(key: str, value: int) -> None:
    kind, config = LEARNERS["ppo"]
    config = replace(config, overlap=True)
    tensors, plain = kind("CartPole-v1", config).learn(64).state()
    name = f"Cart/rows/rollout/{key}"
    altered = {**tensors, name: torch.full_like(tensors[name], value)}
    with pytest.raises(InputError, match="rollout of policy 'Cart' is not between"):
        kind("CartPole-v1", config).load_state(altered, plain)


def test_a_training_without_a_saved_rollout_plays_with_what_was_saved() -> None:
    kind, config = LEARNERS["ppo"]
    first = kind("CartPole-v1", replace(config, overlap=True, save_rollout=False))
    first.learn(5 * 32)
    tensors, plain = first.state()
    second = kind("CartPole-v1", replace(config, overlap=True, seed=4))
    second.load_state({name: tensor.clone() for name, tensor in tensors.items()}, plain)
    assert torch.equal(played_with(second), weights(first))
    second.iterate()
    assert torch.equal(weights(second), weights(first)), "a new roll-out comes first"


def test_it_learns() -> None:
    config = PPOConfig(
        num_envs=64, num_steps=16, epochs=8, gamma=0.98, lam=0.9, learning_rate=3e-3, device="cpu", overlap=True
    )
    trainer = PPO("CartPole-v1", config)
    trainer.learn(40_000)
    assert trainer.score > 80.0  # random actions score 22
