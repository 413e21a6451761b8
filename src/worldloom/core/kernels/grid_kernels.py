"""Grid functions of compiled systems.

The set of cells that a query visits only has to be large enough. Which entities are near, and which of two is nearer,
must be the same on every device: squared distances are therefore added without fused multiplication, which a GPU would
use.
"""

from __future__ import annotations

from typing import Any

import warp as wp

_ROOT = """
#if defined(__CUDA_ARCH__)
#define WL_ROOT(x) __fsqrt_rn(x)
#else
#define WL_ROOT(x) sqrtf(x)
#endif
"""


SQUARE_APART = {
    2: """
#if defined(__CUDA_ARCH__)
    const float x = __fsub_rn(a[0], b[0]), y = __fsub_rn(a[1], b[1]);
    return __fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y));
#else
    const float x = a[0] - b[0], y = a[1] - b[1];
    return x * x + y * y;
#endif
""",
    3: """
#if defined(__CUDA_ARCH__)
    const float x = __fsub_rn(a[0], b[0]), y = __fsub_rn(a[1], b[1]), z = __fsub_rn(a[2], b[2]);
    return __fadd_rn(__fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y)), __fmul_rn(z, z));
#else
    const float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
#endif
""",
}
"""Native code of the squared distance between ``a`` and ``b``, by the number of axes."""


@wp.func_native(snippet=SQUARE_APART[2])
def square_apart_2(a: wp.vec2f, b: wp.vec2f) -> wp.float32: ...


@wp.func_native(snippet=SQUARE_APART[3])
def square_apart_3(a: wp.vec3f, b: wp.vec3f) -> wp.float32: ...


@wp.func_native(
    snippet=_ROOT
    + """
    if (!(radius >= 0.0f)) return -1.0f;
    union { float number; unsigned int bits; } square, next;
    square.number = radius * radius;
    while (WL_ROOT(square.number) > radius) square.bits -= 1u;
    for (next.bits = square.bits + 1u; WL_ROOT(next.number) <= radius; next.bits += 1u) square = next;
    return square.number;
#undef WL_ROOT
"""
)
def largest_square(radius: wp.float32) -> wp.float32:
    """The largest number whose square root is at most ``radius``, so that entities need no root; -1 where none is."""
    ...


@wp.func_native(snippet="return blockDim.x;")
def block_threads() -> wp.int32: ...


@wp.func
def first_cell(place: wp.float32, low: wp.float32, scale: wp.float32, cells: wp.int32):
    """The cell along one axis; the first one for NaN."""
    along = (place - low) * scale
    if along > 0.0:
        return wp.int32(wp.min(along, wp.float32(cells - 1)))
    return wp.int32(0)


@wp.func
def last_cell(place: wp.float32, low: wp.float32, scale: wp.float32, cells: wp.int32):
    """The cell along one axis; the last one for NaN."""
    along = (place - low) * scale
    if along < wp.float32(cells - 1):
        return wp.int32(wp.max(along, 0.0))
    return cells - 1


@wp.func
def cell_2(place: wp.vec2f, low: wp.vec2f, scale: wp.vec2f, cells: wp.int32):
    """The index of the cell of a position."""
    return first_cell(place[1], low[1], scale[1], cells) * cells + first_cell(place[0], low[0], scale[0], cells)


@wp.func
def cell_3(place: wp.vec3f, low: wp.vec3f, scale: wp.vec3f, cells: wp.int32):
    """The index of the cell of a position."""
    row = first_cell(place[2], low[2], scale[2], cells) * cells + first_cell(place[1], low[1], scale[1], cells)
    return row * cells + first_cell(place[0], low[0], scale[0], cells)


@wp.func
def cells_around(place: wp.float32, radius: wp.float32, low: wp.float32, scale: wp.float32, cells: wp.int32):
    """The first and the last cell along one axis within ``radius`` of ``place``, with a margin for rounding."""
    reach = radius * 1.00001 + wp.abs(place) * 1.0e-6 + 1.0e-18
    return first_cell(place - reach, low, scale, cells), last_cell(place + reach, low, scale, cells)


FUNCTIONS: dict[str, Any] = {
    "square_apart_2": square_apart_2,
    "square_apart_3": square_apart_3,
    "largest_square": largest_square,
    "block_threads": block_threads,
    "first_cell": first_cell,
    "cell_2": cell_2,
    "cell_3": cell_3,
    "cells_around": cells_around,
}
"""The functions by their names in generated code."""
