# mypy: ignore-errors
"""Triton kernels of a bias, a residual, layer normalization and an activation over rows of D units, padded to DP.

A program takes BM rows at a time. Names in capitals are compile-time constants. Sums are float32.
"""

import triton
import triton.language as tl

from worldloom.learn.networks.fused.mlp_kernels import activate, slope


@triton.jit
def activated(z, KIND: tl.constexpr):
    if KIND == "none":
        return z
    return activate(z, KIND)


@triton.jit
def normalized(x, inside, D: tl.constexpr, EPSILON: tl.constexpr):
    """Rows [BM, DP] of mean 0 and variance 1, and the inverse standard deviation [BM] before."""
    centred = tl.where(inside, x - (tl.sum(x, 1) / D)[:, None], 0.0)
    inverse = 1.0 / tl.sqrt(tl.sum(centred * centred, 1) / D + EPSILON)
    return centred * inverse[:, None], inverse


@triton.jit
def normalized_slope(slope, unit, inverse, D: tl.constexpr):
    """The gradient of the inputs of ``normalized`` from that of its rows."""
    mean, along = tl.sum(slope, 1) / D, tl.sum(slope * unit, 1) / D
    return (slope - mean[:, None] - unit * along[:, None]) * inverse[:, None]


@triton.jit
def biased_rows(x_ptr, linear_bias, at, c, inside, D: tl.constexpr, BIASED: tl.constexpr):
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    if BIASED:
        x += tl.load(linear_bias + c, mask=c < D, other=0.0)[None, :]
    return x


@triton.jit
def forward_kernel(
    x_ptr, linear_bias, residual_ptr, weight, bias, next_bias, total_ptr, start_ptr, out_ptr, rows,
    D: tl.constexpr, DP: tl.constexpr, BM: tl.constexpr, KIND: tl.constexpr, BIASED: tl.constexpr,
    RESIDUAL: tl.constexpr, EPSILON: tl.constexpr,
):  # fmt: skip
    """With RESIDUAL rows are added to the inputs, and the sum is stored as well, also with another bias."""
    c = tl.arange(0, DP)
    scale, shift = tl.load(weight + c, mask=c < D, other=0.0), tl.load(bias + c, mask=c < D, other=0.0)
    for tile in range(tl.program_id(0), tl.cdiv(rows, BM), tl.num_programs(0)):
        r = tile * BM + tl.arange(0, BM)
        at, inside = r.to(tl.int64)[:, None] * D + c[None, :], (r < rows)[:, None] & (c < D)[None, :]
        x = biased_rows(x_ptr, linear_bias, at, c, inside, D, BIASED)
        if RESIDUAL:
            x += tl.load(residual_ptr + at, mask=inside, other=0.0).to(tl.float32)
            total = x.to(total_ptr.dtype.element_ty)
            tl.store(total_ptr + at, total, mask=inside)
            x = total.to(tl.float32)  # as the backward pass reads it
            start = x + tl.load(next_bias + c, mask=c < D, other=0.0)[None, :]
            tl.store(start_ptr + at, start.to(start_ptr.dtype.element_ty), mask=inside)
        unit, _inverse = normalized(x, inside, D, EPSILON)
        out = activated(unit * scale[None, :] + shift[None, :], KIND)
        tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def backward_kernel(
    x_ptr, linear_bias, weight, bias, slope_ptr, residual_slope_ptr, x_slope_ptr, parts, rows,
    D: tl.constexpr, DP: tl.constexpr, BM: tl.constexpr, KIND: tl.constexpr, BIASED: tl.constexpr,
    RESIDUAL: tl.constexpr, EPSILON: tl.constexpr,
):  # fmt: skip
    """The gradient of the inputs, with RESIDUAL plus that of a sum which they are part of.

    ``parts`` [programs, 4, D] are sums over rows of the gradients of weight, bias and inputs, and of that of the sum.
    """
    c = tl.arange(0, DP)
    scale, shift = tl.load(weight + c, mask=c < D, other=0.0), tl.load(bias + c, mask=c < D, other=0.0)
    weight_sum, bias_sum = tl.zeros((BM, DP), tl.float32), tl.zeros((BM, DP), tl.float32)
    x_sum, residual_sum = tl.zeros((BM, DP), tl.float32), tl.zeros((BM, DP), tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(rows, BM), tl.num_programs(0)):
        r = tile * BM + tl.arange(0, BM)
        at, inside = r.to(tl.int64)[:, None] * D + c[None, :], (r < rows)[:, None] & (c < D)[None, :]
        x = biased_rows(x_ptr, linear_bias, at, c, inside, D, BIASED)
        unit, inverse = normalized(x, inside, D, EPSILON)
        out_slope = tl.load(slope_ptr + at, mask=inside, other=0.0).to(tl.float32)
        if KIND != "none":
            out_slope *= slope(activated(unit * scale[None, :] + shift[None, :], KIND), KIND)
        weight_sum += out_slope * unit
        bias_sum += out_slope
        x_slope = normalized_slope(out_slope * scale[None, :], unit, inverse, D)
        x_slope = tl.where(inside, x_slope, 0.0)
        if RESIDUAL:
            residual_slope = tl.load(residual_slope_ptr + at, mask=inside, other=0.0).to(tl.float32)
            x_slope += residual_slope
            residual_sum += residual_slope
        tl.store(x_slope_ptr + at, x_slope.to(x_slope_ptr.dtype.element_ty), mask=inside)
        if BIASED or RESIDUAL:
            x_sum += x_slope
    own = parts + tl.program_id(0) * (4 * D)
    tl.store(own + c, tl.sum(weight_sum, 0), mask=c < D)
    tl.store(own + D + c, tl.sum(bias_sum, 0), mask=c < D)
    tl.store(own + 2 * D + c, tl.sum(x_sum, 0), mask=c < D)
    tl.store(own + 3 * D + c, tl.sum(residual_sum, 0), mask=c < D)
