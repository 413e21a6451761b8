"""Columns that the kernel of a run keeps in shared memory.

Transient components that only the systems of a run use need not be in global memory, where loads take ten times as
long. The rows of its lists get places in the shared memory of the block, as long as there is room; other rows stay in
global memory. A map from the rows of a tile to their places is in shared memory too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import warp as wp

from worldloom.core.codegen.fusion import FusedEntry, KernelGroup
from worldloom.core.frontend.targets.accessors import array_code, held_name, type_code
from worldloom.core.frontend.targets.kernel_names import column_argument
from worldloom.core.model.columns import ColumnKey
from worldloom.core.model.fields import Field
from worldloom.core.model.launch import LaunchNode
from worldloom.core.model.row_list import ROWS, SIZES, TILE_WORLDS, RowList
from worldloom.core.schedule.entries import HostNode

SHARED_BYTES = 56_000
"""Shared memory of a block: a quarter of what a multiprocessor of an H200 has."""
PIECE = 16
"""Bytes that a thread moves by one instruction."""
MIN_SYSTEMS = 3
"""Systems of a run that use a column, at least, for it to be worth its place."""

_SHARED = "extern __shared__ __align__(16) char held_memory[];"
_CLEARING = "clear_"
"""The start of the names of systems of the engine that clear components where an episode begins, which need not be."""
_ABSENT = 0xFFFF
"""The place of rows that are in global memory."""


@dataclass(frozen=True)
class HeldTable:
    """The held columns of a table.

    Attributes:
        rows: The lists whose rows have places.
        lists: The numbers of those lists that the run uses, as bits.
        columns: The columns, with their offsets from the place of a row in bytes.
        stride: Bytes of a row.
        map_start: Where its map begins in shared memory, in bytes.
    """

    rows: RowList
    lists: int
    columns: dict[ColumnKey, tuple[Field, int]]
    stride: int
    map_start: int

    @property
    def tile_rows(self) -> int:
        """Rows of a tile."""
        return TILE_WORLDS * self.rows.capacity

    @property
    def map_end(self) -> int:
        return self.map_start + _round_up(2 * self.tile_rows)


def choose_columns(
    groups: Sequence[KernelGroup], parts: Iterable[FusedEntry], fields: Mapping[ColumnKey, Field]
) -> list[ColumnKey]:
    """The columns of ``fields`` that a run of ``groups`` can hold; ``parts`` are all parts of the program."""
    inside = {id(group) for group in groups}
    outside: set[ColumnKey] = set()
    for part in parts:
        if isinstance(part, HostNode):  # it may read anything
            return []
        if isinstance(part, LaunchNode):
            outside |= set(part.columns)
        elif isinstance(part, KernelGroup) and id(part) not in inside:
            used = [f.target for f in part.functions if not (f.system.engine and f.system.name.startswith(_CLEARING))]
            outside |= {c for target in used for c in (*target.columns, *target.inputs, *target.outputs)}
    functions = {function.name: function for group in groups for function in group.functions}.values()
    uses: dict[ColumnKey, int] = {}
    for function in functions:
        outside |= {*function.target.inputs, *function.target.outputs}
        for column in function.target.columns:
            uses[column] = uses.get(column, 0) + 1
    return [c for c, n in uses.items() if n >= MIN_SYSTEMS and c not in outside and _can_be_held(fields[c])]


def _can_be_held(field: Field) -> bool:
    size = int(wp.types.type_size_in_bytes(field.dtype))
    return field.transient and not field.shape and size > PIECE and size % PIECE == 0


def held_tables(columns: Mapping[ColumnKey, Field], lists: Mapping[str, tuple[RowList, int]]) -> list[HeldTable]:
    """How ``columns`` lie in shared memory; ``lists`` are the lists of a run and their numbers as bits, by table."""
    tables: list[HeldTable] = []
    for table, (rows, numbers) in lists.items():
        own: dict[ColumnKey, tuple[Field, int]] = {}
        size = 0
        for column, field in columns.items():
            if column[0] == table:
                own[column] = field, size
                size += int(wp.types.type_size_in_bytes(field.dtype))
        if own:
            stride = size if size // PIECE % 2 else size + PIECE  # odd, so that neighbours are in different banks
            tables.append(HeldTable(rows, numbers, own, stride, tables[-1].map_end if tables else 0))
    return tables


def held_texts(name: str, tables: Sequence[HeldTable], shared_bytes: int, types: dict[str, Any]) -> list[str]:
    """The functions of the kernel ``name`` that give places to rows, and that load and store held columns."""
    texts: list[str] = []
    for number, table in enumerate(tables):
        ints = "wp.array(dtype=wp.int32)"
        texts.append(
            f'@wp.func_native(snippet="{_places(table, shared_bytes)}")\n'
            f"def hold_places_{number}_{name}(sizes: {ints}, rows: {ints}, start: wp.int32) -> wp.int32: ...\n"
        )
        for column, (field, offset) in table.columns.items():
            kind, array = type_code(field.dtype, types), array_code(field, types)
            load, store = _access(table, offset, int(wp.types.type_size_in_bytes(field.dtype)) // PIECE)
            texts.append(
                f'@wp.func_native(snippet="{load}")\n'
                f"def {held_name('get', column)}(column: {array}, row: wp.int32) -> {kind}: ...\n"
            )
            texts.append(
                f'@wp.func_native(snippet="{store}")\n'
                f"def {held_name('put', column)}(column: {array}, row: wp.int32, value: {kind}): ...\n"
            )
    return texts


def held_lines(name: str, tables: Sequence[HeldTable]) -> list[str]:
    """The lines of the kernel that give places to rows; all threads of the block take part."""
    if not tables:
        return []
    lines = [f"held_0 = wp.int32({tables[-1].map_end})"]
    for number, table in enumerate(tables):
        sizes, rows = (column_argument(table.rows.column(n)) for n in (SIZES, ROWS))
        lines.append(f"held_{number + 1} = hold_places_{number}_{name}({sizes}, {rows}, held_{number})")
    return [*lines, "sync_block()"]


def _places(table: HeldTable, shared_bytes: int) -> str:
    """Give places to the rows of all lists, from ``start`` on; the result is the first byte behind them."""
    values, stride = len(table.rows.values), table.stride
    return (
        f"{_SHARED} auto places = reinterpret_cast<unsigned short*>(held_memory + {table.map_start});"
        f" const int first_row = blockIdx.x * {table.tile_rows}; const int size = rows.shape[0] / sizes.shape[0];"
        f" for (int i = threadIdx.x; i < {table.tile_rows}; i += blockDim.x) places[i] = {_ABSENT};"
        f" __syncthreads(); int used = 0;"
        f" for (int k = 0; k < {values}; ++k) {{ if (!({table.lists} >> k & 1)) continue;"
        f" const int list = blockIdx.x * {values} + k; const int count = sizes.data[list];"
        " for (int i = threadIdx.x; i < count; i += blockDim.x) {"
        f" const int place = start + (used + i) * {stride}; if (place + {stride} <= {shared_bytes})"
        f" places[rows.data[(size_t)list * size + i] - first_row] = place / {PIECE}; }} used += count; }}"
        f" return min(start + used * {stride}, {shared_bytes});"
    )


def _access(table: HeldTable, offset: int, pieces: int) -> tuple[str, str]:
    """The load and the store of a column at an offset from the place of a row, of so many pieces."""
    find = (
        f"{_SHARED} const int place = reinterpret_cast<const unsigned short*>"
        f"(held_memory + {table.map_start})[row - (int)blockIdx.x * {table.tile_rows}];"
    )
    near = f"reinterpret_cast<{{}}float4*>(held_memory + place * {PIECE} + {offset})"
    far = f"reinterpret_cast<{{}}float4*>(column.data) + (size_t)row * {pieces}"
    loads = " ".join(f"held[{k}] = from[{k}];" for k in range(pieces))
    floats = [", ".join(f"from[{4 * k + i}]" for i in range(4)) for k in range(pieces)]
    stores = " ".join(f"to[{k}] = make_float4({floats[k]});" for k in range(pieces))
    load = (
        f"{find} float4 held[{pieces}]; if (place != {_ABSENT}) {{ auto from = {near.format('const ')}; {loads} }}"
        f" else {{ auto from = {far.format('const ')}; {loads} }}"
        " return *reinterpret_cast<decltype(column.data)>(held);"
    )
    store = (
        f"{find} auto from = reinterpret_cast<const float*>(&value);"
        f" if (place != {_ABSENT}) {{ auto to = {near.format('')}; {stores} }}"
        f" else {{ auto to = {far.format('')}; {stores} }}"
    )
    return load, store


def _round_up(size: int) -> int:
    return -(-size // PIECE) * PIECE
