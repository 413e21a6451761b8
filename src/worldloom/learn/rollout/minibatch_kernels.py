# mypy: ignore-errors
"""Kernels that shuffle the steps and rows of a rollout."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.random import bits

_STREAM = wp.constant(0x5EED)


@wp.kernel(enable_backward=False)
def shuffle_steps(
    seed: wp.uint32, first_row: int, tick: wp.array(dtype=wp.int64), offset: int, order: wp.array2d(dtype=wp.int64)
):
    """For each row, a random permutation of its steps, as indices of a flat (steps, rows) tensor."""
    row = wp.tid()
    steps = order.shape[0]
    rows = order.shape[1]
    now = wp.int32(tick[0]) + offset
    for t in range(steps):
        order[t, row] = wp.int64(t) * wp.int64(rows) + wp.int64(row)
    for t in range(steps - 1):
        word = bits(seed, first_row + row, now, 0, _STREAM, t)
        other = t + wp.int32(word % wp.uint32(steps - t))
        held = order[t, row]
        order[t, row] = order[other, row]
        order[other, row] = held


@wp.kernel(enable_backward=False)
def shuffle_rows(
    seed: wp.uint32, first_row: int, tick: wp.array(dtype=wp.int64), offset: int, order: wp.array2d(dtype=wp.int64)
):
    """For each block of as many adjacent rows as minibatches: each minibatch gets one row."""
    block = wp.tid()
    batches = order.shape[0]
    first = block * batches
    now = wp.int32(tick[0]) + offset
    for m in range(batches):
        order[m, block] = wp.int64(first + m)
    for m in range(batches - 1):
        word = bits(seed, first_row + first, now, 1, _STREAM, m)
        other = m + wp.int32(word % wp.uint32(batches - m))
        held = order[m, block]
        order[m, block] = order[other, block]
        order[other, block] = held
