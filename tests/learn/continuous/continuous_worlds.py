"""Worlds and settings of the tests of SAC and TD3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import worldloom as wl
from worldloom.learn.algorithms.continuous import ContinuousTrainer
from worldloom.learn.algorithms.continuous_learner import ContinuousLearner
from worldloom.learn.algorithms.sac import SAC
from worldloom.learn.algorithms.td3 import TD3
from worldloom.learn.config.continuous_config import SACConfig, TD3Config
from worldloom.learn.config.policy_config import PolicyConfig


class Archer(wl.Entity):
    """Aims at two numbers that it sees; the bounds of its action are not symmetric."""

    aim: wl.Action(wl.Box(low=(-1.0, 0.0), high=(3.0, 1.0), shape=(2,)))
    sight: wl.Observation(2)
    wind: wl.Observation(1, critic=True)
    reward: wl.Reward


class Range(wl.World):
    pass


@wl.system
def shoot(archer: Archer):
    first = archer.aim[0] - archer.sight[0]
    second = archer.aim[1] - archer.sight[1]
    archer.reward = -first * first - second * second


@wl.system
def place(archer: Archer, world: Range):
    archer.sight[0] = 2.0 * world.random()
    archer.sight[1] = world.random()
    archer.wind[0] = float(world.step)


RANGE = wl.Definition("Range-test", Range, {Archer: 1}, step=(shoot,), observe=(place,), max_steps=6)


SMALL: dict[str, Any] = {
    "num_envs": 4,
    "total_steps": 240,
    "device": "cpu",
    "seed": 1,
    "replay_capacity": 800,
    "batch_size": 16,
    "learning_starts": 40,
    "updates": 3,
    "policy": PolicyConfig(hidden=(8,), activation="relu"),
}
ALGORITHMS = {"sac": (SAC, SACConfig(**SMALL)), "td3": (TD3, TD3Config(**SMALL))}
"""Trainer class and small settings by algorithm."""


def make_trainer(name: str, world: Any = RANGE, **changes: Any) -> ContinuousTrainer[Any]:
    """A small trainer of algorithm ``name``."""
    trainer_class, config = ALGORITHMS[name]
    trainer: ContinuousTrainer[Any] = trainer_class(world, replace(config, **changes))
    return trainer


def only(trainer: ContinuousTrainer[Any]) -> Any:
    learner: ContinuousLearner
    (learner,) = trainer.learners.values()
    return learner
