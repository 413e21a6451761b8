"""The gradient of a bias and ReLU after a product, in one pass on a GPU."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch
from torch import Tensor

MAX_UNITS = 4096
TILE = 4096
"""Elements of the rows that a program takes at a time."""
WARPS, PROGRAMS = 4, 1056


@cache
def kernels() -> Any:
    """The module of kernels; None without Triton."""
    try:
        from worldloom.learn.networks.fused import relu_kernels
    except ImportError:
        return None
    return relu_kernels


def relu_slopes(slope: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the inputs [N, units] and of the bias [units] float32 of ``relu(inputs + bias)``.

    Args:
        slope: The gradient of the outputs, which is overwritten.
        outputs: The outputs, of the same type.
    """
    rows, units = outputs.shape
    padded = 1 << (units - 1).bit_length()
    size = max(1, TILE // padded)
    programs = min(math.ceil(rows / size), PROGRAMS)
    parts = torch.empty((programs, units), dtype=torch.float32, device=outputs.device)
    kernels().backward_kernel[(programs,)](
        slope, outputs, parts, rows, D=units, DP=padded, BM=size, num_warps=WARPS
    )  # fmt: skip
    return slope, parts.sum(0)
