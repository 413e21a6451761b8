"""Other engines for many copies of a world, stepped as their own users step them."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from worldloom.atari.cli.ale_baseline import make_ale_vector
from worldloom.atari.env.family import AtariFamily
from worldloom.core.base.errors import InputError
from worldloom.core.measure.timing import NUM_ACTION_SETS, Run
from worldloom.core.model.families import family_of
from worldloom.vector.make import make

Make = Callable[[Any, str, int, int | None], Any]
"""Makes the worlds, given the package, the world's id, the number of copies, and the batch size (None for all)."""


@dataclass(frozen=True)
class Baseline:
    """An engine that runs many copies of a world.

    Attributes:
        package: The package to import.
        extra: The requirement that installs the package.
        make: Makes the worlds.
        max_worlds: Maximum number of worlds; 0 for no limit.
        supports_batches: Whether it can return worlds in batches.
    """

    package: str
    extra: str
    make: Make
    max_worlds: int = 0
    supports_batches: bool = False


def check_baseline(name: str, num_worlds: int, batch_size: int | None) -> None:
    """Raise InputError if there is no such baseline, or it does not support the batch size or so many worlds."""
    if name not in BASELINES:
        raise InputError(f"--against accepts {', '.join(BASELINES)}, not '{name}'")
    baseline = BASELINES[name]
    if batch_size is not None and not baseline.supports_batches:
        batched = " or ".join(other for other in BASELINES if BASELINES[other].supports_batches)
        raise InputError(f"{name} steps all worlds at once: leave --batch-size out, or compare with {batched}")
    if baseline.max_worlds and num_worlds > baseline.max_worlds:
        raise InputError(
            f"{name} starts a process for each world: give --num-worlds {baseline.max_worlds} or less, not {num_worlds}"
        )


def open_baseline(name: str, env: str, num_worlds: int, stack: ExitStack, batch_size: int | None = None) -> Run:
    """A function that steps ``num_worlds`` copies of the world ``env`` with the baseline ``name``; ``stack`` closes it.

    Raises:
        InputError: If there is no such baseline, or it has no such world.
    """
    check_baseline(name, num_worlds, batch_size)
    baseline = BASELINES[name]
    try:
        package = importlib.import_module(baseline.package)
    except ImportError:
        raise InputError(f"{baseline.package} is not installed: pip install '{baseline.extra}' adds it") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            worlds = baseline.make(package, env, num_worlds, batch_size)
        except Exception as error:
            if ":" in env and family_of(env) is not None:
                raise InputError(
                    f"{name} is compared in worlds without settings: name {env.partition(':')[0]} alone, not {env}"
                ) from None
            raise InputError(f"{name} has no world '{env}' for this comparison: {_first_line(error)}") from None
        stack.callback(worlds.close)
        return sync_stepper(worlds, num_worlds) if batch_size is None else async_stepper(worlds, num_worlds, batch_size)


def sync_stepper(worlds: Any, num_worlds: int) -> Run:
    """A function that steps a vector environment: one step covers all worlds."""
    actions = sample_actions(worlds.single_action_space, num_worlds)
    worlds.reset()

    def run(steps: int) -> None:
        step = worlds.step
        for number in range(steps):
            step(actions[number % NUM_ACTION_SETS])

    return run


def async_stepper(worlds: Any, num_worlds: int, batch_size: int) -> Run:
    """A function that alternates ``recv`` and ``send`` of a pool: one step is as many batches as cover all worlds."""
    actions = sample_actions(worlds.single_action_space, batch_size)
    worlds.async_reset()

    def run(steps: int) -> None:
        recv, send = worlds.recv, worlds.send
        for number in range(steps * num_worlds // batch_size):
            send(actions[number % NUM_ACTION_SETS], recv()[-1]["env_id"])

    return run


def sample_actions(space: Any, count: int) -> list[Any]:
    """NUM_ACTION_SETS batches of random actions for ``count`` worlds, from the space of one."""
    batched = importlib.import_module("gymnasium.vector.utils").batch_space(space, count)
    batched.seed(0)
    return [batched.sample() for _ in range(NUM_ACTION_SETS)]


def _make_envpool(package: Any, env: str, num_worlds: int, batch_size: int | None) -> Any:
    return package.make_gymnasium(env, num_envs=num_worlds, batch_size=batch_size or num_worlds)


def _make_gymnasium(package: Any, env: str, num_worlds: int, batch_size: int | None, *, mode: str) -> Any:
    if isinstance(family_of(env), AtariFamily):
        return make_ale_vector(package, env, num_worlds, mode)
    return package.make_vec(env, num_envs=num_worlds, vectorization_mode=mode)


def _make_own(package: Any, env: str, num_worlds: int, batch_size: int | None) -> Any:
    return make(env, num_worlds)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


BASELINES: dict[str, Baseline] = {
    "envpool": Baseline("envpool", "worldloom[compat]", _make_envpool, supports_batches=True),
    "gymnasium": Baseline("gymnasium", "gymnasium", functools.partial(_make_gymnasium, mode="vector_entry_point")),
    "gymnasium-sync": Baseline("gymnasium", "gymnasium", functools.partial(_make_gymnasium, mode="sync")),
    "gymnasium-async": Baseline(
        "gymnasium", "gymnasium", functools.partial(_make_gymnasium, mode="async"), max_worlds=256
    ),
    "worldloom-gymnasium": Baseline("worldloom", "worldloom", _make_own),
}
"""The baselines of ``--against``."""
