# mypy: ignore-errors
"""Kernels that shuffle the steps and rows of a rollout."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.random import bits

_STREAM = wp.constant(0x5EED)


@wp.func
def _shuffle_column(order: wp.array2d(dtype=wp.int64), column: int, seed: wp.uint32, row: int, now: int, part: int):
    """Fisher-Yates shuffle of a column of ``order``; ``row``, ``now`` and ``part`` select the random words."""
    count = order.shape[0]
    for k in range(count - 1):
        word = bits(seed, row, now, part, _STREAM, k)
        other = k + wp.int32(word % wp.uint32(count - k))
        held = order[k, column]
        order[k, column] = order[other, column]
        order[other, column] = held


@wp.kernel(enable_backward=False)
def shuffle_steps(
    seed: wp.uint32, first_row: int, tick: wp.array(dtype=wp.int64), offset: int, order: wp.array2d(dtype=wp.int64)
):
    """For each row, a random permutation of its steps, as indices of a flat (steps, rows) tensor."""
    row = wp.tid()
    rows = order.shape[1]
    for t in range(order.shape[0]):
        order[t, row] = wp.int64(t) * wp.int64(rows) + wp.int64(row)
    _shuffle_column(order, row, seed, first_row + row, wp.int32(tick[0]) + offset, 0)


@wp.kernel(enable_backward=False)
def shuffle_rows(
    seed: wp.uint32, first_row: int, tick: wp.array(dtype=wp.int64), offset: int, order: wp.array2d(dtype=wp.int64)
):
    """For each block of as many adjacent rows as minibatches: each minibatch gets one row."""
    block = wp.tid()
    batches = order.shape[0]
    first = block * batches
    for m in range(batches):
        order[m, block] = wp.int64(first + m)
    _shuffle_column(order, block, seed, first_row + first, wp.int32(tick[0]) + offset, 1)
