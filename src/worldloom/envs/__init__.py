"""Bundled worlds: one module or package per world, with everything that belongs to it alone.

Worlds may import ``core``, ``terminal`` and ``view``, but not ``learn`` or ``cli``. A world's module is imported
when its id is first used.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import register_lazily
from worldloom.envs import covid, dm_suite, hanabi, mujoco, overcooked

MODULES = {
    "Acrobot-v1": "acrobot",
    "Blackjack-v1": "blackjack",
    "CartPole-v0": "cartpole",
    "CartPole-v1": "cartpole",
    "Catch-v0": "catch",
    "CliffWalking-v1": "cliff_walking",
    "CliffWalkingSlippery-v1": "cliff_walking",
    "EscapeRoom-v0": "escape_room.world",
    "FrozenLake-v1": "frozen_lake",
    "FrozenLake8x8-v1": "frozen_lake",
    "FlagrunHarder-v0": "locomotion.flagrun",
    "FlagrunTerrain-v0": "locomotion.flagrun_terrain",
    "LocomotionAnt-v0": "locomotion.ant",
    "LocomotionHumanoid-v0": "locomotion.humanoid",
    "MountainCar-v0": "mountain_car",
    "MountainCarContinuous-v0": "mountain_car",
    "HideSeek-v0": "hideseek.game",
    "NChain-v0": "nchain",
    "Pendulum-v1": "pendulum",
    "TagContinuous-v0": "tag.continuous",
    "TagContinuousDemo-v0": "tag.continuous",
    "TagContinuousTraining-v0": "tag.continuous",
    "TagGrid-v0": "tag.grid",
    "TagGridTraining-v0": "tag.grid",
    "Taxi-v3": "taxi",
    "Taxi-v4": "taxi",
}
"""The module of each bundled world, by id.

The covid package registers its worlds, which depend on data; the packages dm_suite, hanabi, mujoco and overcooked
their families.
"""


def load(id: str) -> Definition:
    """Import the module of a bundled world and return the world's definition."""
    module = importlib.import_module(f"worldloom.envs.{MODULES[id]}")
    for value in vars(module).values():
        if isinstance(value, Definition) and value.id == id:
            return value
    raise InputError(f"{module.__name__} has no variable with its definition: write NAME = wl.register('{id}', ...)")


def _is_available(id: str) -> bool:
    return not MODULES[id].startswith("locomotion.") or importlib.util.find_spec("mujoco") is not None


for _id in MODULES:
    register_lazily(_id, functools.partial(load, _id), functools.partial(_is_available, _id))
covid.register_worlds()
dm_suite.register_family()
hanabi.register_family()
mujoco.register_family()
overcooked.register_family()
