"""Registration of worlds with Gymnasium: ``gymnasium.make_vec("worldloom/CartPole-v1", num_envs=...)``."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
from gymnasium.envs.registration import registry
from gymnasium.vector import AutoresetMode

from worldloom.core.model.families import family_of, on_family, split
from worldloom.core.registry.registry import definition, on_register
from worldloom.core.schedule.entries import Autoreset
from worldloom.vector.checks import resolve_autoreset

NAMESPACE = "worldloom"
_WORLD_NAMES: set[str] = set()
"""Names, without versions, of the registered worlds that belong to no family."""


def register_with_gymnasium(id: str) -> None:
    """Register a world under ``worldloom/<id>``, so that ``gymnasium.make`` and ``gymnasium.make_vec`` find it."""
    _WORLD_NAMES.add(_without_version(id))
    _register(f"{NAMESPACE}/{id}", id)


def register_family_with_gymnasium(id: str) -> None:
    """Register a world of a family under ``worldloom/<id>``, or ``worldloom-<family>/<id>`` if the name is taken.

    Gymnasium takes worlds of one name for versions of one environment, and the highest for the newest:
    ``worldloom/Blackjack`` would be an Atari game.
    """
    family = family_of(id)
    taken = family is not None and _without_version(id) in _WORLD_NAMES
    namespace = f"{NAMESPACE}-{family.name.split()[0].lower()}" if family is not None and taken else NAMESPACE
    _register(f"{namespace}/{id}", id)


def _without_version(id: str) -> str:
    return re.sub(r"-v\d+$", "", id)


def _register(name: str, id: str) -> None:
    """Register the world ``id`` with Gymnasium under ``name``."""
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
    autoreset: Autoreset | AutoresetMode | None = None,
    autoreset_mode: AutoresetMode | str | None = None,
    **arguments: Any,
) -> Any:
    """A batch of worlds with Gymnasium's default autoreset mode, which most of its wrappers require."""
    from worldloom.vector.make import make

    return make(world, num_envs, autoreset=resolve_autoreset(autoreset, autoreset_mode, "next_step"), **arguments)


on_register(register_with_gymnasium)
on_family(register_family_with_gymnasium)
