"""Rows in kernels: references, spawns, despawns and loops over the rows of a table."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.bounds import Bounds
from worldloom.core.frontend.targets import accessors
from worldloom.core.frontend.targets.kernel_names import column_argument
from worldloom.core.frontend.targets.kernel_reductions import KernelReductions
from worldloom.core.frontend.values import RowType, Value, this_world
from worldloom.core.model.columns import FAULT_COLUMNS
from worldloom.core.model.entity import ENGINE_FIELDS
from worldloom.core.model.fields import Field
from worldloom.core.model.population import DESPAWNED, ROW_FIELDS, ROW_WORLD, SERIAL, Population, spawns_per_run
from worldloom.core.model.scratch_columns import CURSOR, STATE

if TYPE_CHECKING:
    pass


class KernelRows(KernelReductions):
    """The rows of compiled code. Subclassed by :class:`KernelTarget`."""

    def slot(self, row: Value) -> ast.expr:
        if row.type.own:
            self.scalars.add("slot")
            return nodes.name("slot")
        return nodes.binary(row.node, ast.Sub(), self.first_row(row.type.owner))

    def keep_row(self, row: Value) -> ast.expr:
        return self._row(row)

    def follow(self, reference: ast.expr, kind: Any, line: int) -> ast.expr:
        slot = (
            self.find(reference, kind) if kind.__name__ in self.counts.populations else self.cast(reference, wp.int32)
        )
        return self._row_at(slot, kind, f"an empty or stale reference to {kind.__name__} was followed", line)

    def at(self, slot: ast.expr, kind: Any, line: int, known: Bounds | None) -> ast.expr:
        if isinstance(slot, ast.Name) and slot.id == "slot" and kind.__name__ == self.table:
            self.scalars.add("row")  # the entity of the system itself, which is there
            return nodes.name("row")
        in_range = (
            kind.__name__ not in self.counts.populations
            and known is not None
            and 0 <= known[0] <= known[1] < self.counts[kind.__name__]
        )
        if in_range:
            return nodes.binary(self.first_row(kind), ast.Add(), slot)
        return self._row_at(slot, kind, f"there is no {kind.__name__} {{value}}", line)

    def _row_at(self, slot: ast.expr, kind: Any, message: str, line: int) -> ast.expr:
        """The row of the entity in ``slot``; the first row, and a fault with ``message``, where there is none."""
        checked = nodes.call("checked_slot", slot, self.count(kind), *self._fault_arguments(message, line))
        batch = self.counts.pooled(kind.__name__)
        if batch is not None:  # the first row of an empty world belongs to another world
            return nodes.call("pooled_row", self.first_row(kind), self.count(kind), checked, nodes.constant(batch))
        return nodes.binary(self.first_row(kind), ast.Add(), checked)

    def find(self, reference: ast.expr, kind: Any) -> ast.expr:
        """The slot of the entity of a population that a reference refers to; -1 where there is none."""
        row = Value(nodes.name("row"), RowType(kind, own=False))
        return nodes.call(
            "find_serial",
            self._memory_column(row, ROW_FIELDS[SERIAL], write=False),
            self.first_row(kind),
            self.count(kind),
            reference,
        )

    def alive(self, reference: ast.expr, kind: Any) -> ast.expr:
        if kind.__name__ in self.counts.populations:
            return ast.Compare(self.find(reference, kind), [ast.GtE()], [nodes.constant(0)])
        return ast.Compare(reference, [ast.GtE()], [self.literal(0, wp.int64)])

    def reference(self, row: Value) -> ast.expr:
        table = self.table if row.type.own else row.type.owner.__name__
        if table in self.counts.populations:
            return self.read(row, ROW_FIELDS[SERIAL])
        return self.cast(self.slot(row), wp.int64)

    def spawn(self, name: str, kind: Any, values: dict[str, ast.expr]) -> list[ast.stmt]:
        population = self.counts.populations.get(kind.__name__)
        if population is None:  # the check when a system is defined
            return [nodes.assign(name, self.literal(-1, wp.int64))]
        self.counts_spawns = True
        self.scalars |= {"slot", "system", "world"}
        world = this_world()
        per_run = spawns_per_run(self.counts[self.table])
        pending = self._memory_column(world, population.field("pending"), write=True)
        nth, index = nodes.name("wl_births"), nodes.name("wl_place")
        step = self.read(world, ENGINE_FIELDS["step"])
        counted = nodes.call("count_birth", pending, nodes.name("world"))
        row: ast.expr = nodes.binary(
            nodes.binary(nodes.name("world"), ast.Mult(), nodes.constant(population.spawn_capacity)), ast.Add(), index
        )
        capacity, overflow = population.spawn_capacity, list[ast.stmt]()
        reserve: list[ast.stmt] = [nodes.assign("wl_place", counted)]
        known: dict[str, tuple[Field, ast.expr]] = {SERIAL: (ROW_FIELDS[SERIAL], nodes.name(name))}
        if population.limit.batch is not None:
            row, capacity = index, population.limit.batch
            known[ROW_WORLD] = (ROW_FIELDS[ROW_WORLD], nodes.name("world"))
            reserve, overflow = self._reserve_spawn_slot(population, counted, capacity)
        fits: ast.expr = ast.Compare(index, [ast.Lt()], [nodes.constant(capacity)])
        if population.pooled:
            fits = ast.BoolOp(ast.And(), [fits, ast.Compare(nth, [ast.LtE()], [nodes.constant(per_run)])])
        stores: list[ast.stmt] = []
        for field_name in (*known, *population.spawn_fields):
            field, value = (
                known[field_name] if field_name in known else (kind.fields[field_name], values.get(field_name))
            )
            value = value or self.default(field)
            column = (population.new_table, field_name)
            self.columns[column] = field
            self.remote_write.add(column)
            stores.append(accessors.put(nodes.name(column_argument(column)), field, row, value))
        run = (nodes.name("system"), nodes.name("slot"), nodes.constant(per_run))
        serial = nodes.call("serial_number", step, *run, nth)
        return [
            nodes.assign("wl_births", nodes.binary(nth, ast.Add(), nodes.constant(1))),
            nodes.assign(name, serial),
            *self._on_first_lane([*reserve, ast.If(fits, stores, overflow)]),
        ]

    def _reserve_spawn_slot(
        self, population: Population, counted: ast.expr, capacity: int
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The code that reserves a spawn slot shared by all worlds, and the code for when none is left."""
        column = (population.scratch_table, STATE.name)
        self.columns[column] = STATE
        self.remote_write.add(column)
        state = nodes.name(column_argument(column))
        reserve: list[ast.stmt] = [ast.Expr(counted), nodes.assign("wl_place", nodes.call("take_place", state))]
        overflow = nodes.warp("atomic_max", state, nodes.constant(CURSOR), nodes.constant(capacity + 1))
        return reserve, [ast.Expr(overflow)]

    def despawn(self, row: Value) -> list[ast.stmt]:
        table = self.table if row.type.own else row.type.owner.__name__
        population = self.counts.populations.get(table)
        if population is None:
            return [ast.Pass()]
        world = this_world()
        self.scalars.add("world")
        despawned, changed = ROW_FIELDS[DESPAWNED], population.field("changed")
        mark = accessors.put(
            self._memory_column(row, despawned, write=True), despawned, self._row(row), nodes.constant(True)
        )
        notify = accessors.put(
            self._memory_column(world, changed, write=True), changed, nodes.name("world"), nodes.constant(True)
        )
        return [mark, notify]

    def count(self, kind: Any) -> ast.expr:
        population = self.counts.populations.get(kind.__name__)
        if population is None:
            return nodes.constant(self.counts[kind.__name__])
        count = self.read(this_world(), population.field("count"))
        return nodes.warp("min", count, nodes.constant(population.limit.per_world))  # the column may be overwritten

    def first_row(self, kind: Any) -> ast.expr:
        """The first row of this world in the table of ``kind``."""
        population = self.counts.populations.get(kind.__name__)
        if population is not None and population.pooled:
            return self.read(this_world(), population.field("first"))
        self.scalars.add("world")
        return nodes.binary(nodes.name("world"), ast.Mult(), nodes.constant(self.counts[kind.__name__]))

    def loop_rows(self, name: str, kind: Any, body: list[ast.stmt]) -> list[ast.stmt]:
        counter = f"wl_i{name}"
        row = nodes.assign(name, nodes.binary(self.first_row(kind), ast.Add(), nodes.name(counter)))
        return [ast.For(ast.Name(counter, ast.Store()), nodes.call("range", self.count(kind)), [row, *body], [], None)]

    def world_id(self) -> ast.expr:
        self.scalars |= {"world", "offset"}
        return nodes.binary(nodes.name("world"), ast.Add(), nodes.name("offset"))

    def _fault_arguments(self, message: str, line: int) -> list[ast.expr]:
        self.faults = True
        self.scalars |= {"world", "offset"}
        site = self.sites.add(self.describe_site(message, line))
        world = "world" if self.threads == 1 or self._in_shared_loop else "wl_teller"
        return [nodes.name(n) for n in ("errors", *map(column_argument, FAULT_COLUMNS), world, "offset")] + [
            nodes.constant(site)
        ]

    def check_index(self, node: ast.expr, size: int, what: str, line: int) -> ast.expr:
        if not self.table:  # a helper, which has no world
            return nodes.call("wl_wrap_index", node, nodes.constant(size))
        return nodes.call(
            "checked_index",
            node,
            nodes.constant(size),
            *self._fault_arguments(f"{what} {{value}} is out of range", line),
        )

    def fault(self, what: str, line: int, value: ast.expr) -> list[ast.stmt]:
        return [ast.Expr(nodes.call("report_fault", *self._fault_arguments(what, line), value))]
