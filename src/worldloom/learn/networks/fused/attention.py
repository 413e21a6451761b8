"""A self-attention layer over small sets on a GPU: kernels for what PyTorch does slowly, cuBLAS for large products.

PyTorch's attention pads a set of 17 tokens to 64, and its residuals, biases and normalization read and write the tokens
once each. Here a kernel attends within sets, and others do all that lies between two products in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from worldloom.learn.networks.entities.attention import FEED_FORWARD, AttentionLayer
from worldloom.learn.networks.fused import norm, sums
from worldloom.learn.networks.fused.support import kernel_module, padded, product_type

MAX_TOKENS, LEAST_SIDE = 64, 16
MAX_NUMBERS = 64 * 64
"""Numbers of a set in a head: more do not fit into the registers of a program."""
WARPS = 2


def kernels() -> Any:
    """The module of kernels; None without Triton."""
    return kernel_module("attention_kernels")


def has_kernel(layer: AttentionLayer, tokens: int) -> bool:
    """Whether there are kernels for a layer over sets of so many tokens."""
    units, heads = layer.attention.project.in_features, layer.attention.heads
    return (
        kernels() is not None
        and tokens <= MAX_TOKENS
        and units <= norm.MAX_UNITS
        and units * FEED_FORWARD <= sums.MAX_UNITS
        and padded(tokens) * padded(units // heads) <= MAX_NUMBERS
    )


def fused_layer(layer: AttentionLayer, tokens: Tensor, present: Tensor, precision: str = "tf32") -> Tensor:
    """The layer by the kernels: tokens [T, N, D] of N sets, of which ``present`` [T, N] are attended to -> [T, N, D].

    Under autocast tokens and products are bfloat16. Otherwise they are float32; those of the attention have the
    ``precision`` tf32 or ieee, all others that of PyTorch. Sums, softmax and normalization are float32.
    """
    length, _, units = tokens.shape
    sizes = _Sizes(length, units, layer.attention.heads, layer.attention_norm.eps, precision)
    outputs: Tensor = _FusedLayer.apply(tokens.to(product_type(tokens)), present, sizes, *_parameters(layer))
    return outputs


def _parameters(layer: AttentionLayer) -> tuple[Tensor, ...]:
    """Weight and bias of each part of a layer, in the order of its computation."""
    attention, feed_forward = layer.attention, layer.feed_forward
    modules = (
        *(layer.attention_norm, attention.project, attention.output),
        *(layer.feed_forward_norm, feed_forward[0], feed_forward[2]),
    )
    return tuple(parameter for module in modules for parameter in module.parameters())


@dataclass(frozen=True)
class _Sizes:
    """What the kernels of a layer depend on.

    Attributes:
        tokens: Tokens of a set.
        units: Units of a token.
        epsilon: Added to the variance by the normalization.
        precision: Of the attention's products of float32.
    """

    tokens: int
    units: int
    heads: int
    epsilon: float
    precision: str

    def constants(self) -> dict[str, Any]:
        """Constants of the kernels that attend."""
        width = self.units // self.heads
        return {
            "T": self.tokens,
            "TP": max(LEAST_SIDE, padded(self.tokens)),
            "HEADS": self.heads,
            "W": width,
            "WP": max(LEAST_SIDE, padded(width)),
            "SCALE": width**-0.5,
            "PRECISION": self.precision,
            "num_warps": WARPS,
            "num_stages": 1,
        }


class _FusedLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tokens: Tensor, present: Tensor, sizes: _Sizes, *parameters: Tensor) -> Tensor:
        norm_w, norm_b, qkv_w, qkv_b, mix_w, mix_b, norm2_w, norm2_b, up_w, up_b, down_w, down_b = parameters
        kind, shape = tokens.dtype, tokens.shape
        qkv_w, qkv_b, mix_w, up_w, up_b, down_w = (
            parameter.to(kind) for parameter in (qkv_w, qkv_b, mix_w, up_w, up_b, down_w)
        )
        tokens, present = tokens.contiguous().view(-1, sizes.units), present.contiguous().view(torch.uint8)
        with torch.autocast("cuda", enabled=False):
            unit = norm.forward(tokens, norm_w, norm_b, sizes.epsilon)
            qkv = torch.addmm(qkv_b, unit, qkv_w.t())
            mixed = torch.empty_like(tokens)
            kernels().forward_kernel[(shape[1],)](qkv, present, mixed, shape[1], **sizes.constants())
            between, outputs, unit2 = norm.residual_forward(
                mixed @ mix_w.t(), mix_b, tokens, norm2_w, norm2_b, down_b, sizes.epsilon
            )
            hidden = torch._addmm_activation(up_b, unit2, up_w.t())
            outputs.addmm_(hidden, down_w.t())
        ctx.sizes = sizes
        ctx.save_for_backward(
            *(tokens, present, unit, qkv, mixed, between, unit2, hidden),
            *(norm_w, norm_b, qkv_w, mix_w, norm2_w, norm2_b, up_w, down_w),
        )
        return outputs.view(shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        tokens, present, unit, qkv, mixed, between, unit2, hidden, *weights = ctx.saved_tensors
        norm_w, norm_b, qkv_w, mix_w, norm2_w, norm2_b, up_w, down_w = weights
        sizes, shape = ctx.sizes, slope.shape
        slope = slope.to(tokens.dtype).contiguous().view_as(tokens)
        up_slope = slope @ down_w
        up_b_slope = sums.relu_slopes(up_slope, hidden, into=up_slope)
        between_slope, norm2_w_slope, norm2_b_slope, mix_b_slope, down_b_slope = norm.residual_backward(
            between, norm2_w, norm2_b, up_slope @ up_w, slope, sizes.epsilon
        )
        qkv_slope = torch.empty_like(qkv)
        kernels().backward_kernel[(shape[1],)](
            qkv, present, between_slope @ mix_w, qkv_slope, shape[1], **sizes.constants()
        )  # fmt: skip
        token_slope, norm_w_slope, norm_b_slope, _, _ = norm.residual_backward(
            tokens, norm_w, norm_b, qkv_slope @ qkv_w, between_slope, sizes.epsilon
        )
        return (
            *(token_slope.view(shape), None, None, norm_w_slope, norm_b_slope),
            *((qkv_slope.t() @ unit).float(), sums.column_sums(qkv_slope)),
            *((between_slope.t() @ mixed).float(), mix_b_slope, norm2_w_slope, norm2_b_slope),
            *((up_slope.t() @ unit2).float(), up_b_slope, (slope.t() @ hidden).float(), down_b_slope),
        )
