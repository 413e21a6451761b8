"""Multi-head self-attention over tokens, some of which may be masked (Vaswani et al., 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from worldloom.learn.networks.layers import RELU_GAIN, LayerNorm, linear

FEED_FORWARD = 4
"""Hidden units of the feed-forward layers, as a multiple of the units of a token."""
MAX_ROWS = 32_768
"""Rows per attention call: the grid of a CUDA kernel has at most 65,535 blocks along the axis of the rows."""


class SelfAttention(nn.Module):
    """Scaled dot-product attention of all tokens to all tokens that are present.

    Args:
        size: Units of a token, D; a multiple of ``heads``.
        heads: Number of attention heads, H.
    """

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = linear(size, 3 * size, gain=1.0)
        self.output = linear(size, size, gain=1.0)

    def forward(self, tokens: Tensor, present: Tensor) -> Tensor:
        """Tokens [N, T, D], of which ``present`` [N, T] are attended to -> [N, T, D]. One of a row must be present."""
        queries, keys, values = self.project(tokens).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = _attend(queries, keys, values, present[:, None, None, :])
        outputs: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return outputs


class AttentionLayer(nn.Module):
    """Self-attention and two feed-forward layers, each with layer normalization before it and a residual connection."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.attention_norm, self.attention = LayerNorm(size), SelfAttention(size, heads)
        self.feed_forward_norm = LayerNorm(size)
        self.feed_forward = nn.Sequential(
            linear(size, FEED_FORWARD * size, RELU_GAIN),
            nn.ReLU(inplace=True),
            linear(FEED_FORWARD * size, size, gain=1.0),
        )

    def forward(self, tokens: Tensor, present: Tensor) -> Tensor:
        """Tokens [N, T, D], of which ``present`` [N, T] are attended to -> [N, T, D]."""
        tokens = tokens + self.attention(self.attention_norm(tokens), present)
        tokens = tokens + self.feed_forward(self.feed_forward_norm(tokens))
        return tokens


def _attend(queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor) -> Tensor:
    """Attention [N, H, T, D / H] of queries to the keys that are ``allowed`` [N, 1, 1, T]; on a GPU in parts."""
    if not queries.is_cuda or queries.shape[0] <= MAX_ROWS:
        return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=allowed)
    parts = zip(*(tensor.split(MAX_ROWS) for tensor in (queries, keys, values, allowed)), strict=True)
    return torch.cat([functional.scaled_dot_product_attention(q, k, v, attn_mask=mask) for q, k, v, mask in parts])
