# mypy: ignore-errors
"""A Triton kernel of sums over rows of D units, padded to DP, and of the gradient of ReLU."""

import triton
import triton.language as tl


@triton.jit
def sums_kernel(
    slope_ptr, out_ptr, x_slope_ptr, parts, rows,
    D: tl.constexpr, DP: tl.constexpr, BM: tl.constexpr, RELU: tl.constexpr,
):  # fmt: skip
    """``parts`` [programs, D] are sums over rows. With RELU rows are 0 where outputs are 0, and are stored so."""
    c = tl.arange(0, DP)
    total = tl.zeros((BM, DP), tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(rows, BM), tl.num_programs(0)):
        r = tile * BM + tl.arange(0, BM)
        at, inside = r.to(tl.int64)[:, None] * D + c[None, :], (r < rows)[:, None] & (c < D)[None, :]
        slope = tl.load(slope_ptr + at, mask=inside, other=0.0)
        if RELU:
            out = tl.load(out_ptr + at, mask=inside, other=0.0)
            slope = tl.where(out <= 0.0, 0.0, slope)  # NaN stays NaN
            tl.store(x_slope_ptr + at, slope, mask=inside)
        total += slope.to(tl.float32)
    tl.store(parts + tl.program_id(0) * D + c, tl.sum(total, 0), mask=c < D)
