# mypy: ignore-errors
"""The kernel that draws replay entries in proportion to their priority."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.random import bits

_STREAM = wp.constant(wp.int32(0x7052696F))
_SCALE = wp.constant(wp.float64(2.0**-32))


@wp.kernel(enable_backward=False)
def draw_by_priority(
    priorities: wp.array2d(dtype=wp.float32), running: wp.array(dtype=wp.float64), seed: wp.uint32,
    tick: wp.array(dtype=wp.int64), indices: wp.array(dtype=wp.int64), drawn: wp.array(dtype=wp.float32),
) -> None:  # fmt: skip
    """Draw one entry from the sample's stratum: its part of the total priority."""
    sample = wp.tid()
    blocks = running.shape[0]
    now = tick[0]
    # Worlds use the episode, counted up from 0, in place of this number, counted down from -1: they never coincide.
    word = bits(seed, sample, wp.int32(~(now >> wp.int64(32))), wp.int32(now), _STREAM, 0)
    share = (wp.float64(sample) + wp.float64(word) * _SCALE) / wp.float64(indices.shape[0])
    target = share * running[blocks - 1]

    block, last = wp.int32(0), blocks - 1
    while block < last:
        middle = (block + last) // 2
        if running[middle] > target:
            last = middle
        else:
            block = middle + 1

    # The search adds in another order than the block's sum, so it may run past the end: then the last entry with a
    # positive priority is taken.
    left = target
    if block > 0:
        left = target - running[block - 1]
    place, priority = wp.int32(0), wp.float32(0.0)
    for k in range(priorities.shape[1]):
        p = priorities[block, k]
        if p > 0.0 and left >= wp.float64(0.0):
            place, priority = k, p
            left -= wp.float64(p)
    indices[sample] = wp.int64(block) * wp.int64(priorities.shape[1]) + wp.int64(place)
    drawn[sample] = priority
