"""A linear layer and ReLU as one cuBLAS operation, which saves a pass over memory for wide layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from worldloom.learn.networks.fused import sums
from worldloom.learn.networks.fused.support import compiles, may_run, product_type

NAME = "rectified layers"


def usable(values: Tensor) -> bool:
    """Whether the operation supports ``values``: float32 or bfloat16 [N, inputs] on a GPU."""
    return may_run(values) and values.ndim == 2 and len(values) > 0


class _LinearReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        kind, ctx.kind = product_type(values), values.dtype
        values, weight = values.to(kind), weight.to(kind)
        with torch.autocast("cuda", enabled=False):
            outputs: Tensor = torch._addmm_activation(bias.to(kind), values, weight.t())
        ctx.save_for_backward(values, weight, outputs)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        values, weight, outputs = ctx.saved_tensors
        if _has_kernel(outputs):
            linear_gradient = torch.empty_like(outputs)
            bias_gradient = sums.relu_slopes(gradient.contiguous(), outputs, into=linear_gradient)
        else:
            linear_gradient = torch.ops.aten.threshold_backward(gradient, outputs, 0)
            bias_gradient = linear_gradient.sum(0, dtype=torch.float32)
        input_gradient = (linear_gradient @ weight).to(ctx.kind) if ctx.needs_input_grad[0] else None
        return input_gradient, (linear_gradient.t() @ values).float(), bias_gradient


def _has_kernel(outputs: Tensor) -> bool:
    """Whether one kernel computes the gradients of bias and ReLU."""
    units = outputs.shape[1]

    def run() -> None:
        row = torch.zeros_like(outputs[:1])
        sums.relu_slopes(row, row, into=row)

    return sums.kernels() is not None and units <= sums.MAX_UNITS and compiles((NAME, units, outputs.dtype), run)


def linear_relu(layer: nn.Linear, values: Tensor) -> Tensor:
    """``relu(layer(values))`` for [N, inputs]."""
    outputs: Tensor = _LinearReLU.apply(values, layer.weight, layer.bias)
    return outputs
