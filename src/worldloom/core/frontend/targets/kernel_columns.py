"""Columns in kernels: values in registers, and elements in memory."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from worldloom.core.frontend import nodes
from worldloom.core.frontend.targets import accessors
from worldloom.core.frontend.targets.accessors import type_code
from worldloom.core.frontend.targets.kernel_arithmetic import KernelArithmetic
from worldloom.core.frontend.targets.kernel_names import RAW_PREFIX, barrier, column_argument, register_name
from worldloom.core.frontend.values import RowType, Value, WorldType, this_world
from worldloom.core.kernels.row_copies import RowCopy
from worldloom.core.model.columns import WORLD, ColumnKey, FaultSites, RowCounts
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.spaces import Discrete, MultiDiscrete

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions.expressions import Expressions


class KernelColumns(KernelArithmetic):
    """Builds the body of one Warp function.

    Attributes:
        inputs: Columns whose value the function takes.
        outputs: Columns whose value it returns.
        columns: Columns that it takes as arrays, for other rows or single elements.
        remote_read, remote_write: Columns that it reads or writes in rows of other threads.
        local_write: Columns that it writes in memory in its own row.
        scalars: The names of :data:`SCALAR_PARAMETERS` that it takes.
        faults: Whether it can report a fault.
        in_order: Whether it adds floats into rows that other threads add into, so that the sum depends on the order;
            in exact mode only.
        threads: The threads that run it for one row; all compute the same values outside shared loops.
        warp_reductions: The reductions over the threads of a warp: operator and type.
        atomic_extremes: The atomic minima and maxima in other rows: operator and type.
        row_copies: The functions that copy or clear components of a row.
    """

    in_order = False

    def __init__(
        self,
        table: str,
        counts: RowCounts,
        exclusive: bool,
        location: str,
        sites: FaultSites,
        types: dict[str, Any],
        engine: bool = False,
        exact: bool = False,
        threads: int = 1,
        narrow: bool = False,
    ) -> None:
        self.exact, self.threads, self.narrow = exact, threads, narrow
        self.table, self.counts, self.exclusive = table, counts, exclusive
        self.location, self.sites, self.types, self.engine = location, sites, types, engine
        self.flow: Expressions | None = None
        self.inputs: dict[ColumnKey, Field] = {}
        self.outputs: dict[ColumnKey, Field] = {}
        self.partial: set[ColumnKey] = set()
        """Those of the outputs that some path through the system does not assign."""
        self.columns: dict[ColumnKey, Field] = {}
        self.remote_read: set[ColumnKey] = set()
        self.remote_write: set[ColumnKey] = set()
        self.local_write: set[ColumnKey] = set()
        self.scalars: set[str] = set()
        self.helpers: dict[str, Any] = {}
        self.faults = False
        self.draws = self.counts_spawns = False
        self.warp_reductions: dict[tuple[str, Any], None] = {}
        self.atomic_extremes: dict[tuple[str, Any], None] = {}
        self.row_copies: dict[RowCopy, None] = {}
        self._reductions: dict[ColumnKey, str] = {}
        """The operators with which the current shared loop accumulates into components of the own row."""

    def _column(self, row: Value, field: Field) -> ColumnKey:
        if isinstance(row.type, WorldType):
            return WORLD, field.name
        return self.counts.column(self.table if row.type.own else row.type.owner.__name__, field.name)

    def _in_registers(self, row: Value) -> bool:
        """Whether only this thread writes the row, so that its values stay in registers."""
        if isinstance(row.type, WorldType):
            return self.exclusive or self.table == WORLD
        return bool(row.type.own)

    def _row(self, row: Value, field: Field | None = None) -> ast.expr:
        if isinstance(row.type, WorldType):
            self.scalars.add("world")
            if field is not None and field.batch_wide:  # one value for all worlds, or one per world
                rows = nodes.index(
                    nodes.attribute(nodes.name(column_argument(self._column(row, field))), "shape"), nodes.constant(0)
                )
                return nodes.warp("min", nodes.name("world"), nodes.binary(rows, ast.Sub(), nodes.constant(1)))
            return nodes.name("world")
        if row.type.own:
            self.scalars.add("row")
        return row.node

    def _memory_column(self, row: Value, field: Field, write: bool) -> ast.Name:
        """The column as an array, for access in memory."""
        column = self._column(row, field)
        self.columns[column] = field
        if field.batch_wide:
            pass  # systems cannot write it
        elif not self._in_registers(row):
            (self.remote_write if write else self.remote_read).add(column)
        elif write:
            self.local_write.add(column)
        return nodes.name(column_argument(column))

    def _assigned(self, column: ColumnKey) -> bool:
        assigned = self.flow.assigned if self.flow is not None else None
        return assigned is not None and column in assigned

    def raw(self, row: Value, field: Field) -> ast.expr:
        if self._in_registers(row) and not field.is_array:
            table, name = self._column(row, field)
            self.inputs[table, RAW_PREFIX + name] = field
            return nodes.name(register_name((table, RAW_PREFIX + name)))
        return accessors.get(self._memory_column(row, field, write=False), field, self._row(row))

    def read(self, row: Value, field: Field) -> ast.expr:
        column = self._column(row, field)
        if self._in_registers(row) or isinstance(row.type, WorldType):
            if not self._assigned(column):
                self.inputs[column] = field
            if not self._in_registers(row) and not field.batch_wide:
                self.remote_read.add(column)
            return nodes.name(register_name(column))
        return sanitize_action(
            accessors.get(self._memory_column(row, field, write=False), field, self._row(row)), field
        )

    def write(self, row: Value, field: Field, value: ast.expr) -> list[ast.stmt]:
        if not self._in_registers(row):
            return self._stored_once(
                [accessors.put(self._memory_column(row, field, write=True), field, self._row(row), value)]
            )
        column = self._column(row, field)
        self.outputs[column] = field
        if self.flow is not None and self.flow.assigned is not None:
            self.flow.assigned.add(column)
        return [nodes.assign(register_name(column), self.as_variable(value, field.dtype))]

    def write_component(self, row: Value, field: Field, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        if self._in_registers(row):
            name = self.read(row, field)
            self.outputs[self._column(row, field)] = field
            return [nodes.store(nodes.index(name, *indices), value)]
        vector = f"wl_kept_{'_'.join(self._column(row, field))}"
        column = self._memory_column(row, field, write=True)
        return [
            nodes.assign(vector, accessors.get(self._memory_column(row, field, write=False), field, self._row(row))),
            nodes.store(nodes.index(nodes.name(vector), *indices), value),
            *self._stored_once([accessors.put(column, field, self._row(row), nodes.name(vector))]),
        ]

    def array(self, row: Value, field: Field) -> ast.expr:
        return nodes.name(column_argument(self._column(row, field)))

    def element(self, row: Value, field: Field, indices: list[ast.expr]) -> ast.expr:
        return sanitize_action(
            accessors.get(self._memory_column(row, field, write=False), field, self._row(row, field), indices), field
        )

    def set_element(self, row: Value, field: Field, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        return self._stored_once(
            [accessors.put(self._memory_column(row, field, write=True), field, self._row(row), value, indices)]
        )

    def world_column(self, field: Field) -> str:
        """The array of a field of the world, for reading."""
        return self._memory_column(this_world(), field, write=False).id

    def other_rows_column(self, kind: Any, field: Field) -> str:
        """The array of a component of other rows, for reading."""
        return self._memory_column(Value(nodes.name("row"), RowType(kind, own=False)), field, write=False).id

    @property
    def _in_shared_loop(self) -> bool:
        """Whether one thread of a row runs the current code, rather than all of them."""
        return self.flow is not None and self.flow.shared_loop is not None

    def _on_first_lane(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """``body`` for the first of the threads of a row, in code that all of them run."""
        if self.threads == 1 or self._in_shared_loop:
            return body
        self.scalars.add("lane")
        return [ast.If(ast.Compare(nodes.name("lane"), [ast.Eq()], [nodes.constant(0)]), body, [])]

    def _stored_once(self, stores: list[ast.stmt]) -> list[ast.stmt]:
        """Stores that one thread executes, after all threads have read and before any reads again."""
        if self.threads == 1 or self._in_shared_loop:
            return stores
        return [self._barrier(), *self._on_first_lane(stores), self._barrier()]

    def _barrier(self) -> ast.stmt:
        return ast.Expr(nodes.call(barrier(self.threads)))


def sanitize_action(node: ast.expr, field: Field) -> ast.expr:
    """An action as read by systems: a choice out of range becomes choice 0, which is safe as an index."""
    if field.role is not Role.ACTION or field.space is None:
        return node
    if isinstance(field.space, Discrete):
        return nodes.call("clean_choice", node, nodes.constant(field.space.n))
    if isinstance(field.space, MultiDiscrete):
        choices = field.space.choices
        parts: list[ast.expr] = [
            nodes.call("clean_choice", nodes.index(node, nodes.constant(i)), nodes.constant(n))
            for i, n in enumerate(choices)
        ]
        return ast.Call(ast.parse(type_code(field.dtype, {}), mode="eval").body, parts, [])
    return node
