"""Functions for the kernels of launches, and the kernel that copies whole rows of a column."""

from __future__ import annotations

import warp as wp


@wp.func
def picked(mask: wp.array(dtype=wp.bool), value: wp.bool, world: wp.int32):
    """Whether a launch includes ``world``: its entry of ``mask`` equals ``value``, or there is no mask."""
    if mask:
        return mask[world] == value
    return True


_COPY = """
const unsigned char* from = source.data + (size_t)source_row * size;
unsigned char* to = target.data + (size_t)row * size;
#if defined(__CUDA_ARCH__)
    if (width == 16) {
        #pragma unroll 4
        for (int i = lane; i < size / 16; i += 32)
            reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
    } else if (width == 4) {
        #pragma unroll 4
        for (int i = lane; i < size / 4; i += 32)
            reinterpret_cast<unsigned int*>(to)[i] = reinterpret_cast<const unsigned int*>(from)[i];
    } else {
        for (int i = lane; i < size; i += 32) to[i] = from[i];
    }
#else
    __builtin_memcpy(to, from, size);
#endif
"""


@wp.func_native(snippet=_COPY)
def copy_row(
    target: wp.array2d(dtype=wp.uint8),
    row: wp.int32,
    source: wp.array2d(dtype=wp.uint8),
    source_row: wp.int32,
    size: wp.int32,
    width: wp.int32,
    lane: wp.int32,
):
    """Copy ``size`` bytes of a row; on CUDA the 32 threads of a warp copy ``width`` bytes each at a time."""


@wp.kernel(enable_backward=False)
def copy_rows(
    first: wp.int32,
    rows: wp.int32,
    mask: wp.array(dtype=wp.bool),
    value: wp.bool,
    target: wp.array2d(dtype=wp.uint8),
    source: wp.array2d(dtype=wp.uint8),
    width: wp.int32,
):
    """Fill the ``rows`` of each picked world, from ``first`` on, with those of ``source`` or with its only row."""
    number, lane = wp.tid()  # type: ignore[misc]
    if picked(mask, value, first + number / rows):
        row = first * rows + number
        copy_row(target, row, source, wp.min(row, source.shape[0] - 1), target.shape[1], width, lane)
