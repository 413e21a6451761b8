"""Space-to-depth for uint8 images: 4 x 4 blocks of pixels become channels, in channels-last memory layout.

An 8 x 8 convolution with stride 4 is a 2 x 2 convolution with stride 1 over these blocks. It has 16 times the channels,
which suits a GPU's tensor cores, and neither a float image nor a permuted one is written to memory.
"""

from __future__ import annotations

import torch
from torch import Tensor

from worldloom.learn.device.warp_launch import launch
from worldloom.learn.networks.convolution.space_to_depth_kernels import to_bfloat16_blocks, to_float32_blocks

SIDE = 4
"""Pixels per side of a block."""


def fits(image: Tensor) -> bool:
    """Whether ``image`` is contiguous uint8 with rows of whole blocks."""
    return bool(image.dtype == torch.uint8 and image.ndim == 4 and image.shape[3] % SIDE == 0 and image.is_contiguous())


def space_to_depth(image: Tensor, dtype: torch.dtype) -> Tensor:
    """Bytes [N, C, H, W] -> [N, 16 C, H // 4, W // 4] of ``dtype``, not scaled, in channels-last memory layout.

    Channel 16 c + 4 i + j is pixel (i, j) of each block of channel c. Rows that do not fill a block are dropped.

    Args:
        image: An image for which :func:`fits` holds.
        dtype: float32 or bfloat16.
    """
    count, channels, height, width = image.shape
    rows, columns = height // SIDE, width // SIDE
    if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
        return _space_to_depth_torch(image[:, :, : rows * SIDE], dtype)
    blocks = torch.empty((count, rows, columns, channels * SIDE * SIDE), dtype=dtype, device=image.device)
    words = image.view(count, -1).view(torch.int32)
    kernel, flat = (
        (to_bfloat16_blocks, blocks.view(count, -1).view(torch.int32))
        if dtype == torch.bfloat16
        else (to_float32_blocks, blocks.view(count, -1))
    )
    launch(kernel, (count, rows * columns * channels * SIDE), (words, height, columns, channels, flat), image.device)
    return blocks.permute(0, 3, 1, 2)


def _space_to_depth_torch(image: Tensor, dtype: torch.dtype) -> Tensor:
    """The same in PyTorch's operations, for torch.compile and for exported policies."""
    split = image.unflatten(3, (-1, SIDE)).unflatten(2, (-1, SIDE))  # N, C, rows, SIDE, columns, SIDE
    blocks: Tensor = split.permute(0, 1, 3, 5, 2, 4).flatten(1, 3).to(dtype)
    return blocks.contiguous(memory_format=torch.channels_last)


def space_to_depth_weight(weight: Tensor, scale: float) -> Tensor:
    """The weight [M, C, 8, 8] of a convolution over bytes times ``scale``, as [M, 16 C, 2, 2] over unscaled blocks."""
    split = (weight * scale).unflatten(3, (-1, SIDE)).unflatten(2, (-1, SIDE))  # M, C, 2, SIDE, 2, SIDE
    blocks: Tensor = split.permute(0, 1, 3, 5, 2, 4).flatten(1, 3)
    return blocks
