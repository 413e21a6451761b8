"""The kernel that copies stored states into consoles."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Bools, Ints, Words2D
from worldloom.core.kernels.launch_kernels import picked


@wp.kernel(enable_backward=False)
def restore(
    first: int, mask: Bools, value: bool, lanes: int, record: Ints, states: Words2D, shown: Words2D, left: Ints,
    side: Ints, machine: Words2D, pictures: Words2D, lives: Ints, over: Bools, newest: Ints,
):  # fmt: skip
    """Copy row ``record[k]`` of the states into console k, with its pictures, lives and newest picture if given.

    ``lanes`` threads copy one state.
    """
    k = first + wp.tid() // lanes
    lane = wp.tid() % lanes
    if not picked(mask, value, k):
        return
    row = record[k]
    if row < 0 or row >= states.shape[0]:
        return
    for word in range(lane, states.shape[1], lanes):
        machine[k, word] = states[row, word]
    if shown:
        for word in range(lane, shown.shape[1], lanes):
            pictures[k, word] = shown[row, word]
    if lane == 0:
        if shown:
            lives[k] = left[row]
            newest[k] = side[row]
        over[k] = False
