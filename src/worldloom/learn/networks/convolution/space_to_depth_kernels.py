# mypy: ignore-errors
"""Kernels that rearrange uint8 images into 4 x 4 blocks of pixels as channels."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Floats2D, Ints2D


@wp.kernel(enable_backward=False)
def to_float32_blocks(pixels: Ints2D, height: int, columns: int, channels: int, squares: Floats2D) -> None:
    n, k = wp.tid()
    word = pixels[n, _word_of(k, height, columns, channels)]
    for j in range(4):
        squares[n, 4 * k + j] = float((word >> (8 * j)) & 255)


@wp.kernel(enable_backward=False)
def to_bfloat16_blocks(pixels: Ints2D, height: int, columns: int, channels: int, squares: Ints2D) -> None:
    """As bfloat16: the upper half of a float32, which holds a byte exactly. Two of them are one int32."""
    n, k = wp.tid()
    word = pixels[n, _word_of(k, height, columns, channels)]
    for j in range(2):
        low = wp.cast(float((word >> (16 * j)) & 255), wp.uint32) >> wp.uint32(16)
        high = wp.cast(float((word >> (16 * j + 8)) & 255), wp.uint32)
        squares[n, 2 * k + j] = wp.cast(low | high, wp.int32)


@wp.func
def _word_of(k: int, height: int, columns: int, channels: int) -> int:
    """Index of the four pixels of row ``k % 4`` of a block of one channel.

    All rows of all channels of a block are consecutive in ``k``.
    """
    part = k % (4 * channels)
    place = k // (4 * channels)
    line = (part // 4) * height + 4 * (place // columns) + part % 4
    return line * columns + place % columns
