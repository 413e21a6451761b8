# mypy: ignore-errors
"""Kernels that convert actions, and that copy several columns into new memory with one launch.

Those for a graph read addresses that change from step to step from a :class:`~.mailbox.Mailbox`, the others from their
parameters.
"""

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
    const unsigned long long target = allocation + column.offset + number * column.stride;
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
def _copy_piece(column: CopiedColumn, allocation: wp.uint64, number: wp.uint64, begin: wp.int64): ...


@wp.func
def _find_column(columns: wp.array(dtype=CopiedColumn), thread: int) -> int:
    """The column of which a thread copies ``COPY_BYTES`` bytes."""
    found = int(0)
    for k in range(1, columns.shape[0]):
        if thread >= columns[k].first_thread:
            found = k
    return found


@wp.func
def _first_byte(column: CopiedColumn, thread: int) -> wp.int64:
    return wp.int64(thread - column.first_thread) * wp.int64(COPY_BYTES)


@wp.kernel(enable_backward=False)
def copy_columns(columns: wp.array(dtype=CopiedColumn), targets: TargetAddresses, number: wp.uint64):
    """Copy columns into the allocations at ``targets``, as their copies of this number."""
    thread = wp.tid()
    column = columns[_find_column(columns, thread)]
    allocation = wp.uint64(0)
    for k in range(MAX_TARGETS):  # constant indices, so that the addresses stay parameters
        if k == column.target:
            allocation = targets[k]
    _copy_piece(column, allocation, number, _first_byte(column, thread))


# -- kernels of a graph ----------------------------------------------------------------------------------------------

MAIL_ENTRIES = 32
"""Numbers that one step takes from a mailbox."""

_TAKE_MAIL = """
    const int slot = cursor.data[0];
    const unsigned long long address = ring + ((unsigned long long)slot * 32 + i) * sizeof(unsigned long long);
#if defined(__CUDA_ARCH__)
    __syncwarp();  // all threads have read the cursor
#endif
    mail.data[i] = *reinterpret_cast<const volatile unsigned long long*>(address);
    if (i == 31) cursor.data[0] = (slot + 1) % num_slots;  // the last thread on the CPU, too
"""


@wp.func_native(_TAKE_MAIL)
def _take_mail(
    ring: wp.uint64, num_slots: int, cursor: wp.array(dtype=wp.int32), mail: wp.array(dtype=wp.uint64), i: int
): ...


@wp.kernel(enable_backward=False)
def take_mail(ring: wp.uint64, num_slots: int, cursor: wp.array(dtype=wp.int32), mail: wp.array(dtype=wp.uint64)):
    """One warp reads the next slot of a ring of slots in the memory of the host: a thread for each of its numbers.

    A single thread would wait for one number after the other, about a microsecond each.
    """
    _take_mail(ring, num_slots, cursor, mail, wp.tid())


_RECEIVE_INTEGER = """
    const unsigned long long source = mail.data[entry];
    const long long wide = mail.data[entry + 1] == 8 ? reinterpret_cast<const long long*>(source)[i]
        : reinterpret_cast<const int*>(source)[i];
    target.data[i] = (int)(wide < -2147483648LL ? -2147483648LL : wide > 2147483647LL ? 2147483647LL : wide);
"""
_RECEIVE_FLOAT = """
    const unsigned long long source = mail.data[entry];
    target.data[i] = mail.data[entry + 1] == 8 ? (float)reinterpret_cast<const double*>(source)[i]
        : reinterpret_cast<const float*>(source)[i];
"""


@wp.func_native(_RECEIVE_INTEGER)
def _receive_integer(mail: wp.array(dtype=wp.uint64), entry: int, target: wp.array(dtype=wp.int32), i: int): ...


@wp.func_native(_RECEIVE_FLOAT)
def _receive_float(mail: wp.array(dtype=wp.uint64), entry: int, target: wp.array(dtype=wp.float32), i: int): ...


@wp.kernel(enable_backward=False)
def receive_int32(mail: wp.array(dtype=wp.uint64), entry: int, target: wp.array(dtype=wp.int32)):
    """Convert actions of type int32 or int64; the mail holds their address and the bytes of one number."""
    _receive_integer(mail, entry, target, wp.tid())


@wp.kernel(enable_backward=False)
def receive_float32(mail: wp.array(dtype=wp.uint64), entry: int, target: wp.array(dtype=wp.float32)):
    """Convert actions of type float32 or float64, as :func:`receive_int32`."""
    _receive_float(mail, entry, target, wp.tid())


@wp.kernel(enable_backward=False)
def copy_columns_by_mail(columns: wp.array(dtype=CopiedColumn), mail: wp.array(dtype=wp.uint64), entry: int):
    """As :func:`copy_columns`; the mail holds the number of the copies, followed by the addresses."""
    thread = wp.tid()
    column = columns[_find_column(columns, thread)]
    _copy_piece(column, mail[entry + 1 + column.target], mail[entry], _first_byte(column, thread))


RECEIVING_KERNELS = {"int32": receive_int32, "float32": receive_float32}
"""Kernels that take actions from a mailbox, by the type of the column."""
