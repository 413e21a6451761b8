# mypy: ignore-errors
"""Triton kernels that normalize tokens and sum up each set of them.

Tokens are [T, sets, D]: the first of each set, then the second; D is padded to DP. A program takes BM sets at a time,
one token after the other. Names in capitals are compile-time constants. Sums are float32.
"""

import triton
import triton.language as tl

from worldloom.learn.networks.fused.norm_kernels import normalized, normalized_slope


@triton.jit
def count_of(present_ptr, n, sets, T):
    """How many tokens of a set but the first are present, [BM]; at least 1."""
    count = tl.zeros_like(n).to(tl.float32)
    for t in range(1, T):
        count += tl.load(present_ptr + t * sets + n, mask=n < sets, other=0).to(tl.float32)
    return tl.maximum(count, 1.0)


@triton.jit
def pool_kernel(
    x_ptr, present_ptr, weight, bias, out_ptr, sets, T,
    D: tl.constexpr, DP: tl.constexpr, BM: tl.constexpr, EPSILON: tl.constexpr,
):  # fmt: skip
    """Stores the first token and the mean of the others that are present, both normalized: [sets, 2 D]."""
    c = tl.arange(0, DP)
    scale, shift = tl.load(weight + c, mask=c < D, other=0.0), tl.load(bias + c, mask=c < D, other=0.0)
    for tile in range(tl.program_id(0), tl.cdiv(sets, BM), tl.num_programs(0)):
        n = tile * BM + tl.arange(0, BM)
        inside = (n < sets)[:, None] & (c < D)[None, :]
        out_at = n.to(tl.int64)[:, None] * (2 * D) + c[None, :]
        count = count_of(present_ptr, n, sets, T)
        total = tl.zeros((BM, DP), tl.float32)
        for t in range(T):
            at = (t * sets + n).to(tl.int64)[:, None] * D + c[None, :]
            x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
            unit, _inverse = normalized(x, inside, D, EPSILON)
            out = unit * scale[None, :] + shift[None, :]
            if t == 0:
                tl.store(out_ptr + out_at, out.to(out_ptr.dtype.element_ty), mask=inside)
            else:
                here = tl.load(present_ptr + t * sets + n, mask=n < sets, other=0) != 0
                total += tl.where(here[:, None], out, 0.0)
        mean = total / count[:, None]
        tl.store(out_ptr + out_at + D, mean.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def pool_backward_kernel(
    x_ptr, present_ptr, weight, slope_ptr, x_slope_ptr, parts, sets, T,
    D: tl.constexpr, DP: tl.constexpr, BM: tl.constexpr, EPSILON: tl.constexpr,
):  # fmt: skip
    """The gradient of the tokens; ``parts`` [programs, 2, D] are sums of those of weight and bias."""
    c = tl.arange(0, DP)
    scale = tl.load(weight + c, mask=c < D, other=0.0)
    weight_sum, bias_sum = tl.zeros((BM, DP), tl.float32), tl.zeros((BM, DP), tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(sets, BM), tl.num_programs(0)):
        n = tile * BM + tl.arange(0, BM)
        inside = (n < sets)[:, None] & (c < D)[None, :]
        slope_at = n.to(tl.int64)[:, None] * (2 * D) + c[None, :]
        first = tl.load(slope_ptr + slope_at, mask=inside, other=0.0).to(tl.float32)
        others = tl.load(slope_ptr + slope_at + D, mask=inside, other=0.0).to(tl.float32)
        others = others / count_of(present_ptr, n, sets, T)[:, None]
        for t in range(T):
            at = (t * sets + n).to(tl.int64)[:, None] * D + c[None, :]
            x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
            unit, inverse = normalized(x, inside, D, EPSILON)
            here = tl.load(present_ptr + t * sets + n, mask=n < sets, other=0) != 0
            out_slope = tl.where(t == 0, first, tl.where(here[:, None], others, 0.0))
            weight_sum += out_slope * unit
            bias_sum += out_slope
            x_slope = normalized_slope(out_slope * scale[None, :], unit, inverse, D)
            tl.store(x_slope_ptr + at, x_slope.to(x_slope_ptr.dtype.element_ty), mask=inside)
    own = parts + tl.program_id(0) * (2 * D)
    tl.store(own + c, tl.sum(weight_sum, 0), mask=c < D)
    tl.store(own + D + c, tl.sum(bias_sum, 0), mask=c < D)
