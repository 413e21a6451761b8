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


_GATHERED = {
    "add": "value += other;",
    "min": "value = (value != value || other < value) ? other : value;",  # what is not a number gives way to any other
    "max": "value = (value != value || value < other) ? other : value;",
}


def across_name(operator: str, dtype: Any) -> str:
    """The function that gathers numbers of a type over the 32 threads of a warp."""
    return f"across_{operator}_{dtype.__name__}"


def across_text(operator: str, dtype: Any) -> str:
    """Its definition: every thread gets the sum, the least or the greatest of what all of them hold."""
    step = f"auto other = __shfl_xor_sync(0xffffffffu, value, apart); {_GATHERED[operator]}"
    snippet = f"for (int apart = 16; apart > 0; apart /= 2) {{ {step} }} return __shfl_sync(0xffffffffu, value, 0);"
    code = f"wp.{dtype.__name__}"
    return f'@wp.func_native(snippet="{snippet}")\ndef {across_name(operator, dtype)}(value: {code}) -> {code}: ...\n'
