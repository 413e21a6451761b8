"""A linear layer and ReLU as one cuBLAS operation, which saves a pass over memory for wide layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def usable(values: Tensor) -> bool:
    """Whether the operation supports ``values``: float32 on a GPU."""
    return (
        bool(values.is_cuda)
        and values.ndim == 2
        and values.dtype == torch.float32
        and not torch.is_autocast_enabled("cuda")
    )


class _LinearReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        outputs: Tensor = torch._addmm_activation(bias, values, weight.t())
        ctx.save_for_backward(values, weight, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        values, weight, outputs = ctx.saved_tensors
        linear_gradient = torch.ops.aten.threshold_backward(gradient, outputs, 0)
        input_gradient = linear_gradient @ weight if ctx.needs_input_grad[0] else None
        return input_gradient, linear_gradient.t() @ values, linear_gradient.sum(0)


def linear_relu(layer: nn.Linear, values: Tensor) -> Tensor:
    """``relu(layer(values))`` for [N, inputs]."""
    outputs: Tensor = _LinearReLU.apply(values, layer.weight, layer.bias)
    return outputs
