"""Integers that wrap, and random numbers, as kernels in Python call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from worldloom.core.arithmetic.functions import python_math
from worldloom.core.kernels import exact
from worldloom.core.kernels.operators import HELPERS
from worldloom.core.kernels.random import EPISODE_FACTOR, STEP_FACTOR, WORLD_FACTOR, Key
from worldloom.core.kernels.wrapping import PREFIX

_WRAPPING: dict[str, Callable[..., Any]] = {  # NumPy's integers wrap by themselves
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "absolute": abs,
    "absolute_of_vector": python_math.abs,
    "floor_divide": HELPERS["wl_floor_divide"][1],
    "floor_modulo": HELPERS["wl_floor_modulo"][1],
    "unsigned_divide": HELPERS["wl_unsigned_divide"][1],
    "unsigned_modulo": HELPERS["wl_unsigned_modulo"][1],
    "square": lambda a: a * a,
    "cube": lambda a: a * a * a,
    "shift_left": lambda a, count: a << count,
    "range_turns": lambda start, stop, step: np.int32(min(len(range(int(start), int(stop), int(step))), 2147483647)),
}


def _displaced(factor: int) -> Callable[..., int]:
    return lambda count, high: int(count) + int(high) * factor


def _random(name: str) -> Callable[..., Any]:
    def draw(seed: Any, world: Any, episode: Any, step: Any, stream: Any, number: Any, *bounds: Any) -> Any:
        return getattr(Key(int(seed), int(world), int(episode), int(step), int(stream)), name)(int(number), *bounds)

    return draw


NUMBERS: dict[str, Callable[..., Any]] = {
    **{PREFIX + name: function for name, function in _WRAPPING.items()},
    **{name: _random(name) for name in ("uniform", "integer", "normal")},
    f"{exact.PREFIX}normal": _random("exact_normal"),
    "world_key": _displaced(WORLD_FACTOR),
    "episode_key": _displaced(EPISODE_FACTOR),
    "step_key": _displaced(STEP_FACTOR),
}
"""The functions by their names in generated code."""
