"""Trainings with seeds of 64 bits."""

from dataclasses import replace

import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.sac import SAC, SACConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.training.trainer import Trainer

LARGEST = 2**64 - 1
POLICY = PolicyConfig(hidden=(4,))
CASES = {
    "ppo": (PPO, "CartPole-v1", PPOConfig(num_envs=2, num_steps=4, total_steps=8, device="cpu", policy=POLICY)),
    "sac": (SAC, "Pendulum-v1", SACConfig(num_envs=2, total_steps=8, device="cpu", policy=POLICY)),
}


def trained(name: str, seed: int) -> Trainer:
    kind, world, config = CASES[name]
    return kind(world, replace(config, seed=seed)).learn()


@pytest.mark.parametrize("name", CASES)
def test_all_bits_of_a_seed_count(name: str) -> None:
    trainers = [trained(name, seed) for seed in (LARGEST, LARGEST, 2**63 - 1, 2**32 - 1)]  # equal in their lower half
    assert trainers[0].simulation.seeds.tolist() == [LARGEST] * 2
    first, same, *others = (trainer.state()[0] for trainer in trainers)
    learned = [key for key in first if "/policy/" in key and first[key].ndim == 2]
    assert learned and all(torch.equal(first[key], same[key]) for key in learned)
    assert not any(torch.equal(first[learned[0]], other[learned[0]]) for other in others)


def test_larger_seeds_are_refused() -> None:
    assert PPOConfig(eval_seed=LARGEST).eval_seed == LARGEST
    for name in ("seed", "eval_seed"):
        with pytest.raises(InputError, match=f"{name} must be a whole number of at most"):
            PPOConfig(**{name: LARGEST + 1})
