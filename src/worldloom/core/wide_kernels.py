"""What the kernels of pair systems and of systems with several threads per entity call."""

from __future__ import annotations

import warp as wp


@wp.func
def later_of_pair(number: wp.int32):
    """The later entity ``j`` of the pair ``number = j * (j - 1) / 2 + i`` with ``i < j``, of 46,341 entities at most."""
    later = wp.int32((1.0 + wp.sqrt(8.0 * wp.float32(number) + 1.0)) * 0.5)
    if later * (later - 1) / 2 > number:  # the square root is off by less than one
        later -= 1
    if (later + 1) * later / 2 <= number:
        later += 1
    return later


@wp.func_native(snippet="__syncthreads();")
def sync_block(): ...
