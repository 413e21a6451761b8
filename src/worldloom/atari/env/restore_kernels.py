"""The kernel that copies stored states into consoles."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.launch_kernels import picked


@wp.kernel(enable_backward=False)
def restore(
    first: int,
    mask: wp.array(dtype=wp.bool),
    value: bool,
    lanes: int,
    record: wp.array(dtype=wp.int32),
    states: wp.array2d(dtype=wp.uint32),
    shown: wp.array2d(dtype=wp.uint32),
    left: wp.array(dtype=wp.int32),
    side: wp.array(dtype=wp.int32),
    machine: wp.array2d(dtype=wp.uint32),
    pictures: wp.array2d(dtype=wp.uint32),
    lives: wp.array(dtype=wp.int32),
    over: wp.array(dtype=wp.bool),
    newest: wp.array(dtype=wp.int32),
):
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
