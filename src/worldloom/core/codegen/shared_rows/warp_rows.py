"""Rows of arrays in shared memory, for systems with a warp per entity.

A system that builds something in an array of its entity reads what its threads have just written. Where entries have
several numbers, the threads of a warp also write to as many sectors of memory as there are entries, for every number
again. The warp therefore keeps such rows in shared memory: it loads them before the system and stores them after it,
both with adjacent addresses. An array that the system overwrites is not loaded, and stays in shared memory also where
the system only stores to it: otherwise loading it first costs more than its scattered stores. A transient array that no
other system uses is neither loaded nor stored.

As with :mod:`~worldloom.core.codegen.shared_rows.coalescing`, the data pointer of the array that a system gets leads to
shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from worldloom.core.codegen.fusion import FusedEntry, KernelGroup
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.shared_rows.coalescing import bytes_of_row, copy_row
from worldloom.core.frontend.targets.accessors import array_code, only_stores, row_size
from worldloom.core.frontend.targets.kernel_function import CLEARING
from worldloom.core.frontend.targets.kernel_names import barrier, collected_rows, column_argument
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.fields import Field
from worldloom.core.model.launch import LaunchNode, Mask
from worldloom.core.schedule.entries import HostNode, Schedule

BLOCK = 128
"""Threads per block of a kernel that keeps rows in shared memory."""
MAX_BYTES = 3 * 1024
"""Bytes of the rows of one entity, at most: 64 warps of a multiprocessor then have room for theirs."""
_PIECE = 16
"""Bytes that a thread moves by one instruction, to which a row in shared memory is aligned."""
_MIN_STRIDE = 5
"""Bytes from one entry of an array to the next, at least: stores of adjacent numbers have adjacent addresses anyway."""


@dataclass(frozen=True)
class WarpRow:
    """An array of which a warp keeps the row of its entity in shared memory.

    Attributes:
        column: The array.
        array: Its field.
        loaded: Whether its values are loaded before the system.
        stored: Whether they are stored after it.
    """

    column: ColumnKey
    array: Field
    loaded: bool
    stored: bool

    @property
    def start_line(self) -> str:
        """The statement that makes the row in shared memory."""
        return f"{collected_rows(self.column)} = {self._start}({column_argument(self.column)}, row, lane)"

    @property
    def end_line(self) -> str:
        """The statement that stores it."""
        return f"{self._end}({column_argument(self.column)}, {collected_rows(self.column)}, row, lane)"

    @property
    def _start(self) -> str:
        """The name of the function that makes the row."""
        return f"wl_{'begin' if self.loaded else 'make'}_row_{'__'.join(self.column)}"

    @property
    def _end(self) -> str:
        """The name of the function that stores it."""
        return f"wl_end_row_{'__'.join(self.column)}"

    def definitions(self, types: dict[str, object]) -> list[str]:
        """The native functions that :attr:`start_line` and :attr:`end_line` call."""
        kind, size = array_code(self.array, types), row_size(self.array)
        copy = copy_row(self.array, "lane", str(WARP_SIZE))
        bytes_of_warp = -(-bytes_of_row(self.array) // _PIECE) * _PIECE
        start = (
            f"__shared__ __align__({_PIECE}) unsigned char slots[{BLOCK // WARP_SIZE * bytes_of_warp}];"
            f" unsigned char* to = slots + threadIdx.x / {WARP_SIZE} * {bytes_of_warp}; auto rows = column;"
            f" rows.data = reinterpret_cast<decltype(column.data)>(to) - (size_t)row * {size};"
        )
        load = f" auto from = reinterpret_cast<const unsigned char*>(column.data + (size_t)row * {size}); {copy}"
        store = (
            f"auto from = reinterpret_cast<const unsigned char*>(rows.data + (size_t)row * {size});"
            f" auto to = reinterpret_cast<unsigned char*>(column.data + (size_t)row * {size}); {copy}"
        )
        own = "row: wp.int32, lane: wp.int32"
        texts = [
            f'@wp.func_native(snippet="{start}{load if self.loaded else ""} return rows;")\n'
            f"def {self._start}(column: {kind}, {own}) -> {kind}: ...\n"
        ]
        if self.stored:
            texts.append(
                f'@wp.func_native(snippet="{store}")\ndef {self._end}(column: {kind}, rows: {kind}, {own}): ...\n'
            )
        return texts


def choose_rows(group: KernelGroup, schedule: Schedule, parts: Iterable[FusedEntry]) -> list[WarpRow]:
    """The arrays whose rows the kernel of a group keeps in shared memory; ``parts`` are all parts of the program."""
    if group.threads != WARP_SIZE or group.pooled or group.nodes[0].table == WORLD:
        return []
    (function,) = group.functions
    target, chosen, left = function.target, list[WarpRow](), MAX_BYTES
    if target.row_copies:  # they move whole rows through registers
        return []
    private = {c for c, array in target.columns.items() if array.transient} - _used_elsewhere(group, parts)
    for column in sorted(target.columns, key=lambda column: column not in private):  # these save most
        array = target.columns[column]
        own = column in target.local_write and column[0] != WORLD and schedule.counts[column[0]] == group.rows
        size = bytes_of_row(array) if own and array.is_array else 0
        if not own or column in target.remote_read | target.remote_write or not 0 < size <= left:
            continue
        unused, loaded = column in private, column not in private | function.overwritten
        if size // array.shape[0] >= _MIN_STRIDE and not (loaded and only_stores(function.body, column, array)):
            chosen.append(WarpRow(column, array, loaded, not unused))
            left -= size
    return chosen


def start_lines(rows: list[WarpRow]) -> list[str]:
    """The lines before the system."""
    lines = [row.start_line for row in rows]
    return [*lines, f"{barrier(WARP_SIZE)}()"] if any(row.loaded for row in rows) else lines


def end_lines(rows: list[WarpRow]) -> list[str]:
    """The lines after the system. A warp may continue with another entity in the same shared memory."""
    if not rows:
        return []
    return [f"{barrier(WARP_SIZE)}()", *(row.end_line for row in rows if row.stored), f"{barrier(WARP_SIZE)}()"]


def with_warp_rows(spec: KernelSpec, rows: list[WarpRow]) -> KernelSpec:
    """The description of a kernel with these rows."""
    if not rows:
        return spec
    unstored = [row for row in rows if not row.stored and row.column in spec.stores]
    size = sum(bytes_of_row(row.array) for row in unstored)
    return replace(
        spec,
        shared_columns=tuple(row.column for row in rows),
        stores=tuple(column for column in spec.stores if column not in {row.column for row in unstored}),
        bytes_written=spec.bytes_written - size * (spec.rows // spec.threads),
        block=BLOCK,
    )


def _used_elsewhere(group: KernelGroup, parts: Iterable[FusedEntry]) -> set[ColumnKey]:
    """The columns that others than the system of a group use, or that system where a phase runs it several times."""
    (function,), used = group.functions, set[ColumnKey]()
    runs: dict[Mask | None, set[int]] = {}
    for part in parts:
        if isinstance(part, HostNode):  # a callable may read anything
            return set(function.target.columns)
        if isinstance(part, LaunchNode):
            used |= set() if part.engine and part.label.startswith(CLEARING) else set(part.columns)
        elif isinstance(part, KernelGroup):
            for node, other in zip(part.nodes, part.functions, strict=True):
                if other is function:
                    runs.setdefault(node.mask, set()).add(node.ordinal)
                elif not other.only_clears:
                    used |= {*other.target.columns, *other.target.inputs, *other.target.outputs}
    return set(function.target.columns) if any(len(numbers) > 1 for numbers in runs.values()) else used
