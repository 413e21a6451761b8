"""Memory and timer at power-on: undefined on hardware, drawn from a generator with a fixed seed in ALE."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from worldloom.atari.cartridges.cartridge import RAM_BYTES, CartridgeKind

_SEED = 4753849
_RAM = 128
_SUPERCHIP = (CartridgeKind.F8SC, CartridgeKind.F6SC, CartridgeKind.F4SC)
"""Cartridges whose RAM is filled at every reset, between the draws of the timer."""
_FIRST, _FIRST_SUPERCHIP = 132, 516
"""Index of the timer's number for the first game after the ROM was loaded."""
_MIN_TIMER, _TIMER_RANGE = 25, 75


def memory_at_power_on(kind: int, resets: int = 0) -> bytes:
    """The console's 128 bytes, filled once, and those of the cartridge after a number of resets."""
    numbers = _numbers(_FIRST_SUPERCHIP + 129 * (resets + 1) + 1)
    ram = numbers[:_RAM].astype(np.uint8).tobytes()
    if kind not in _SUPERCHIP:
        return ram + bytes(RAM_BYTES.get(CartridgeKind(kind), 0))
    first = _timer_index(kind, resets) + 1
    return ram + numbers[first : first + 128].astype(np.uint8).tobytes()


def timer_at_power_on(kind: int, resets: int = 0) -> int:
    """Initial value of the timer after a number of resets."""
    index = _timer_index(kind, resets)
    return _MIN_TIMER + int(_numbers(index + 1)[index]) % _TIMER_RANGE


def _timer_index(kind: int, resets: int) -> int:
    return _FIRST_SUPERCHIP + 129 * resets if kind in _SUPERCHIP else _FIRST + resets


@cache
def _numbers(count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    numbers: np.ndarray[Any, np.dtype[np.uint64]]
    numbers = np.random.RandomState(_SEED).randint(0, 2**32, size=count, dtype=np.uint64)
    return numbers
