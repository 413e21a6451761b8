"""Other packages that run many copies of a world, stepped the way their own users step them."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from worldloom.core.errors import InputError
from worldloom.core.timing import ROTATED, Run


def open_peer(name: str, env: str, num_worlds: int, stack: ExitStack) -> Run:
    """What steps ``num_worlds`` copies of the world ``env`` in the package ``name``; ``stack`` closes it.

    Raises InputError where there is no such package, or it has no such world.
    """
    if name not in _OPENERS:
        raise InputError(f"--against knows {' and '.join(_OPENERS)}, not '{name}'")
    extra, make = _OPENERS[name]
    try:
        package, vector = importlib.import_module(name), importlib.import_module("gymnasium.vector.utils")
    except ImportError:
        raise InputError(f"{name} is not installed: pip install '{extra}' adds it") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            worlds = make(package, env, num_worlds)
        except Exception as error:
            raise InputError(f"{name} has no world '{env}' for this comparison: {_first_line(error)}") from None
        stack.callback(worlds.close)
        space = vector.batch_space(worlds.single_action_space, num_worlds)
        space.seed(0)
        actions = [space.sample() for _ in range(ROTATED)]
        worlds.reset()

    def run(steps: int) -> None:
        step = worlds.step
        for number in range(steps):
            step(actions[number % ROTATED])

    return run


def _make_envpool(package: Any, env: str, num_worlds: int) -> Any:
    return package.make_gymnasium(env, num_envs=num_worlds)


def _make_gymnasium(package: Any, env: str, num_worlds: int) -> Any:
    return package.make_vec(env, num_envs=num_worlds, vectorization_mode="vector_entry_point")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


_OPENERS: dict[str, tuple[str, Callable[[Any, str, int], Any]]] = {
    "envpool": ("worldloom[compat]", _make_envpool),
    "gymnasium": ("gymnasium", _make_gymnasium),
}
"""By name: what adds the package, and what makes its worlds."""
