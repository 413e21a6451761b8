"""A bias, layer normalization and an activation as one forward and one backward kernel on a GPU.

PyTorch reads and writes the rows in each of these steps, and once more for each sum over all rows in the backward pass.
Here each pass reads its inputs once and writes its result once.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from worldloom.learn.config.policy_config import Activation
from worldloom.learn.device.backward import parameter_gradients
from worldloom.learn.networks.fused.sums import sum_parts
from worldloom.learn.networks.fused.support import compiles, kernel_module, may_run, note, padded

NAME = "layer normalization"
MAX_UNITS = 1024
TILE = 2048
"""Elements of the rows that a program takes at a time."""
WARPS = 4
PROGRAMS = 1024

Kind = Literal["none", "tanh", "relu", "elu", "selu"]


def kernels() -> Any:
    """The module of kernels; None without Triton."""
    return kernel_module("norm_kernels")


def usable(norm: nn.LayerNorm, values: Tensor, activation: Kind = "none") -> bool:
    """Whether there are kernels for the normalization of ``values`` [..., units]."""
    units = norm.weight.numel()
    return (
        may_run(values)
        and kernels() is not None
        and norm.weight.dtype == torch.float32
        and values.shape[-1] == units <= MAX_UNITS
        and values.numel() > 0
        and compiles((NAME, units, activation, values.dtype), lambda: _try(norm, values, activation))
    )


def _try(norm: nn.LayerNorm, values: Tensor, activation: Kind) -> None:
    """Compile and run both kernels."""
    row = torch.zeros((2, norm.weight.numel()), dtype=values.dtype, device=values.device, requires_grad=True)
    bias = None if activation == "none" else torch.zeros_like(norm.weight)
    outputs = fused_norm(norm, row, bias, activation)
    parameter_gradients([outputs], [row], [torch.zeros_like(outputs)])


def fused_norm(norm: nn.LayerNorm, values: Tensor, bias: Tensor | None = None, activation: Kind = "none") -> Tensor:
    """``activation(norm(values + bias))`` of [..., units], in the type of ``values``."""
    outputs: Tensor = _FusedNorm.apply(values, bias, norm.weight, norm.bias, activation, norm.eps)
    return outputs


class NormedLayers(nn.Sequential):
    """Linear layers, each with layer normalization and an activation after it: [..., inputs] -> [..., units].

    Args:
        layers: Linear layer, normalization and activation of each.
        activation: Name of the activation.
    """

    def __init__(self, *layers: nn.Module, activation: Activation) -> None:
        super().__init__(*layers)
        self.activation = activation

    def forward(self, values: Tensor) -> Tensor:
        modules = iter(self)
        for linear, norm, activation in zip(modules, modules, modules, strict=True):
            assert isinstance(linear, nn.Linear) and isinstance(norm, nn.LayerNorm)
            if not may_run(values):
                values = activation(norm(linear(values)))
                continue
            products = nn.functional.linear(values, linear.weight)
            if usable(norm, products, self.activation):
                note(self, NAME)
                values = fused_norm(norm, products, linear.bias, self.activation)
            else:
                values = activation(norm(products + linear.bias.to(products.dtype)))
        return values


class _FusedNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, values: Tensor, linear_bias: Tensor | None, weight: Tensor, bias: Tensor, kind: Kind, epsilon: float
    ) -> Tensor:
        values = values.contiguous()
        ctx.save_for_backward(values, linear_bias, weight, bias)
        ctx.kind, ctx.epsilon = kind, epsilon
        return _forward(values, linear_bias, None, None, weight, bias, kind, epsilon)[2]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        values, linear_bias, weight, bias = ctx.saved_tensors
        value_slope, parts = _backward(values, linear_bias, weight, bias, slope, None, ctx.kind, ctx.epsilon)
        return value_slope, None if linear_bias is None else parts[2], parts[0], parts[1], None, None


def forward(values: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> Tensor:
    """Layer normalization of [N, units]."""
    return _forward(values, None, None, None, weight, bias, "none", epsilon)[2]


def residual_forward(
    values: Tensor,
    added: Tensor,
    residual: Tensor,
    weight: Tensor,
    bias: Tensor,
    next_added: Tensor,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """``values + added + residual`` for [N, units], [units] and [N, units].

    Returns:
        The sum, the sum plus ``next_added`` [units], and the normalized sum.
    """
    return _forward(values, added, residual, next_added, weight, bias, "none", epsilon)


def residual_backward(
    total: Tensor, weight: Tensor, bias: Tensor, slope: Tensor, total_slope: Tensor, epsilon: float
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients where ``total`` [N, units] is both normalized and used itself.

    Args:
        slope: The gradient of the normalization.
        total_slope: That of the other use.

    Returns:
        The gradients of ``total`` [N, units], of weight and bias, and the sums over rows of the first one and of
        ``total_slope``, [units] float32.
    """
    both, parts = _backward(total, None, weight, bias, slope, total_slope, "none", epsilon)
    weight_slope, bias_slope, total_sum, slope_sum = parts
    return both, weight_slope, bias_slope, total_sum, slope_sum


def _forward(
    values: Tensor,
    added: Tensor | None,
    residual: Tensor | None,
    next_added: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    kind: Kind,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The sum of all inputs, and with ``next_added``, where there is a ``residual``; and the outputs."""
    rows, constants = _constants(values, kind, added is not None, residual is not None, epsilon)
    outputs = torch.empty_like(values)
    total, start = (outputs, outputs) if residual is None else (torch.empty_like(values), torch.empty_like(values))
    kernels().forward_kernel[(programs_for(rows, constants),)](
        *(values, weight if added is None else added, values if residual is None else residual),
        *(weight, bias, weight if next_added is None else next_added, total, start, outputs, rows),
        **constants,
    )
    return total, start, outputs


def _backward(
    values: Tensor,
    added: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    slope: Tensor,
    total_slope: Tensor | None,
    kind: Kind,
    epsilon: float,
) -> tuple[Tensor, Tensor]:
    """The gradient of the inputs, and the sums [4, units] of the kernel's ``parts``."""
    rows, constants = _constants(values, kind, added is not None, total_slope is not None, epsilon)
    programs, value_slope, slope = programs_for(rows, constants), torch.empty_like(values), slope.contiguous()
    parts = torch.empty((programs, 4, weight.numel()), dtype=torch.float32, device=values.device)
    kernels().backward_kernel[(programs,)](
        *(values, weight if added is None else added, weight, bias),
        *(slope, slope if total_slope is None else total_slope, value_slope, parts, rows),
        **constants,
    )
    return value_slope, sum_parts(parts)


def _constants(values: Tensor, kind: Kind, biased: bool, residual: bool, epsilon: float) -> tuple[int, dict[str, Any]]:
    """Rows of ``values`` [..., units], and the constants of the kernels."""
    units = values.shape[-1]
    sizes = tile(units, epsilon)
    return values.numel() // units, {**sizes, "KIND": kind, "BIASED": biased, "RESIDUAL": residual}


def tile(units: int, epsilon: float) -> dict[str, Any]:
    """Constants of kernels over rows of so many units."""
    return {
        "D": units,
        "DP": padded(units),
        "BM": max(1, TILE // padded(units)),
        "EPSILON": epsilon,
        "num_warps": WARPS,
    }


def programs_for(rows: int, constants: dict[str, Any]) -> int:
    """Programs of a kernel with the constants of :func:`tile` over so many rows."""
    return min(math.ceil(rows / int(constants["BM"])), PROGRAMS)
