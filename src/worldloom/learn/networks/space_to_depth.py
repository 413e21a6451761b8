"""Pictures of bytes as the first convolution is fast on them: squares of 4 x 4 pixels as channels, the channels of a place side by side.

A convolution of 8 x 8 pixels that moves on by 4 is one of 2 x 2 such squares that moves on by 1. It has 16 times the channels then, which is what
the units of a GPU multiply well, and neither a picture in real numbers nor one in another order is ever written.
"""

from __future__ import annotations

import torch
import warp as wp
from torch import Tensor

from worldloom.learn.device.warp_launch import launch

SIDE = 4
"""Pixels in a row of a square."""
_BYTE = 1.0 / 255.0


@wp.kernel(enable_backward=False)
def _to_floats(
    pixels: wp.array2d(dtype=wp.int32), height: int, columns: int, channels: int, squares: wp.array2d(dtype=wp.float32)
) -> None:
    n, k = wp.tid()  # type: ignore[misc]
    word = pixels[n, _word_of(k, height, columns, channels)]
    for j in range(4):
        squares[n, 4 * k + j] = float((word >> (8 * j)) & 255)


@wp.kernel(enable_backward=False)
def _to_halves(
    pixels: wp.array2d(dtype=wp.int32), height: int, columns: int, channels: int, squares: wp.array2d(dtype=wp.int32)
) -> None:
    """Likewise as bfloat16, which is the upper half of a float32 and holds a byte exactly; two of them are a number here."""
    n, k = wp.tid()  # type: ignore[misc]
    word = pixels[n, _word_of(k, height, columns, channels)]
    for j in range(2):
        low = wp.cast(float((word >> (16 * j)) & 255), wp.uint32) >> wp.uint32(16)
        high = wp.cast(float((word >> (16 * j + 8)) & 255), wp.uint32)
        squares[n, 2 * k + j] = wp.cast(low | high, wp.int32)


@wp.func
def _word_of(k: int, height: int, columns: int, channels: int) -> int:
    """Where the four pixels lie that are line ``k % 4`` of a square of one channel; all lines of all channels of a place come one after the other."""
    part = k % (4 * channels)
    place = k // (4 * channels)
    line = (part // 4) * height + 4 * (place // columns) + part % 4
    return line * columns + place % columns


def fits(picture: Tensor) -> bool:
    """Whether ``picture`` is made of bytes in lines of whole squares, as they lie in memory."""
    return bool(
        picture.dtype == torch.uint8 and picture.ndim == 4 and picture.shape[3] % SIDE == 0 and picture.is_contiguous()
    )


def squares(picture: Tensor, dtype: torch.dtype) -> Tensor:
    """Bytes [N, C, H, W] -> [N, 16 C, H // 4, W // 4] of ``dtype``, not scaled, in memory with the channels of a place side by side.

    Channel 16 c + 4 i + j is pixel (i, j) of each square of channel c. Lines that do not fill a square are left out.

    Args:
        picture: Something that :func:`fits`.
        dtype: float32 or bfloat16.
    """
    count, channels, height, width = picture.shape
    rows, columns = height // SIDE, width // SIDE
    if torch.compiler.is_compiling():
        return _by_torch(picture[:, :, : rows * SIDE], dtype)
    made = torch.empty((count, rows, columns, channels * SIDE * SIDE), dtype=dtype, device=picture.device)
    words = picture.view(count, -1).view(torch.int32)
    kernel, flat = (
        (_to_halves, made.view(count, -1).view(torch.int32))
        if dtype == torch.bfloat16
        else (_to_floats, made.view(count, -1))
    )
    launch(kernel, (count, rows * columns * channels * SIDE), (words, height, columns, channels, flat), picture.device)
    return made.permute(0, 3, 1, 2)


def _by_torch(picture: Tensor, dtype: torch.dtype) -> Tensor:
    """The same in PyTorch's operations, which it can compile."""
    apart = picture.unflatten(3, (-1, SIDE)).unflatten(2, (-1, SIDE))  # N, C, rows, SIDE, columns, SIDE
    return apart.permute(0, 1, 3, 5, 2, 4).flatten(1, 3).to(dtype).contiguous(memory_format=torch.channels_last)


def space_to_depth_weight(weight: Tensor) -> Tensor:
    """The weight [M, C, 8, 8] of a convolution over bytes scaled to 0 .. 1, as [M, 16 C, 2, 2] over :func:`squares`, with the scale in it."""
    apart = (weight * _BYTE).unflatten(3, (-1, SIDE)).unflatten(2, (-1, SIDE))  # M, C, 2, SIDE, 2, SIDE
    return apart.permute(0, 1, 3, 5, 2, 4).flatten(1, 3)
