"""Coalesced stores of long rows on a GPU.

A thread that writes the elements of its row in a loop stores 4 bytes at a time, and the addresses of the threads of a
warp are a row apart, so that a store occupies 32 sectors of 32 bytes. Where a kernel overwrites an array, its threads
collect their rows in shared memory. Every warp then stores its rows together, with adjacent addresses.

The systems are unchanged. They get an array whose data pointer is that of the thread's own slot in shared memory, less
the offset of its row, so that the address of an element of the own row lies in the slot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import warp as wp

from worldloom.core.codegen.fusion import KernelGroup
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.frontend.targets.accessors import alignment, array_code, row_size
from worldloom.core.frontend.targets.kernel_function import KernelFunction
from worldloom.core.frontend.targets.kernel_names import collected_rows, column_argument
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.dtypes import scalar_of
from worldloom.core.model.fields import Field
from worldloom.core.model.launch import Mask
from worldloom.core.schedule.entries import Schedule
from worldloom.core.schedule.table_views import FINAL

MIN_ROW_BYTES = 65
"""Rows up to 64 bytes are stored by their threads: two sectors, which a thread fills at once."""
SHARED_BYTES = 48 * 1024
"""Shared memory of a block without an opt-in."""
RESERVED_BYTES = 4
"""Shared memory per thread that Warp declares in every kernel."""
BLOCKS = (128, 64, WARP_SIZE)
"""Threads per block, the preferred number first. Fewer threads have more shared memory each."""
MAX_BANK_CONFLICTS = 4
"""More would cost more than rows that are stored one by one."""
_WORD = 4
_WIDE_BYTES = 16
"""The widest piece of memory that a thread stores at once."""
_PIECES = {_WORD: "unsigned int", 2: "unsigned short", 1: "unsigned char"}
"""Types of 4, 2 and 1 bytes in which rows are copied."""


@dataclass(frozen=True)
class Coalescing:
    """The columns of a kernel whose rows its threads collect and store together.

    Attributes:
        block: Threads per block; 0 where there are no such columns.
        columns: The columns that are collected from their first system on. They are stored at the end of the kernel.
        finals: The last observations of finished episodes, with the collected column that each is a copy of. They are
            stored from its slots.
    """

    block: int = 0
    columns: tuple[ColumnKey, ...] = ()
    finals: dict[ColumnKey, ColumnKey] = field(default_factory=dict)

    def added_to(self, spec: KernelSpec) -> KernelSpec:
        """The description of a kernel with these columns."""
        return replace(spec, coalesced=(*self.columns, *self.finals), block=self.block) if self.columns else spec


@dataclass(frozen=True)
class _Use:
    """A system that accesses a column: its kernel and its mask."""

    group: KernelGroup
    mask: Mask | None
    function: KernelFunction


def choose_columns(groups: Sequence[KernelGroup], width: int, schedule: Schedule) -> Coalescing:
    """The columns to collect in a kernel that runs ``groups`` in order, with ``width`` threads per world."""
    uses = _uses(groups)
    chosen: list[ColumnKey] = []
    for column in uses:
        arrays = [schedule.field_of(c) for c in (*chosen, column)]
        if _is_overwritten(column, uses[column], schedule) and _block(arrays, width):
            chosen.append(column)
    finals = {(c[0], FINAL + c[1]): c for c in chosen}
    return Coalescing(
        _block([schedule.field_of(c) for c in chosen], width) if chosen else 0,
        tuple(chosen),
        {final: c for final, c in finals.items() if final in uses and _is_kept(final, uses[final], schedule)},
    )


def _uses(groups: Sequence[KernelGroup]) -> dict[ColumnKey, list[_Use]]:
    """The systems that access each long array, in order."""
    uses: dict[ColumnKey, list[_Use]] = {}
    for group in groups:
        for node, function in zip(group.nodes, group.functions, strict=True):
            for column, array in function.target.columns.items():
                if array.is_array and bytes_of_row(array) >= MIN_ROW_BYTES:
                    uses.setdefault(column, []).append(_Use(group, node.mask, function))
    return uses


def _is_overwritten(column: ColumnKey, uses: list[_Use], schedule: Schedule) -> bool:
    """Whether the first system that accesses a column overwrites it in all rows."""
    first = uses[0]
    return first.mask is None and column in first.function.overwritten and _has_own_rows(column, uses, schedule)


def _is_kept(final: ColumnKey, uses: list[_Use], schedule: Schedule) -> bool:
    """Whether only the engine's system that keeps the last observation accesses a column, and leaves its mask."""
    mask = uses[0].mask
    if len(uses) > 1 or mask is None or not uses[0].function.system.engine:
        return False
    masked = [f for n, f in zip(uses[0].group.nodes, uses[0].group.functions, strict=True) if n.mask == mask]
    unchanged = not any((WORLD, mask[0]) in f.target.outputs for f in masked)
    return unchanged and _has_own_rows(final, uses, schedule)


