"""Columns in the text of a kernel: its parameters, and loads and stores."""

from __future__ import annotations

import ast
from collections.abc import Collection

import warp as wp

from worldloom.core.frontend.targets import accessors
from worldloom.core.frontend.targets.kernel_columns import sanitize_action
from worldloom.core.frontend.targets.kernel_names import (
    RAW_PREFIX,
    column_argument,
    column_in_memory,
    kept_name,
    register_name,
)
from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.fields import Field, Role
from worldloom.core.schedule.entries import Schedule

Arguments = dict[ColumnKey, Field]
"""The columns that a kernel takes, in order."""


class ColumnParameters:
    """The columns that a kernel takes, in order of first use."""

    def __init__(self) -> None:
        self.columns: list[ColumnKey] = []

    def _argument(self, table: str, name: str) -> str:
        """The name of the parameter of a column, which becomes one of :attr:`columns`."""
        column = (table, name)
        if column not in self.columns:
            self.columns.append(column)
        return column_argument(column)


class ColumnAccess:
    """Writes loads and stores of the row of a thread.

    Attributes:
        cached: Columns that systems read at every step. The others are written past the cache.
        in_place: Configuration vectors that are not loaded: systems get arrays of their numbers.
    """

    def __init__(self, schedule: Schedule, cuda: bool) -> None:
        self.schedule, self.cuda = schedule, cuda
        self.cached: set[ColumnKey] = set()
        self.in_place: frozenset[ColumnKey] = frozenset()

    def field(self, column: ColumnKey) -> Field:
        return self.schedule.field_of(column)

    def fields(self, columns: Collection[ColumnKey]) -> Arguments:
        return {column: self.field(column) for column in columns}

    def load(self, column: ColumnKey, arguments: Arguments, in_registers: Collection[ColumnKey] = ()) -> str:
        """The value of this row in a column; ``arguments`` gets the column that it reads."""
        raw = (column[0], RAW_PREFIX + column[1])
        if raw in in_registers:
            return ast.unparse(sanitize_action(ast.Name(register_name(raw), ast.Load()), self.field(column)))
        if column in self.schedule.aliases:
            whole, index = self.schedule.aliases[column]
            return f"{self.load(whole, arguments)}[{index}]"
        stored = column_in_memory(column)
        field, name = arguments.setdefault(stored, self.field(stored)), column_argument(stored)
        row = "row" if column[0] != WORLD else "world"
        if column[0] == WORLD and field.batch_wide:
            row = f"wp.min(world, {name}.shape[0] - 1)"  # a configuration has one value for all worlds, or one for each
        if column in self.in_place:
            return accessors.view_text(name, field, row)
        read_once = field.role is Role.ACTION and not field.shape  # overwritten before the next step
        get = accessors.get_once if read_once else accessors.get
        value = get(ast.Name(name, ast.Load()), field, ast.parse(row, mode="eval").body)
        return ast.unparse(value if stored != column else sanitize_action(value, field))

    def store(self, column: ColumnKey, arguments: Arguments) -> str:
        """The statement that writes the register of a column to memory."""
        if column in self.schedule.aliases:
            whole, index = self.schedule.aliases[column]
            field = arguments.setdefault(whole, self.field(whole))
            return accessors.put_part_text(column_argument(whole), field, "row", index, register_name(column))
        field = arguments.setdefault(column, self.field(column))
        streamed = self.cuda and column not in self.cached and accessors.streams(field)
        put = accessors.stream_text if streamed else accessors.put_text
        return put(column_argument(column), field, "world" if column[0] == WORLD else "row", register_name(column))

    def changed_test(self, column: ColumnKey) -> str:
        """The condition that the register of a column differs from the value that was loaded."""
        test = accessors.differs_text(self.field(column), kept_name(column), register_name(column))
        return f"if {test}: "

    def bytes_per_world(self, column: ColumnKey) -> int:
        """Bytes of a column per world. Configuration counts as 0, since it stays in the cache."""
        field = self.field(column)
        if field.batch_wide:
            return 0
        size: int = wp.types.type_size_in_bytes(field.dtype)
        for n in field.shape:
            size *= n
        return size * self.schedule.counts.get(column[0], 1)
