"""A layer and the rectifier behind it as one operation of the GPU's library, which spares the wide layer a way through the memory."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def usable(values: Tensor) -> bool:
    """Whether the operation is there for ``values``: on a GPU, in single precision."""
    return (
        bool(values.is_cuda)
        and values.ndim == 2
        and values.dtype == torch.float32
        and not torch.is_autocast_enabled("cuda")
    )


class _Rectified(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        found: Tensor = torch._addmm_activation(bias, values, weight.t())
        ctx.save_for_backward(values, weight, found)
        return found

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        values, weight, found = ctx.saved_tensors
        behind = torch.ops.aten.threshold_backward(slope, found, 0)
        return behind @ weight if ctx.needs_input_grad[0] else None, behind.t() @ values, behind.sum(0)


def linear_relu(layer: nn.Linear, values: Tensor) -> Tensor:
    """``relu(layer(values))`` for [N, inputs]."""
    return _Rectified.apply(values, layer.weight, layer.bias)
