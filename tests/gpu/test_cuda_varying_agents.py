"""Agents that come and go on CUDA: the same rows as on other devices, and training with captured graphs."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lasting_agents import PARTY
from varying_agents import OFFICE, ROWS, office

import worldloom as wl
from worldloom.core.tools.compare import compare, first_difference
from worldloom.learn import DQN, PPO, DQNConfig, PolicyConfig, PPOConfig, evaluate, make_actors
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))

from test_agent_row_types import LAND as NARROW_LAND

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

CUDA = "cuda:0"
LAND = replace(NARROW_LAND, cuda_float32=False)
"""With the same types on every device."""


def foragers() -> wl.Definition:
    world: wl.Definition = __import__("foragers").WORLD
    return world


def test_python_cpu_and_cuda_agree() -> None:
    for world in (OFFICE, LAND, PARTY, foragers()):
        assert compare(world, ("python", "cpu", CUDA), num_worlds=6, steps=100) is None


def test_exact_bits_agree() -> None:
    for world in (LAND, foragers()):
        assert compare(world, ("cpu", CUDA), num_worlds=256, steps=150, exact=True) is None


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
@pytest.mark.parametrize("fuse", [True, False])
def test_thousands_of_worlds_as_on_the_cpu(autoreset: str, fuse: bool) -> None:
    simulations = [office(device, 3_000, autoreset=autoreset, fuse=fuse) for device in ("cpu", CUDA)]
    generator = np.random.default_rng(0)
    for step in range(40):
        actions = generator.integers(0, 4, (3_000, ROWS), dtype=np.int32)
        for simulation in simulations:
            simulation.step(actions)
        difference = first_difference(*simulations, step)
        assert difference is None, str(difference)


def test_actions_of_free_rows_are_ignored() -> None:
    env = WorldVectorEnv(OFFICE, 2, device=CUDA, backend="torch", seed=0, config={"hires": 0})
    _, infos = env.reset()
    actions = torch.where(infos["active"], 1, 99).to(torch.int32)
    _, rewards, _, truncations, _ = env.step(actions)
    assert rewards.tolist() == [2.0, 2.0] and not bool(truncations.any()) and env.errors() == []


def mean_return(trainer: PPO | DQN, world: wl.Definition) -> float:
    worlds = wl.Simulation(world, 64, CUDA, seed=1)
    return evaluate(worlds, make_actors(trainer.learners, worlds, stochastic=True), episodes=64).mean_return


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_ppo_learns(memory: str) -> None:
    config = PPOConfig(
        device=CUDA,
        num_envs=256,
        num_steps=16,
        total_steps=500_000,
        learning_rate=3e-3,
        seed=0,
        policy=PolicyConfig(memory=memory),
    )
    trainer = PPO(foragers(), config)
    before = mean_return(trainer, foragers())
    trainer.learn()
    assert mean_return(trainer, foragers()) > before + 10.0


def test_dqn_learns() -> None:
    config = DQNConfig(
        device=CUDA, num_envs=8, seed=0, total_steps=9_600, replay_capacity=9_600, batch_size=64, learning_starts=480
    )
    trainer = DQN(OFFICE, config)
    trainer.learn()
    assert mean_return(trainer, OFFICE) > 5.0  # at random it is negative


def test_a_captured_rollout_keeps_agents_apart() -> None:
    """The invariants of the stored steps after replays of the captured graph."""
    config = PPOConfig(device=CUDA, num_envs=16, num_steps=16, total_steps=16 * 16 * ROWS * 6, seed=0)
    trainer = PPO(OFFICE, config)
    trainer.learn()
    storage = trainer.learners["Worker"].actor.storage
    assert storage.weights is not None
    present, dones = storage.weights > 0, storage.dones
    numbers, ages = storage.observations["badge"].unbind(-1)
    continues = present[1:] & ~dones[:-1]
    assert int(continues.sum()) > 0 and bool(present[:-1][continues].all())
    assert bool((numbers[1:] == numbers[:-1])[continues].all()) and bool((ages[1:] == ages[:-1] + 1)[continues].all())
    assert bool((ages[1:][dones[:-1] & present[1:]] == 0).all())
