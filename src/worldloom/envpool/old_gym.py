"""Pools with the functions of gym before version 0.26, with the spaces of the gym that is installed."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import warnings
from typing import Any

import gymnasium
import numpy as np

from worldloom.envpool.gymnasium_pool import GymEnvPool
from worldloom.envpool.spec import EnvSpec


def make_pool(spec: EnvSpec) -> GymEnvPool:
    """A pool that is a ``gym.Env`` with spaces of gym where it is installed; else with those of Gymnasium."""
    gym = installed_gym()
    if gym is None:
        return GymEnvPool(spec)
    pool: GymEnvPool = _pool_class(gym)(spec)
    pool.observation_space = pool.single_observation_space = to_gym_space(gym, spec.observation_space)
    pool.action_space = pool.single_action_space = to_gym_space(gym, spec.action_space)
    return pool


def installed_gym() -> Any:
    """The package gym; None where it is missing, is Gymnasium under another name, or cannot be imported."""
    if importlib.util.find_spec("gym") is None:
        return None
    try:
        gym = importlib.import_module("gym")
    except Exception as error:  # old versions fail with new ones of NumPy and Python, with any error
        warnings.warn(f"spaces are Gymnasium's, as the installed gym cannot be imported: {error}", stacklevel=4)
        return None
    return None if gym.Env is gymnasium.Env else gym


@functools.cache
def _pool_class(gym: Any) -> Any:
    """A class of pools that derives from ``gym.Env``."""
    bases = (GymEnvPool, gym.Env)
    kinds: tuple[Any, ...] = tuple(dict.fromkeys(type(base) for base in bases if type(base) is not type))
    metaclass: Any = next((kind for kind in kinds if all(issubclass(kind, other) for other in kinds)), None)
    metaclass = metaclass or type("GymEnvPoolMeta", kinds, {})
    return metaclass("GymEnvPool", bases, {"__doc__": GymEnvPool.__doc__, "__module__": GymEnvPool.__module__})


def to_gym_space(gym: Any, space: gymnasium.Space[Any]) -> Any:
    """A space of Gymnasium as one of gym. Seeds of its samples are not copied."""
    spaces, old = gymnasium.spaces, gym.spaces
    if isinstance(space, spaces.Discrete):
        return old.Discrete(int(space.n), **({"start": int(space.start)} if space.start else {}))
    if isinstance(space, spaces.Box):
        return old.Box(space.low, space.high, dtype=space.dtype.type)  # type: ignore[union-attr]
    if isinstance(space, spaces.MultiDiscrete):
        return old.MultiDiscrete(np.array(space.nvec), dtype=space.dtype.type)  # type: ignore[union-attr]
    if isinstance(space, spaces.MultiBinary):
        return old.MultiBinary(space.n)
    assert isinstance(space, spaces.Dict)
    return old.Dict({key: to_gym_space(gym, part) for key, part in space.spaces.items()})
