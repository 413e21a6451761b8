"""What the kernels of pair systems, of systems with several threads per entity and of extremes over other rows call."""

from __future__ import annotations

from typing import Any

import warp as wp

from worldloom.core.wrapping import UNSIGNED


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


MET = (wp.int32, wp.uint32, wp.int64)
"""Numbers of which the threads of a warp find the extreme together, before one of them goes to memory with it."""


def across_name(operator: str, dtype: Any) -> str:
    """The function that gathers numbers of a type over the 32 threads of a warp."""
    return f"across_{operator}_{dtype.__name__}"


def across_text(operator: str, dtype: Any) -> str:
    """Its definition: every thread gets the sum, the least or the greatest of what all of them hold."""
    snippet = f"{_gather(operator, dtype)} return __shfl_sync(0xffffffffu, value, 0);"
    code = f"wp.{dtype.__name__}"
    return f'@wp.func_native(snippet="{snippet}")\ndef {across_name(operator, dtype)}(value: {code}) -> {code}: ...\n'


def meet_name(operator: str, dtype: Any) -> str:
    """The function that puts the ``min`` or ``max`` of a row's number and another into the row, whoever else does so at the same time."""
    return f"meet_{operator}_{dtype.__name__}"


def meet_text(operator: str, dtype: Any) -> str:
    """Its definition. On CUDA a whole warp with one row in mind, as most have in large worlds, asks memory once instead of 32 times one after the other."""
    same = "int same; __match_all_sync(0xffffffffu, row, &same);"
    together = f"if (__activemask() == 0xffffffffu) {{ {same} if (same) {{ {_gather(operator, dtype)} if (threadIdx.x & 31) return; }} }}"
    snippet = f"\n#if defined(__CUDA_ARCH__)\n{together}\n#endif\nwp::atomic_{operator}(column.data + row, value);\n"
    code = f"wp.{dtype.__name__}"
    name = meet_name(operator, dtype)
    return f'@wp.func_native(snippet="""{snippet}""")\ndef {name}(column: wp.array(dtype={code}), row: wp.int32, value: {code}): ...\n'


def _gather(operator: str, dtype: Any) -> str:
    """Native code after which every thread of a warp holds what all of them have in ``value`` together."""
    gathered = _GATHERED[operator]
    if operator == "add" and dtype in UNSIGNED:  # signed overflow is undefined, unsigned wraps
        wide = f"wp::{UNSIGNED[dtype].__name__}"
        gathered = f"value = wp::{dtype.__name__}({wide}(value) + {wide}(other));"
    return f"for (int apart = 16; apart > 0; apart /= 2) {{ auto other = __shfl_xor_sync(0xffffffffu, value, apart); {gathered} }}"
