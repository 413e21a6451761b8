"""What the kernels of pair systems and of systems with several threads per entity call."""

from __future__ import annotations

from typing import Any

import warp as wp


@wp.func
def later_of_pair(number: wp.int32):
    """The later entity ``j`` of the pair ``number = j * (j - 1) / 2 + i`` with ``i < j``, of 46,341 entities at most."""
    later = wp.int32((1.0 + wp.sqrt(8.0 * wp.float32(number) + 1.0)) * 0.5)
    if later * (later - 1) / 2 > number:  # the square root is off by less than one
        later -= 1
    if (later + 1) * later / 2 <= number:
        later += 1
    return later


@wp.func_native(snippet="__syncthreads();")
def sync_block(): ...


_GATHERED = {"add": "value += other;", "min": "value = other < value ? other : value;", "max": "value = value < other ? other : value;"}


def _across(operator: str, dtype: Any) -> Any:
    """What all 32 threads of a warp hold together: their sum, least or greatest number, which each of them gets."""

    def across(value): ...

    across.__name__ = across.__qualname__ = across_name(operator, dtype)
    across.__annotations__ = {"value": dtype, "return": dtype}
    step = f"auto other = __shfl_xor_sync(0xffffffffu, value, apart); {_GATHERED[operator]}"
    return wp.func_native(snippet=f"for (int apart = 16; apart > 0; apart /= 2) {{ {step} }} return value;")(across)


def across_name(operator: str, dtype: Any) -> str:
    """The function that gathers numbers of a type over a warp."""
    return f"across_{operator}_{dtype.__name__}"


ACROSS = {
    across_name(operator, dtype): _across(operator, dtype)
    for operator in _GATHERED
    for dtype in (wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float32, wp.float64)
}
