# mypy: ignore-errors
"""A Triton kernel of the gradient of ReLU, with its sum over rows of D units, padded to DP."""

import triton
import triton.language as tl


@triton.jit
def backward_kernel(slope_ptr, out_ptr, parts, rows, D: tl.constexpr, DP: tl.constexpr, BM: tl.constexpr):
    """Sets the gradient of outputs that are 0 to 0; ``parts`` [programs, D] are sums over rows of what is left."""
    c = tl.arange(0, DP)
    total = tl.zeros((BM, DP), tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(rows, BM), tl.num_programs(0)):
        r = tile * BM + tl.arange(0, BM)
        at, inside = r.to(tl.int64)[:, None] * D + c[None, :], (r < rows)[:, None] & (c < D)[None, :]
        slope = tl.load(slope_ptr + at, mask=inside, other=0.0)
        out = tl.load(out_ptr + at, mask=inside, other=0.0)
        slope = tl.where(out > 0.0, slope, 0.0)
        total += slope.to(tl.float32)
        tl.store(slope_ptr + at, slope, mask=inside)
    tl.store(parts + tl.program_id(0) * D + c, tl.sum(total, 0), mask=c < D)
