# mypy: ignore-errors
"""Kernels that gather and scatter rows of 4-byte words."""

from __future__ import annotations

import warp as wp


@wp.kernel(enable_backward=False)
def gather_words(
    source: wp.array2d(dtype=wp.int32), places: wp.array(dtype=wp.int64), target: wp.array2d(dtype=wp.int32)
):
    row = wp.tid()
    place = places[row]
    for k in range(source.shape[1]):
        target[row, k] = source[place, k]


@wp.kernel(enable_backward=False)
def scatter_words(
    source: wp.array2d(dtype=wp.int32), slots: wp.array(dtype=wp.int32), target: wp.array3d(dtype=wp.int32)
):
    row = wp.tid() // source.shape[1]
    slot = slots[row]
    if slot >= 0:
        k = wp.tid() % source.shape[1]
        target[slot, row, k] = source[row, k]
