"""What the kernels of pair systems, of systems with several threads per entity and of extremes over other rows call."""

from __future__ import annotations

from typing import Any

import warp as wp

from worldloom.core.kernels.wrapping import UNSIGNED


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


_COMBINE = {
    "add": "value += other;",
    "min": "value = (value != value || other < value) ? other : value;",  # what is not a number gives way to any other
    "max": "value = (value != value || value < other) ? other : value;",
}


ATOMIC_EXTREME_TYPES = (wp.int32, wp.uint32, wp.int64)
"""Numbers of which the threads of a warp find the extreme together, before one of them goes to memory with it."""


def warp_reduce_name(operator: str, dtype: Any) -> str:
    """The function that gathers numbers of a type over the 32 threads of a warp."""
    return f"across_{operator}_{dtype.__name__}"


def warp_reduce_text(operator: str, dtype: Any) -> str:
    """Its definition: every thread gets the sum, the least or the greatest of what all of them hold."""
    snippet = f"{_shuffle_reduce(operator, dtype)} return __shfl_sync(0xffffffffu, value, 0);"
    code = f"wp.{dtype.__name__}"
    return (
        f'@wp.func_native(snippet="{snippet}")\ndef {warp_reduce_name(operator, dtype)}(value: {code}) -> {code}: ...\n'
    )


def atomic_extreme_name(operator: str, dtype: Any) -> str:
    """The function that puts the ``min`` or ``max`` of a row's number and another into the row, whoever else does so at the same time."""
    return f"meet_{operator}_{dtype.__name__}"


def atomic_extreme_text(operator: str, dtype: Any) -> str:
    """Its definition. On CUDA a whole warp with one row in mind, as most have in large worlds, asks memory once instead of 32 times one after the other."""
    same = "int same; __match_all_sync(0xffffffffu, row, &same);"
    together = f"if (__activemask() == 0xffffffffu) {{ {same} if (same) {{ {_shuffle_reduce(operator, dtype)} if (threadIdx.x & 31) return; }} }}"
    snippet = f"\n#if defined(__CUDA_ARCH__)\n{together}\n#endif\nwp::atomic_{operator}(column.data + row, value);\n"
    code = f"wp.{dtype.__name__}"
    name = atomic_extreme_name(operator, dtype)
    return f'@wp.func_native(snippet="""{snippet}""")\ndef {name}(column: wp.array(dtype={code}), row: wp.int32, value: {code}): ...\n'


def _shuffle_reduce(operator: str, dtype: Any) -> str:
    """Native code after which every thread of a warp holds what all of them have in ``value`` together."""
    gathered = _COMBINE[operator]
    if operator == "add" and dtype in UNSIGNED:  # signed overflow is undefined, unsigned wraps
        wide = f"wp::{UNSIGNED[dtype].__name__}"
        gathered = f"value = wp::{dtype.__name__}({wide}(value) + {wide}(other));"
    return f"for (int apart = 16; apart > 0; apart /= 2) {{ auto other = __shfl_xor_sync(0xffffffffu, value, apart); {gathered} }}"
