"""An attention layer over small sets as one forward and two backward kernels on a GPU.

PyTorch's layers read and write every activation, and its attention pads a set of 17 tokens to 64. Here whole sets share
a tile of 64 or 128 rows, activations stay on the chip and are recomputed in the backward pass, which stores the factors
of the weights' gradients for products of cuBLAS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor

from worldloom.learn.networks.entities.attention import FEED_FORWARD, AttentionLayer

Precision = Literal["tf32", "tf32x3", "ieee"]
"""Products of float32: rounded to TF32, three of these, or exact."""
ROWS = (64, 128)
"""Rows of a tile: the first into which a set fits."""
PROGRAMS = 264
"""Maximum number of programs; each takes one tile after the other."""
WARPS = 8
MAX_UNITS, LEAST_HEAD = 256, 16
MAX_HIDDEN = 64
"""Hidden units that are computed at a time."""


@cache
def kernels() -> Any:
    """The module of kernels; None without Triton."""
    try:
        from worldloom.learn.networks.entities import fused_attention_kernels
    except ImportError:
        return None
    return fused_attention_kernels


def has_kernel(layer: AttentionLayer, sets: int, tokens: int) -> bool:
    """Whether there are kernels for a layer over so many sets of so many tokens."""
    units, heads = layer.attention.project.in_features, layer.attention.heads
    return (
        kernels() is not None
        and tokens <= ROWS[-1]
        and sets * tokens * FEED_FORWARD * units < 2**31
        and units <= MAX_UNITS
        and units & (units - 1) == 0
        and units % heads == 0
        and units // heads >= LEAST_HEAD
        and (units // heads) & (units // heads - 1) == 0
    )


def fused_attention(layer: AttentionLayer, tokens: Tensor, present: Tensor, precision: Precision = "tf32") -> Tensor:
    """``layer(tokens, present)`` by the kernels: [N, T, D], of which ``present`` [N, T] are attended to -> [N, T, D].

    Products are bfloat16 under autocast, else float32 with ``precision``; sums, softmax and normalization are float32.
    """
    bf16 = tokens.is_cuda and torch.is_autocast_enabled("cuda")
    shape = _Shape.of(layer, tokens, torch.bfloat16 if bf16 else torch.float32, precision)
    outputs: Tensor = _FusedAttention.apply(tokens, present, shape, *_parameters(layer))
    return outputs


def _parameters(layer: AttentionLayer) -> tuple[Tensor, ...]:
    """The parameters of a layer, in the order of the kernels' arguments."""
    attention, feed_forward = layer.attention, layer.feed_forward
    modules = (
        *(layer.attention_norm, attention.project, attention.output),
        *(layer.feed_forward_norm, feed_forward[0], feed_forward[2]),
    )
    return tuple(parameter for module in modules for parameter in module.parameters())  # weight and bias of each


