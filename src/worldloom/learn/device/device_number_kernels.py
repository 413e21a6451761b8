# mypy: ignore-errors
"""Numbers in kernels that may change between replays of a CUDA graph."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Floats


@wp.func
def current(number: wp.float32, scheduled: Floats, index: int):
    """``number``, or element ``index`` of ``scheduled`` where numbers change during training; it is empty otherwise."""
    if scheduled.shape[0] > 0:
        return scheduled[index]
    return number
