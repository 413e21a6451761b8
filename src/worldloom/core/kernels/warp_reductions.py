"""Functions of kernels for pairs of entities, for several threads per entity, and for atomic minima and maxima."""

from __future__ import annotations

from typing import Any

import warp as wp

from worldloom.core.kernels.wrapping import UNSIGNED


@wp.func
def later_of_pair(number: wp.int32):
    """The later entity ``j`` of the pair ``number = j * (j - 1) / 2 + i``, ``i < j``, of at most 46,341 entities."""
    later = wp.int32((1.0 + wp.sqrt(8.0 * wp.float32(number) + 1.0)) * 0.5)
    if later * (later - 1) / 2 > number:  # the square root is off by less than one
        later -= 1
    if (later + 1) * later / 2 <= number:
        later += 1
    return later


@wp.func_native(snippet="__syncthreads();")
def sync_block(): ...


@wp.func_native(snippet="return threadIdx.x;")
def thread_in_block() -> wp.int32: ...


@wp.func_native(snippet="return blockDim.x;")
def threads_per_block() -> wp.int32: ...


_COMBINE = {
    "add": "value += other;",
    "min": "value = (value != value || other < value) ? other : value;",  # NaN is replaced by any other number
    "max": "value = (value != value || value < other) ? other : value;",
    "or": "value |= other;",
    "and": "value &= other;",
    "xor": "value ^= other;",
}

REDUCED_BY_ONE_INSTRUCTION = (wp.int32, wp.uint32)
"""Types that GPUs of compute capability 8.0 and later reduce over a warp with one instruction."""


ATOMIC_EXTREME_TYPES = (wp.int32, wp.uint32, wp.int64)
"""Types whose minima and maxima a warp reduces before one atomic operation in memory."""


def warp_reduce_name(operator: str, dtype: Any) -> str:
    """The name of the function that reduces numbers of a type over the 32 threads of a warp."""
    return f"across_{operator}_{dtype.__name__}"


def warp_reduce_text(operator: str, dtype: Any) -> str:
    """The definition of that function: every thread gets the sum, the extreme or the combined bits of all threads."""
    snippet = f"{_shuffle_reduce(operator, dtype)}\nreturn __shfl_sync(0xffffffffu, value, 0);"
    if dtype in REDUCED_BY_ONE_INSTRUCTION:
        at_once = f"return {_at_once(operator, dtype)};"
        snippet = f"\n#if __CUDA_ARCH__ >= 800\n{at_once}\n#else\n{snippet}\n#endif\n"
    code, name = f"wp.{dtype.__name__}", warp_reduce_name(operator, dtype)
    return f'@wp.func_native(snippet="""{snippet}""")\ndef {name}(value: {code}) -> {code}: ...\n'


def _at_once(operator: str, dtype: Any) -> str:
    """The reduction of ``value`` by one instruction, which takes bits as unsigned numbers."""
    if operator in ("min", "max"):
        return f"__reduce_{operator}_sync(0xffffffffu, value)"
    return f"wp::{dtype.__name__}(__reduce_{operator}_sync(0xffffffffu, wp::uint32(value)))"


def atomic_extreme_name(operator: str, dtype: Any) -> str:
    """The name of the function for an atomic ``min`` or ``max`` into a row."""
    return f"meet_{operator}_{dtype.__name__}"


def atomic_extreme_text(operator: str, dtype: Any) -> str:
    """The definition of that function.

    On CUDA a warp whose threads all use one row, as is common in large worlds, issues one atomic operation instead of
    32.
    """
    same = "int same; __match_all_sync(0xffffffffu, row, &same);"
    reduce = f"{_shuffle_reduce(operator, dtype)} if (threadIdx.x & 31) return;"
    together = f"if (__activemask() == 0xffffffffu) {{ {same} if (same) {{ {reduce} }} }}"
    snippet = f"\n#if defined(__CUDA_ARCH__)\n{together}\n#endif\nwp::atomic_{operator}(column.data + row, value);\n"
    code = f"wp.{dtype.__name__}"
    name = atomic_extreme_name(operator, dtype)
    parameters = f"column: wp.array(dtype={code}), row: wp.int32, value: {code}"
    return f'@wp.func_native(snippet="""{snippet}""")\ndef {name}({parameters}): ...\n'


def _shuffle_reduce(operator: str, dtype: Any) -> str:
    """Native code of a butterfly reduction of ``value`` over the threads of a warp."""
    step = _COMBINE[operator]
    if operator == "add" and dtype in UNSIGNED:  # signed overflow is undefined, unsigned wraps
        wide = f"wp::{UNSIGNED[dtype].__name__}"
        step = f"value = wp::{dtype.__name__}({wide}(value) + {wide}(other));"
    body = f"auto other = __shfl_xor_sync(0xffffffffu, value, apart); {step}"
    return f"for (int apart = 16; apart > 0; apart /= 2) {{ {body} }}"