@dataclass(frozen=True)
class _Shape:
    """The sizes of a batch and of a layer, and how products are computed.

    Attributes:
        rows: Tokens of the batch.
        tokens: Tokens of a set.
        units: Units of a token.
        hidden: Units of the feed-forward layer.
        kind: The type of the products' factors.
    """

    rows: int
    tokens: int
    units: int
    heads: int
    hidden: int
    epsilon: float
    kind: torch.dtype
    precision: Precision

    @classmethod
    def of(cls, layer: AttentionLayer, tokens: Tensor, kind: torch.dtype, precision: Precision) -> _Shape:
        sets, length, units = tokens.shape
        heads, hidden = layer.attention.heads, FEED_FORWARD * units
        return cls(sets * length, length, units, heads, hidden, layer.attention_norm.eps, kind, precision)

    @property
    def tile(self) -> int:
        """Rows of a tile."""
        return next(rows for rows in ROWS if self.tokens <= rows)

    @property
    def programs(self) -> int:
        sets = self.rows // self.tokens
        return max(1, min(math.ceil(sets / (self.tile // self.tokens)), PROGRAMS))

    def attention(self) -> dict[str, Any]:
        """Constants of the kernels that attend."""
        return {
            "T": self.tokens,
            "SETS": self.tile // self.tokens,
            "HEADS": self.heads,
            "W": self.units // self.heads,
            "SCALE": (self.units // self.heads) ** -0.5,
        }

    def feed_forward(self) -> dict[str, Any]:
        """Constants of the kernels with the feed-forward layers."""
        return {"UP": self.hidden, "C": min(self.hidden, MAX_HIDDEN)}

    def common(self) -> dict[str, Any]:
        """Constants of all kernels."""
        sizes = {"BM": self.tile, "D": self.units, "EPSILON": self.epsilon, "PRECISION": self.precision}
        return {**sizes, "num_warps": WARPS, "num_stages": 1}


class _FusedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tokens: Tensor, present: Tensor, shape: _Shape, *parameters: Tensor) -> Tensor:
        norm_w, norm_b, qkv_w, qkv_b, mix_w, mix_b, norm2_w, norm2_b, up_w, up_b, down_w, down_b = parameters
        tokens, present = tokens.contiguous(), present.contiguous().view(torch.uint8)
        between, outputs = torch.empty_like(tokens), torch.empty_like(tokens)
        qkv_w, mix_w, up_w, down_w = (weight.to(shape.kind) for weight in (qkv_w, mix_w, up_w, down_w))
        kernels().forward_kernel[(shape.programs,)](
            *(tokens, present, between, outputs, shape.rows),
            *(norm_w, norm_b, qkv_w, qkv_b, mix_w, mix_b, norm2_w, norm2_b, up_w, up_b, down_w, down_b),
            **shape.attention(),
            **shape.feed_forward(),
            **shape.common(),
        )
        ctx.shape = shape
        ctx.save_for_backward(
            *(tokens, present, between, norm_w, norm_b, qkv_w, qkv_b, mix_w, norm2_w, norm2_b, up_w, up_b, down_w)
        )
        return outputs

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        tokens, present, between, *weights = ctx.saved_tensors
        norm_w, norm_b, qkv_w, qkv_b, mix_w, norm2_w, norm2_b, up_w, up_b, down_w = weights
        shape: _Shape = ctx.shape
        rows, units, hidden = shape.rows, shape.units, shape.hidden
        slope = slope.contiguous()

        def factor(columns: int) -> Tensor:
            return torch.empty((rows, columns), dtype=shape.kind, device=tokens.device)

        def sums(columns: int) -> Tensor:
            return torch.zeros((shape.programs, columns), dtype=torch.float32, device=tokens.device)

        between_slope, unit, up, up_slope = torch.empty_like(tokens), factor(units), factor(hidden), factor(hidden)
        parts = sums(3 * units + hidden)
        kernels().feed_forward_backward_kernel[(shape.programs,)](
            *(between, slope, between_slope, unit, up, up_slope, parts, rows),
            *(norm2_w, norm2_b, up_w, up_b, down_w),
            **shape.feed_forward(),
            **shape.common(),
        )
        norm2_w_slope, norm2_b_slope, down_b_slope, up_b_slope = parts.sum(0).split([units, units, units, hidden])
        up_w_slope = up_slope.T @ unit
        down_w_slope = slope.view(rows, units).to(shape.kind).T @ up
        token_slope, mixed, qkv_slope = torch.empty_like(tokens), factor(units), factor(3 * units)
        parts = sums(6 * units)
        kernels().attention_backward_kernel[(shape.programs,)](
            *(tokens, present, between_slope, token_slope, unit, mixed, qkv_slope, parts, rows),
            *(norm_w, norm_b, qkv_w, qkv_b, mix_w),
            **shape.attention(),
            **shape.common(),
        )
        norm_w_slope, norm_b_slope, mix_b_slope, qkv_b_slope = parts.sum(0).split([units, units, units, 3 * units])
        qkv_w_slope = qkv_slope.T @ unit
        mix_w_slope = between_slope.view(rows, units).to(shape.kind).T @ mixed
        weight_slopes = (
            *(norm_w_slope, norm_b_slope, qkv_w_slope.float(), qkv_b_slope, mix_w_slope.float(), mix_b_slope),
            *(norm2_w_slope, norm2_b_slope, up_w_slope.float(), up_b_slope, down_w_slope.float(), down_b_slope),
        )
        return token_slope, None, None, *weight_slopes