def _has_own_rows(column: ColumnKey, uses: list[_Use], schedule: Schedule) -> bool:
    """Whether each row of a column belongs to one thread, which is the same in all systems."""
    for use in uses:
        group, target = use.group, use.function.target
        alone = group.threads == 1 and group.population is None and group.pair is None
        in_order = group.rows > 1 and group.functions[0].target.in_order
        if not alone or in_order or group.rows != schedule.counts[column[0]]:
            return False
        if column in target.remote_read or column in target.remote_write:
            return False
    return True


# -- shared memory ---------------------------------------------------------------------------------------------------


def bytes_of_row(array: Field) -> int:
    """The bytes of one row of an array component."""
    return row_size(array) * int(wp.types.type_size_in_bytes(array.dtype))


def _slot_bytes(array: Field) -> int:
    """Bytes of a thread's slot in shared memory.

    Slots without gaps are stored as one piece of memory. Where many of them would begin in the same bank, a slot is an
    odd number of words instead.
    """
    row_bytes = bytes_of_row(array)
    if _bank_conflicts(row_bytes) <= MAX_BANK_CONFLICTS:
        return row_bytes
    word = max(_WORD, alignment(array.dtype), int(wp.types.type_size_in_bytes(scalar_of(array.dtype))))
    words = -(-row_bytes // word)
    return (words | 1) * word


def _bank_conflicts(slot: int) -> int:
    """How many words of the same bank a warp accesses at one position in slots of so many bytes."""
    words = {lane * slot // _WORD for lane in range(WARP_SIZE)}
    return max(Counter(word % WARP_SIZE for word in words).values())


def _block(arrays: Iterable[Field], width: int) -> int:
    """Threads per block whose slots for ``arrays`` fit into shared memory; 0 where there is no such number."""
    per_thread = sum(map(_slot_bytes, arrays)) + RESERVED_BYTES
    blocks = BLOCKS if width <= WARP_SIZE else (width,)
    return next((block for block in blocks if block * per_thread <= SHARED_BYTES), 0)


# -- text ------------------------------------------------------------------------------------------------------------


def _name(verb: str, column: ColumnKey, block: int) -> str:
    return f"wl_{verb}_{block}_{column[0]}__{column[1]}"


def collect_line(column: ColumnKey, block: int, row: str) -> str:
    """The statement that gives a thread its slot for a column."""
    return f"{collected_rows(column)} = {_name('collect', column, block)}({column_argument(column)}, {row})"


def store_line(column: ColumnKey, block: int, rows: str, row: str, written: str, target: ColumnKey) -> str:
    """The statement with which the threads of a warp store the rows of those of them for which ``written`` holds.

    ``rows`` is the variable with the slots of ``column``, and ``target`` the column that gets them.
    """
    return f"{_name('store', column, block)}({column_argument(target)}, {rows}, {row}, {written})"


def definitions(column: ColumnKey, array: Field, block: int, types: dict[str, object]) -> str:
    """The native functions that :func:`collect_line` and :func:`store_line` call."""
    kind, slot = array_code(array, types), _slot_bytes(array)
    threads = f"(WP_TILE_BLOCK_DIM < {block} ? WP_TILE_BLOCK_DIM : {block})"
    collect = (
        f"__shared__ __align__(16) unsigned char slots[{threads} * {slot}]; auto rows = column;"
        f" rows.data = reinterpret_cast<decltype(column.data)>(slots + threadIdx.x * {slot})"
        f" - (size_t)row * {row_size(array)}; return rows;"
    )
    return (
        f'@wp.func_native(snippet="{collect}")\n'
        f"def {_name('collect', column, block)}(column: {kind}, row: wp.int32) -> {kind}: ...\n\n"
        f'@wp.func_native(snippet="{_store_snippet(array, slot)}")\n'
        f"def {_name('store', column, block)}(column: {kind}, rows: {kind}, row: wp.int32, written: wp.bool): ...\n"
    )


def _store_snippet(array: Field, slot: int) -> str:
    """Store the written rows of a warp: as one piece of memory where they are adjacent, else one after the other.

    The threads that take part are those that have arrived, so that the result does not depend on which have. Usually
    it is the whole warp, for which the loop over a row has a constant step.
    """
    size = row_size(array)
    adjacent = _store_adjacent(array, slot) if slot == bytes_of_row(array) else ""
    return (
        "const unsigned int all = __activemask(); unsigned int left = __ballot_sync(all, written);"
        f" const int lane = threadIdx.x % {WARP_SIZE}, count = __popc(all), rank = __popc(all & ((1u << lane) - 1u));"
        f" auto own = reinterpret_cast<const unsigned char*>(rows.data + (size_t)row * {size});"
        " __syncwarp(all);"
        f"{adjacent}"
        " for (; left; left &= left - 1u) {"
        " const int owner = __ffs(left) - 1;"
        f" auto to = reinterpret_cast<unsigned char*>(column.data + (size_t)__shfl_sync(all, row, owner) * {size});"
        f" auto from = own + (owner - lane) * {slot};"
        f" if (count == {WARP_SIZE}) {{ {copy_row(array, 'lane', str(WARP_SIZE))} }}"
        f" else {{ {copy_row(array, 'rank', 'count')} }}"
        " }"
        " __syncwarp(all);"
    )


def _store_adjacent(array: Field, slot: int) -> str:
    """Store all rows of a warp in pieces of 16 bytes, if each thread has the row after that of the thread before."""
    pieces = WARP_SIZE * slot // _WIDE_BYTES
    return (
        f" if (left == {2**WARP_SIZE - 1}u) {{"
        f" const int first = __shfl_sync(all, row, 0);"
        f" auto to = reinterpret_cast<uint4*>(column.data + (size_t)first * {row_size(array)});"
        f" if (__all_sync(all, row == first + lane) && reinterpret_cast<size_t>(to) % {_WIDE_BYTES} == 0) {{"
        f" auto from = reinterpret_cast<const uint4*>(own - lane * {slot});"
        f" for (int i = lane; i < {pieces}; i += {WARP_SIZE}) to[i] = from[i];"
        " left = 0u; } }"
    )


def copy_row(array: Field, start: str, step: str) -> str:
    """Copy a row from the pointer ``from`` to ``to``, in the widest pieces that it consists of, of at most a word each.

    Memory of the user may begin at any number of a column. If that is not the start of a word, numbers are copied.
    """
    row_bytes, element = bytes_of_row(array), int(wp.types.type_size_in_bytes(scalar_of(array.dtype)))
    widest = next(width for width in _PIECES if row_bytes % width == 0)

    def loop(width: int) -> str:
        kind, pieces = _PIECES[width], row_bytes // width
        move = f"reinterpret_cast<{kind}*>(to)[i] = reinterpret_cast<const {kind}*>(from)[i];"
        if step.isdigit():  # as many rounds for all threads, so that the compiler can unroll them
            return (
                f"for (int k = 0; k < {pieces}; k += {step}) {{ const int i = k + {start}; if (i < {pieces}) {move} }}"
            )
        return f"for (int i = {start}; i < {pieces}; i += {step}) {move}"

    if element >= widest:
        return loop(widest)
    return f"if (reinterpret_cast<size_t>(column.data) % {widest} == 0) {{ {loop(widest)} }} else {{ {loop(element)} }}"
