"""What memory and timer hold when a console is switched on: anything on the real one, and on ALE's the numbers of a generator with a fixed seed."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from worldloom.atari.cartridges.cartridge import RAM_BYTES, CartridgeKind

_SEED = 4753849
_RAM = 128
_SOFT = (CartridgeKind.F8SC, CartridgeKind.F6SC, CartridgeKind.F4SC)
"""Cartridges whose RAM is filled anew at every reset, in between the draws of the timer."""
_FIRST, _FIRST_SOFT = 132, 516
"""Where the number of the timer lies for the first game after the ROM was loaded."""
_LEAST, _SPREAD = 25, 75


def memory_at_power_on(kind: int, resets: int = 0) -> bytes:
    """The console's 128 bytes and those of the cartridge, after a number of resets; those of the console are filled once only."""
    numbers = _numbers(_FIRST_SOFT + 129 * (resets + 1) + 1)
    ram = numbers[:_RAM].astype(np.uint8).tobytes()
    if kind not in _SOFT:
        return ram + bytes(RAM_BYTES.get(CartridgeKind(kind), 0))
    place = _timer_place(kind, resets) + 1
    return ram + numbers[place : place + 128].astype(np.uint8).tobytes()


def timer_at_power_on(kind: int, resets: int = 0) -> int:
    """What the timer counts down from, after a number of resets."""
    place = _timer_place(kind, resets)
    return _LEAST + int(_numbers(place + 1)[place]) % _SPREAD


def _timer_place(kind: int, resets: int) -> int:
    return _FIRST_SOFT + 129 * resets if kind in _SOFT else _FIRST + resets


@cache
def _numbers(count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    found: np.ndarray[Any, np.dtype[np.uint64]] = np.random.RandomState(_SEED).randint(
        0, 2**32, size=count, dtype=np.uint64
    )
    return found
