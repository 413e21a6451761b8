# mypy: ignore-errors
"""Triton kernels of self-attention in sets of T tokens, padded to TP, with heads of W units, padded to WP.

A program takes a set, one head after the other; its weights stay on the chip. Rows of tokens are [T, sets]; those of 3
HEADS W numbers hold the queries of all heads, then the keys, then the values. Names in capitals are compile-time
constants. Sums and softmax are float32. With two warps products are those of 16 x 8 tiles: with the larger ones of a
Hopper GPU, which four warps have, Triton 3.6 reads wrong addresses for heads of 16 and 32 units.
"""

import triton
import triton.language as tl

FAR = tl.constexpr(-1.0e30)


@triton.jit
def places(
    number, sets, head, T: tl.constexpr, TP: tl.constexpr, HEADS: tl.constexpr, W: tl.constexpr, WP: tl.constexpr
):
    """Offsets [TP, WP] of a head in rows of 3 HEADS W and of HEADS W, and which of them exist."""
    t, w = tl.arange(0, TP), tl.arange(0, WP)
    row = (t.to(tl.int64) * sets + number)[:, None]
    column = (head * W + w)[None, :]
    return row * (3 * HEADS * W) + column, row * (HEADS * W) + column, (t < T)[:, None] & (w < W)[None, :]


@triton.jit
def loaded(qkv_ptr, at, inside, HEADS: tl.constexpr, W: tl.constexpr):
    """Queries, keys and values [TP, WP] of a head, zeros where there are none."""
    q = tl.load(qkv_ptr + at, mask=inside, other=0.0)
    k = tl.load(qkv_ptr + at + HEADS * W, mask=inside, other=0.0)
    v = tl.load(qkv_ptr + at + 2 * HEADS * W, mask=inside, other=0.0)
    return q, k, v


@triton.jit
def attended(q, k, allowed, SCALE: tl.constexpr, PRECISION: tl.constexpr):
    """The weights [TP, TP] with which tokens attend to others, float32."""
    scores = tl.where(allowed, tl.dot(q, tl.trans(k), input_precision=PRECISION) * SCALE, FAR)
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    return weights / tl.sum(weights, 1)[:, None]


@triton.jit
def forward_kernel(
    qkv_ptr, present_ptr, mixed_ptr, sets,
    T: tl.constexpr, TP: tl.constexpr, HEADS: tl.constexpr, W: tl.constexpr, WP: tl.constexpr,
    SCALE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    number, t = tl.program_id(0), tl.arange(0, TP)
    allowed = (tl.load(present_ptr + t.to(tl.int64) * sets + number, mask=t < T, other=0) != 0)[None, :]
    for head in range(HEADS):
        at, out_at, inside = places(number, sets, head, T, TP, HEADS, W, WP)
        q, k, v = loaded(qkv_ptr, at, inside, HEADS, W)
        weights = attended(q, k, allowed, SCALE, PRECISION)
        mixed = tl.dot(weights.to(v.dtype), v, input_precision=PRECISION)
        tl.store(mixed_ptr + out_at, mixed.to(mixed_ptr.dtype.element_ty), mask=inside)


@triton.jit
def backward_kernel(
    qkv_ptr, present_ptr, mixed_slope_ptr, qkv_slope_ptr, sets,
    T: tl.constexpr, TP: tl.constexpr, HEADS: tl.constexpr, W: tl.constexpr, WP: tl.constexpr,
    SCALE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    number, t = tl.program_id(0), tl.arange(0, TP)
    allowed = (tl.load(present_ptr + t.to(tl.int64) * sets + number, mask=t < T, other=0) != 0)[None, :]
    for head in range(HEADS):
        at, out_at, inside = places(number, sets, head, T, TP, HEADS, W, WP)
        q, k, v = loaded(qkv_ptr, at, inside, HEADS, W)
        mixed_slope = tl.load(mixed_slope_ptr + out_at, mask=inside, other=0.0)
        weights = attended(q, k, allowed, SCALE, PRECISION)
        v_slope = tl.dot(tl.trans(weights.to(v.dtype)), mixed_slope, input_precision=PRECISION)
        weights_slope = tl.dot(mixed_slope, tl.trans(v), input_precision=PRECISION)
        scores_slope = weights * (weights_slope - tl.sum(weights * weights_slope, 1)[:, None]) * SCALE
        scores_slope = scores_slope.to(q.dtype)
        q_slope = tl.dot(scores_slope, k, input_precision=PRECISION)
        k_slope = tl.dot(tl.trans(scores_slope), q, input_precision=PRECISION)
        kind = qkv_slope_ptr.dtype.element_ty
        tl.store(qkv_slope_ptr + at, q_slope.to(kind), mask=inside)
        tl.store(qkv_slope_ptr + at + HEADS * W, k_slope.to(kind), mask=inside)
        tl.store(qkv_slope_ptr + at + 2 * HEADS * W, v_slope.to(kind), mask=inside)
