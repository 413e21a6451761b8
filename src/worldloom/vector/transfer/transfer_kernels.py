# mypy: ignore-errors
"""Kernels that convert actions, and that copy several columns into new memory with one launch."""

from __future__ import annotations

import warp as wp

MAX_TARGETS = 16
"""Number of allocations that one launch of :func:`copy_columns` can write to."""
COPY_BYTES = 16
"""Bytes of a column that one thread copies."""

TargetAddresses = wp.types.vector(length=MAX_TARGETS, dtype=wp.uint64)
"""Where the allocations of a launch begin."""


@wp.kernel(enable_backward=False)
def copy_int32(source: wp.array(dtype=wp.int32), target: wp.array(dtype=wp.int32)):
    i = wp.tid()
    target[i] = source[i]


@wp.kernel(enable_backward=False)
def clamp_int64(source: wp.array(dtype=wp.int64), target: wp.array(dtype=wp.int32)):
    """Convert integers; those that int32 cannot represent become its smallest or largest value."""
    i = wp.tid()
    target[i] = wp.int32(wp.clamp(source[i], wp.int64(-2147483648), wp.int64(2147483647)))


@wp.kernel(enable_backward=False)
def copy_float32(source: wp.array(dtype=wp.float32), target: wp.array(dtype=wp.float32)):
    i = wp.tid()
    target[i] = source[i]


@wp.kernel(enable_backward=False)
def round_float64(source: wp.array(dtype=wp.float64), target: wp.array(dtype=wp.float32)):
    i = wp.tid()
    target[i] = wp.float32(source[i])


ACTION_KERNELS = {
    ("int32", "int32"): copy_int32,
    ("int64", "int32"): clamp_int64,
    ("float32", "float32"): copy_float32,
    ("float64", "float32"): round_float64,
}
"""Kernels that write actions into their column, by the names of the types of the actions and of the column."""


@wp.struct
class CopiedColumn:
    """One column of a launch of :func:`copy_columns`.

    Attributes:
        source: The address of the column.
        size: Its bytes.
        first_thread: The first of the threads that copy it.
        target: Index of the allocation that takes the copy.
        offset: Bytes between the beginning of the allocation and its first copy.
        stride: Bytes between two copies in the allocation.
        widen: Whether its int32 numbers become int64.
    """

    source: wp.uint64
    size: wp.int64
    offset: wp.int64
    stride: wp.int64
    first_thread: wp.int32
    target: wp.int32
    widen: wp.bool


_COPY_PIECE = """
#if defined(__CUDA_ARCH__)
    typedef uint4 Piece;
#else
    struct alignas(16) Piece { unsigned long long low, high; };
#endif
    unsigned long long target = 0;
    #pragma unroll
    for (int i = 0; i < (int)(sizeof(targets) / sizeof(target)); ++i)  // constant indices, so that they stay parameters
        if (i == column.target) target = targets.c[i];
    target += column.offset + index * column.stride;
    const unsigned long long source = column.source;
    const long long end = begin + 16 < column.size ? begin + 16 : column.size;
    if (column.widen) {
        for (long long i = begin / 4; i < end / 4; ++i)
            reinterpret_cast<long long*>(target)[i] = reinterpret_cast<const int*>(source)[i];
    } else if (end - begin == 16 && (source + begin) % 16 == 0 && (target + begin) % 16 == 0) {
        *reinterpret_cast<Piece*>(target + begin) = *reinterpret_cast<const Piece*>(source + begin);
    } else {
        for (long long i = begin; i < end; ++i)
            reinterpret_cast<unsigned char*>(target)[i] = reinterpret_cast<const unsigned char*>(source)[i];
    }
"""


@wp.func_native(_COPY_PIECE)
def _copy_piece(column: CopiedColumn, targets: TargetAddresses, index: wp.int64, begin: wp.int64): ...


@wp.kernel(enable_backward=False)
def copy_columns(columns: wp.array(dtype=CopiedColumn), targets: TargetAddresses, index: wp.int64):
    """Copy columns into the allocations at ``targets``, as their copies of number ``index``.

    Each thread copies ``COPY_BYTES`` bytes of one column.
    """
    thread = wp.tid()
    found = int(0)
    for k in range(1, columns.shape[0]):
        if thread >= columns[k].first_thread:
            found = k
    column = columns[found]
    begin = wp.int64(thread - column.first_thread) * wp.int64(COPY_BYTES)
    _copy_piece(column, targets, index, begin)
