"""Columns that a tiled kernel keeps in shared memory.

Transient components that only the systems of a kernel use need not be in global memory, where loads take ten times as
long. The rows of its lists get slots in the shared memory of the block, as long as there is room; other rows stay in
global memory. A map from the rows of a tile to their slots is in shared memory too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import warp as wp

from worldloom.core.codegen.fusion import FusedEntry, KernelGroup, TiledStages
from worldloom.core.frontend.targets.accessors import alignment, array_code, shared_name, type_code, with_shared_column
from worldloom.core.frontend.targets.kernel_function import KernelFunction
from worldloom.core.frontend.targets.kernel_names import column_argument
from worldloom.core.model.columns import ColumnKey
from worldloom.core.model.fields import Field
from worldloom.core.model.launch import LaunchNode
from worldloom.core.model.row_list import ROWS, SIZES, RowList
from worldloom.core.schedule.entries import HostNode

PIECE = 16
"""Bytes that a thread moves by one instruction."""
MIN_SYSTEMS = 3
"""Systems of a kernel that use a column, at least, for it to be worth its slots."""

ListedRows = tuple[RowList, int]
"""Lists of rows, and the numbers of those that a kernel uses, as bits."""

_MEMORY = "extern __shared__ __align__(16) char shared_memory[];"
_ABSENT = 0xFFFF
"""The entry of the map for rows in global memory."""


@dataclass(frozen=True)
class SharedTable:
    """The columns of a table in shared memory.

    Attributes:
        worlds: Worlds of a tile.
        rows: The lists whose rows have slots.
        lists: The numbers of those lists that the kernel uses, as bits.
        columns: The columns, with their offsets within a slot in bytes.
        stride: Bytes of a slot.
        map_start: Where its map begins in shared memory, in bytes.
    """

    worlds: int
    rows: RowList
    lists: int
    columns: dict[ColumnKey, tuple[Field, int]]
    stride: int
    map_start: int

    @property
    def tile_rows(self) -> int:
        """Rows of a tile."""
        return self.worlds * self.rows.capacity

    @property
    def map_end(self) -> int:
        """Where its map ends, in bytes: a multiple of PIECE."""
        return self.map_start + -(-2 * self.tile_rows // PIECE) * PIECE


def choose_columns(
    tiled: TiledStages, parts: Iterable[FusedEntry], fields: Mapping[ColumnKey, Field]
) -> list[ColumnKey]:
    """The columns of ``fields`` that the kernel of some stages can keep; ``parts`` are all parts of the program."""
    inside = {id(group) for group in tiled.groups}
    excluded: set[ColumnKey] = set()
    for part in parts:
        if isinstance(part, HostNode):  # a callable may read anything
            return []
        if isinstance(part, LaunchNode):
            excluded |= set(part.columns)
        elif isinstance(part, KernelGroup) and id(part) not in inside:
            targets = [f.target for f in part.functions if not f.only_clears]
            excluded |= {c for target in targets for c in (*target.columns, *target.inputs, *target.outputs)}
    uses: dict[ColumnKey, int] = {}
    for function in {function.name: function for function in tiled.functions}.values():
        excluded |= {*function.target.inputs, *function.target.outputs}
        for column in filter(lambda c: _fits(fields[c]), function.target.columns):
            uses[column] = uses.get(column, 0) + 1
            if not _only_loads_and_stores(function, column):
                excluded.add(column)
    return [c for c, n in uses.items() if n >= MIN_SYSTEMS and c not in excluded]


def _only_loads_and_stores(function: KernelFunction, column: ColumnKey) -> bool:
    """Whether a function loads and stores whole rows of a column, and does not pass its memory to anything else."""
    body = with_shared_column(function.body, column, function.target.columns[column])
    name = column_argument(column)
    redirected = sum(body.count(f"{shared_name(verb, column)}({name}, ") for verb in ("get", "put"))
    return redirected == len(re.findall(rf"\b{name}\b", body))


def _fits(field: Field) -> bool:
    """Whether a component is a transient vector of several pieces, to which its memory is aligned."""
    pieces = int(wp.types.type_size_in_bytes(field.dtype)) / PIECE
    return field.transient and not field.shape and alignment(field.dtype) == PIECE and pieces > 1


def shared_tables(
    columns: Mapping[ColumnKey, Field], listed: Mapping[str, ListedRows], worlds: int
) -> list[SharedTable]:
    """The layout of ``columns`` in shared memory.

    ``listed`` are the lists of a kernel, by table, and ``worlds`` those of a tile.
    """
    tables: list[SharedTable] = []
    for table, (rows, numbers) in listed.items():
        own: dict[ColumnKey, tuple[Field, int]] = {}
        size = 0
        for column, field in columns.items():
            if column[0] == table:
                own[column] = field, size
                size += int(wp.types.type_size_in_bytes(field.dtype))
        if own:
            stride = size if size // PIECE % 2 else size + PIECE  # odd, so that neighbours are in different banks
            tables.append(SharedTable(worlds, rows, numbers, own, stride, tables[-1].map_end if tables else 0))
    return tables


def total_bytes(tables: Sequence[SharedTable], limit: int) -> int:
    """Bytes of shared memory for the maps and the slots of all rows, at most ``limit``; 0 without tables."""
    if not tables:
        return 0
    return min(tables[-1].map_end + sum(table.tile_rows * table.stride for table in tables), limit)


def shared_texts(name: str, tables: Sequence[SharedTable], size: int, types: dict[str, Any]) -> list[str]:
    """The functions of the kernel ``name`` that assign slots of ``size`` bytes, and that load and store columns."""
    texts: list[str] = []
    for number, table in enumerate(tables):
        ints = "wp.array(dtype=wp.int32)"
        texts.append(
            f'@wp.func_native(snippet="{_assign_slots(table, size)}")\n'
            f"def assign_slots_{number}_{name}(sizes: {ints}, rows: {ints}, start: wp.int32) -> wp.int32: ...\n"
        )
        for column, (field, offset) in table.columns.items():
            kind, array = type_code(field.dtype, types), array_code(field, types)
            load, store = _access(table, offset, int(wp.types.type_size_in_bytes(field.dtype)) // PIECE)
            texts.append(
                f'@wp.func_native(snippet="{load}")\n'
                f"def {shared_name('get', column)}(column: {array}, row: wp.int32) -> {kind}: ...\n"
            )
            texts.append(
                f'@wp.func_native(snippet="{store}")\n'
                f"def {shared_name('put', column)}(column: {array}, row: wp.int32, value: {kind}): ...\n"
            )
    return texts


def slot_lines(name: str, tables: Sequence[SharedTable]) -> list[str]:
    """The lines of the kernel that assign slots; all threads of the block take part."""
    if not tables:
        return []
    lines = [f"shared_0 = wp.int32({tables[-1].map_end})"]
    for number, table in enumerate(tables):
        sizes, rows = (column_argument(table.rows.column(n)) for n in (SIZES, ROWS))
        lines.append(f"shared_{number + 1} = assign_slots_{number}_{name}({sizes}, {rows}, shared_{number})")
    return [*lines, "sync_block()"]


def _assign_slots(table: SharedTable, size: int) -> str:
    """Assign slots to the rows of all lists, from ``start`` on; the result is the first byte behind them."""
    values, stride = len(table.rows.values), table.stride
    return (
        f"{_MEMORY} auto slots = reinterpret_cast<unsigned short*>(shared_memory + {table.map_start});"
        f" const int first_row = blockIdx.x * {table.tile_rows}; const int list_rows = rows.shape[0] / sizes.shape[0];"
        f" for (int i = threadIdx.x; i < {table.tile_rows}; i += blockDim.x) slots[i] = {_ABSENT};"
        " __syncthreads(); int used = 0;"
        f" for (int k = 0; k < {values}; ++k) {{ if (!({table.lists}u >> k & 1u)) continue;"
        f" const int list = blockIdx.x * {values} + k; const int count = sizes.data[list];"
        " for (int i = threadIdx.x; i < count; i += blockDim.x) {"
        f" const int slot = start + (used + i) * {stride}; if (slot + {stride} <= {size})"
        f" slots[rows.data[(size_t)list * list_rows + i] - first_row] = slot / {PIECE}; }} used += count; }}"
        f" return min(start + used * {stride}, {size});"
    )


def _access(table: SharedTable, offset: int, pieces: int) -> tuple[str, str]:
    """The load and the store of a column of so many pieces at an offset within a slot."""
    find = (
        f"{_MEMORY} const int slot = reinterpret_cast<const unsigned short*>"
        f"(shared_memory + {table.map_start})[row - (int)blockIdx.x * {table.tile_rows}];"
    )
    near = f"reinterpret_cast<{{}}float4*>(shared_memory + slot * {PIECE} + {offset})"
    far = f"reinterpret_cast<{{}}float4*>(column.data) + (size_t)row * {pieces}"
    loads = " ".join(f"value[{k}] = from[{k}];" for k in range(pieces))
    floats = [", ".join(f"from[{4 * k + i}]" for i in range(4)) for k in range(pieces)]
    stores = " ".join(f"to[{k}] = make_float4({floats[k]});" for k in range(pieces))
    load = (
        f"{find} float4 value[{pieces}]; if (slot != {_ABSENT}) {{ auto from = {near.format('const ')}; {loads} }}"
        f" else {{ auto from = {far.format('const ')}; {loads} }}"
        " return *reinterpret_cast<decltype(column.data)>(value);"
    )
    store = (
        f"{find} auto from = reinterpret_cast<const float*>(&value);"
        f" if (slot != {_ABSENT}) {{ auto to = {near.format('')}; {stores} }}"
        f" else {{ auto to = {far.format('')}; {stores} }}"
    )
    return load, store
