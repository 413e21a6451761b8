"""The simulation behind an environment."""

from __future__ import annotations

from typing import Any

from gymnasium.vector import VectorWrapper

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.vector.adapters.base import VectorAdapter
from worldloom.vector.adapters.gymnasium import WorldVectorEnv


def resolve_env(env: Any) -> tuple[Simulation, bool]:
    """The simulation of an environment, and whether its observations have the types of Gymnasium's spaces.

    Raises:
        InputError: If the environment has no simulation of its own, is closed, or does not reset its worlds.
    """
    if isinstance(env, VectorWrapper):
        raise InputError(
            f"a rollout steps the worlds themselves and would skip the wrapper {type(env).__name__}: "
            "pass env.unwrapped, and do its work in the policy"
        )
    worlds = env.worlds if isinstance(env, VectorAdapter) else env
    if isinstance(worlds, WorldVectorEnv):
        simulation, gymnasium_types = worlds.simulation, worlds.batch.gymnasium_types
    elif isinstance(worlds, Simulation):
        simulation, gymnasium_types = worlds, False
    else:
        raise InputError(
            "a rollout takes an environment of wl.make with env_type 'torch' or 'gymnasium', an adapter or a "
            f"Simulation, not {type(env).__name__}"
        )
    simulation._check_open()
    if simulation.autoreset == "disabled":
        raise InputError("a rollout cannot reset single worlds: make them with autoreset 'same_step' or 'next_step'")
    return simulation, gymnasium_types
