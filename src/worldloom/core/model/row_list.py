"""Lists of the rows of a table by the value of a component, for systems that run for some entities on CUDA."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import warp as wp

from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.fields import Field, Role

ROWS, SIZES, VALUES = "rows", "sizes", "values"
"""Columns of a list: rows, those of each tile and value from a multiple of a tile's rows; their numbers; the values."""
ORDER = "order"
"""The column of the order of worlds: those of the first tile, those of the second, and so on."""


def list_field(name: str) -> Field:
    """The field of a column of a list, or of the order of worlds."""
    return Field(name, wp.int32, role=Role.ENGINE, keep=True, transient=True)


def list_table(table: str, component: str) -> str:
    """The name of the table that holds the lists of a component."""
    return f"{table}__by_{component}"


@dataclass(frozen=True)
class RowList:
    """The rows of a table in which a component has one of some values.

    Attributes:
        table, component: The component.
        values: The values, each of which has a list.
        capacity: Rows of the table per world.
        fixed: Whether all of them are in use.
        tiled: Whether every tile, a few worlds, has lists of its own; otherwise the whole batch is one tile.
        workload: The component of the world by which tiles of a large batch are chosen; "" for adjacent worlds.
        choices: The number of choices of a discrete action, whose other values count as choice 0; else 0.
    """

    table: str
    component: str
    values: tuple[int, ...]
    capacity: int
    fixed: bool
    tiled: bool = False
    workload: str = ""
    choices: int = 0

    @property
    def name(self) -> str:
        """The name of the table of its columns, which are scratch memory."""
        return list_table(self.table, self.component)

    @property
    def key(self) -> ColumnKey:
        return self.table, self.component

    def column(self, name: str) -> ColumnKey:
        return self.name, name

    @property
    def order(self) -> ColumnKey | None:
        """The column with the order of the worlds in tiles; None where adjacent worlds are a tile."""
        return (list_table(WORLD, self.workload), ORDER) if self.workload else None

    @cached_property
    def fields(self) -> dict[str, Field]:
        return {name: list_field(name) for name in (ROWS, SIZES, VALUES)}

    def size(self, name: str, num_worlds: int, tile_worlds: int) -> int:
        """Number of elements of one of its columns."""
        tile = min(tile_worlds, num_worlds) if self.tiled else num_worlds
        tiles = 1 if name == VALUES else -(-num_worlds // tile)
        return len(self.values) * tiles * (tile * self.capacity if name == ROWS else 1)
