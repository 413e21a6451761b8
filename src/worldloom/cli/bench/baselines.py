"""Those who run many copies of a world beside worldloom's engine, stepped the way their own users step them."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from worldloom.atari.games.game_table import ALE
from worldloom.core.base.errors import InputError
from worldloom.core.measure.timing import NUM_ACTION_SETS, Run
from worldloom.core.model.families import family_of
from worldloom.vector.make import make

Make = Callable[[Any, str, int, int | None], Any]
"""Given the package, the world, how many copies and how many come back at a time (None for all): makes them."""


@dataclass(frozen=True)
class Baseline:
    """A way to run many copies of a world.

    Attributes:
        package: The package to import.
        extra: What adds the package.
        make: Makes the worlds.
        most: How many worlds it is asked for at most; 0 for any number.
        pooled: Whether it can hand back worlds in batches.
    """

    package: str
    extra: str
    make: Make
    most: int = 0
    pooled: bool = False


def check_baseline(name: str, num_worlds: int, batch_size: int | None) -> None:
    """InputError where there is no such peer, or it cannot run so many worlds that way."""
    if name not in BASELINES:
        raise InputError(f"--against knows {', '.join(BASELINES)}, not '{name}'")
    if batch_size is not None and not BASELINES[name].pooled:
        raise InputError(
            f"{name} steps all worlds at once: leave --batch-size out, or compare with {_either(n for n in BASELINES if BASELINES[n].pooled)}"
        )
    if BASELINES[name].most and num_worlds > BASELINES[name].most:
        raise InputError(
            f"{name} starts a process for each world: give --num-worlds {BASELINES[name].most} or less, not {num_worlds}"
        )


def open_baseline(name: str, env: str, num_worlds: int, stack: ExitStack, batch_size: int | None = None) -> Run:
    """What steps ``num_worlds`` copies of the world ``env`` as the peer ``name`` does; ``stack`` closes it.

    Raises InputError where there is no such peer, or it has no such world.
    """
    check_baseline(name, num_worlds, batch_size)
    peer = BASELINES[name]
    try:
        package = importlib.import_module(peer.package)
    except ImportError:
        raise InputError(f"{peer.package} is not installed: pip install '{peer.extra}' adds it") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            worlds = peer.make(package, env, num_worlds, batch_size)
        except Exception as error:
            if ":" in env and family_of(env) is not None:
                raise InputError(
                    f"{name} is compared in worlds without settings: name {env.partition(':')[0]} alone, not {env}"
                ) from None
            raise InputError(f"{name} has no world '{env}' for this comparison: {_first_line(error)}") from None
        stack.callback(worlds.close)
        return sync_stepper(worlds, num_worlds) if batch_size is None else async_stepper(worlds, num_worlds, batch_size)


def sync_stepper(worlds: Any, num_worlds: int) -> Run:
    """Steps a vector environment: one step is one of all worlds."""
    actions = sample_actions(worlds.single_action_space, num_worlds)
    worlds.reset()

    def run(steps: int) -> None:
        step = worlds.step
        for number in range(steps):
            step(actions[number % NUM_ACTION_SETS])

    return run


def async_stepper(worlds: Any, num_worlds: int, batch_size: int) -> Run:
    """Receives from a pool and sends to it in turn: one step is as many batches as make up all worlds."""
    actions = sample_actions(worlds.single_action_space, batch_size)
    worlds.async_reset()

    def run(steps: int) -> None:
        recv, send = worlds.recv, worlds.send
        for number in range(steps * num_worlds // batch_size):
            send(actions[number % NUM_ACTION_SETS], recv()[-1]["env_id"])

    return run


def sample_actions(space: Any, count: int) -> list[Any]:
    """ROTATED random actions for ``count`` worlds at once, from the space of one."""
    batched = importlib.import_module("gymnasium.vector.utils").batch_space(space, count)
    batched.seed(0)
    return [batched.sample() for _ in range(NUM_ACTION_SETS)]


def _make_envpool(package: Any, env: str, num_worlds: int, batch_size: int | None) -> Any:
    return package.make_gymnasium(env, num_envs=num_worlds, batch_size=batch_size or num_worlds)


def _make_gymnasium(package: Any, env: str, num_worlds: int, batch_size: int | None, *, mode: str) -> Any:
    if family_of(env) is None:
        return package.make_vec(env, num_envs=num_worlds, vectorization_mode=mode)
    package.register_envs(importlib.import_module("ale_py"))
    if env.startswith(ALE):
        if mode == "vector_entry_point":
            raise InputError(
                f"ale-py's vector environment shows EnvPool's pictures: measure {env.removeprefix(ALE)} against it, or {env} against gymnasium-sync"
            )
        return package.make_vec(env, num_envs=num_worlds, vectorization_mode=mode)
    if mode == "vector_entry_point":  # ale-py's own vector environment, which has EnvPool's grey pictures of 84 x 84
        return package.make_vec(ALE + env, num_envs=num_worlds, vectorization_mode=mode)
    return package.make_vec(
        ALE + env,
        num_envs=num_worlds,
        vectorization_mode=mode,
        wrappers=[_as_envpool],
        frameskip=1,
        repeat_action_probability=0.0,
    )


def _as_envpool(env: Any) -> Any:
    """An Atari game of Gymnasium's that shows what EnvPool's does: four grey pictures of 84 x 84, every fourth frame."""
    wrappers = importlib.import_module("gymnasium.wrappers")
    return wrappers.FrameStackObservation(
        wrappers.AtariPreprocessing(env, noop_max=30, frame_skip=4, screen_size=84), 4
    )


def _make_own(package: Any, env: str, num_worlds: int, batch_size: int | None) -> Any:
    return make(env, num_worlds)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _either(names: Any) -> str:
    return " or ".join(names)


BASELINES: dict[str, Baseline] = {
    "envpool": Baseline("envpool", "worldloom[compat]", _make_envpool, pooled=True),
    "gymnasium": Baseline("gymnasium", "gymnasium", functools.partial(_make_gymnasium, mode="vector_entry_point")),
    "gymnasium-sync": Baseline("gymnasium", "gymnasium", functools.partial(_make_gymnasium, mode="sync")),
    "gymnasium-async": Baseline("gymnasium", "gymnasium", functools.partial(_make_gymnasium, mode="async"), most=256),
    "worldloom-gymnasium": Baseline("worldloom", "worldloom", _make_own),
}
"""Whom ``--against`` knows."""
