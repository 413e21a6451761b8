# mypy: ignore-errors
"""The kernel that writes initial states, on both devices."""

from __future__ import annotations

from typing import Any

import warp as wp

from worldloom.core.kernels.launch_kernels import picked


@wp.kernel(enable_backward=False)
def write_initial(
    first: int, mask: wp.array(dtype=wp.bool), value: bool, initial: wp.array(dtype=Any),
    # outputs
    column: wp.array2d(dtype=Any),
):  # fmt: skip
    """Copy the initial values of an array to the selected worlds; thread (world, number)."""
    i, k = wp.tid()
    if picked(mask, value, first + i):
        column[first + i, k] = initial[k]
