"""Sums over rows, and the gradient of a bias and ReLU after a product, in one pass on a GPU."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from worldloom.learn.networks.fused.support import kernel_module, padded

MAX_UNITS = 4096
TILE = 4096
"""Elements of the rows that a program takes at a time."""
WARPS, PROGRAMS = 4, 1024


def kernels() -> Any:
    """The module of kernels; None without Triton."""
    return kernel_module("sums_kernels")


def column_sums(rows: Tensor) -> Tensor:
    """The sum of ``rows`` [N, units], [units] float32."""
    return _sums(rows, None, rows)


def relu_slopes(slope: Tensor, outputs: Tensor, into: Tensor) -> Tensor:
    """The gradient of the bias of ``relu(inputs + bias)``, [units] float32.

    Args:
        slope: The gradient of the outputs, [N, units].
        outputs: The outputs, of the same type.
        into: Is set to the gradient of the inputs; may be ``slope``.
    """
    return _sums(slope, outputs, into)


def _sums(slope: Tensor, outputs: Tensor | None, into: Tensor) -> Tensor:
    rows, units = slope.shape
    size = max(1, TILE // padded(units))
    programs = min(math.ceil(rows / size), PROGRAMS)
    parts = torch.empty((programs, units), dtype=torch.float32, device=slope.device)
    kernels().sums_kernel[(programs,)](
        *(slope, slope if outputs is None else outputs, into, parts, rows),
        **{"D": units, "DP": padded(units), "BM": size, "RELU": outputs is not None, "num_warps": WARPS},
    )
    return sum_parts(parts)


def sum_parts(parts: Tensor) -> Tensor:
    """The sums over the first axis, of up to 1,024 programs: in two steps, which occupy more of a GPU."""
    side = math.isqrt(len(parts))
    if side * side == len(parts) > 1:
        parts = parts.unflatten(0, (side, side)).sum(1)
    return parts.sum(0)
