"""Registration of worlds with Gymnasium: ``gymnasium.make_vec("worldloom/CartPole-v1", num_envs=...)``."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.envs.registration import registry

from worldloom.core.model.families import on_family, split
from worldloom.core.registry.registry import definition, on_register
from worldloom.core.schedule.entries import Autoreset

NAMESPACE = "worldloom"


def register_with_gymnasium(id: str) -> None:
    """Register a world under ``worldloom/<id>``, so that ``gymnasium.make`` and ``gymnasium.make_vec`` find it."""
    name = f"{NAMESPACE}/{id}"
    try:
        registry.pop(name, None)
        gymnasium.register(
            name,
            entry_point="worldloom.vector.registration:make_one",
            vector_entry_point="worldloom.vector.registration:make_many",
            kwargs={"world": id},
            disable_env_checker=True,
            order_enforce=False,
        )
    except gymnasium.error.Error:  # an id that Gymnasium does not accept, such as one without a version
        return


def make_one(world: str, **arguments: Any) -> Any:
    """One world as a Gymnasium environment."""
    from worldloom.vector.adapters.gymnasium import WorldEnv

    settings, rest = split(world, arguments)
    return WorldEnv(definition(world, **settings), **rest)


def make_many(
    world: str,
    num_envs: int = 1,
    max_episode_steps: int | None = None,
    autoreset: Autoreset = "next_step",
    **arguments: Any,
) -> Any:
    """A batch of worlds with Gymnasium's default autoreset mode, which most of its wrappers require."""
    from worldloom.vector.make import make

    if max_episode_steps is not None:  # ``gymnasium.make`` uses a wrapper for it
        arguments["max_steps"] = max_episode_steps
    return make(world, num_envs, autoreset=autoreset, **arguments)


on_register(register_with_gymnasium)
on_family(register_with_gymnasium)
