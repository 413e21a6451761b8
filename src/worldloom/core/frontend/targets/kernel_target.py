"""The compiled target: rows become values in registers or elements of columns, for the CPU and for CUDA alike."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.arithmetic.functions import result_type
from worldloom.core.frontend import nodes
from worldloom.core.frontend.bounds import Bounds
from worldloom.core.frontend.targets import accessors
from worldloom.core.frontend.targets.accessors import type_code
from worldloom.core.frontend.targets.kernel_names import RAW_PREFIX, barrier, column_argument, register_name
from worldloom.core.frontend.targets.kernel_neighbours import GridAccess, near_loop, nearest_loop
from worldloom.core.frontend.targets.target import Target
from worldloom.core.frontend.values import RefType, RowType, Value, WorldType, is_scalar, this_world
from worldloom.core.kernels.exact import PREFIX as EXACT
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.kernels.warp_reductions import ATOMIC_EXTREME_TYPES, atomic_extreme_name, warp_reduce_name
from worldloom.core.kernels.wrapping import PREFIX as WRAPS
from worldloom.core.kernels.wrapping import RING, UNSIGNED
from worldloom.core.kernels.wrapping import SCALAR as WRAPPING
from worldloom.core.model.columns import FAULT_COLUMNS, WORLD, ColumnKey, FaultSites, RowCounts
from worldloom.core.model.entity import AGENT_FIELDS, ENGINE_FIELDS
from worldloom.core.model.fields import FLOATS, Field, Role, is_composite, scalar_of, shape_of, with_scalar
from worldloom.core.model.population import DESPAWNED, ROW_FIELDS, ROW_WORLD, SERIAL, Population, spawns_per_run
from worldloom.core.model.scratch_columns import CURSOR, STATE
from worldloom.core.model.spaces import Discrete, MultiDiscrete

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions import Expressions


class KernelTarget(Target):
    """Builds the body of one Warp function.

    Attributes:
        inputs: Columns whose value the function takes.
        outputs: Columns whose value it returns.
        columns: Columns it reaches into, in other rows or element by element.
        remote_read, remote_write: Columns it reads or writes in rows that other threads own.
        scalars: Which of :data:`SCALAR_PARAMETERS` it takes.
        faults: Whether it can report a fault.
        in_order: Whether it adds real numbers into rows that other threads add into too, whose sum depends on the order; in exact mode only.
        threads: How many threads run it for one row, all of them computing the same but for the turns of shared loops.
        across: What it gathers over the threads of a warp: how, and numbers of which type.
        met: Of what it puts the least or the greatest into other rows, likewise.
    """

    in_order = False

    def __init__(
        self,
        table: str,
        counts: RowCounts,
        exclusive: bool,
        place: str,
        sites: FaultSites,
        types: dict[str, Any],
        engine: bool = False,
        exact: bool = False,
        threads: int = 1,
    ) -> None:
        self.exact, self.threads = exact, threads
        self.table, self.counts, self.exclusive = table, counts, exclusive
        self.place, self.sites, self.types, self.engine = place, sites, types, engine
        self.flow: Expressions | None = None
        self.inputs: dict[ColumnKey, Field] = {}
        self.outputs: dict[ColumnKey, Field] = {}
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
        self._reductions: dict[ColumnKey, str] = {}
        """How the turns of the shared loop at hand accumulate into components of the own row."""
        self._counted_loops = 0
        """Loops whose turns are counted so far: nested loops over one name each keep their own start."""

    # -- numbers -----------------------------------------------------------------------------------------------------

    def local(self, name: str) -> str:
        return f"v_{name}"

    def literal(self, value: Any, kind: Any) -> ast.expr:
        if kind is wp.bool:
            return nodes.constant(bool(value))
        if isinstance(value, float) and not math.isfinite(value):
            special = nodes.attribute(nodes.name("wp"), "nan" if math.isnan(value) else "inf")
            return self.cast(ast.UnaryOp(ast.USub(), special) if value < 0 else special, kind)
        if kind is wp.float32:
            return nodes.constant(float(value))
        if kind is wp.uint32 and value >= 2**31:  # Warp would read the bare number as an int32
            self.types[f"wl_uint32_{int(value)}"] = wp.constant(wp.uint32(int(value)))
            return nodes.name(f"wl_uint32_{int(value)}")
        return nodes.constant(int(value)) if kind is wp.int32 else self.cast(nodes.constant(value), kind)

    def cast(self, node: ast.expr, kind: Any) -> ast.expr:
        return nodes.warp(kind.__name__, node)

    def as_variable(self, node: ast.expr, kind: Any) -> ast.expr:
        """Warp takes a bare number for a constant for ever; a conversion makes it a variable."""
        return (
            self.cast(node, kind if is_scalar(kind) else wp.int64 if isinstance(kind, RefType) else wp.int32)
            if isinstance(node, ast.Constant)
            else node
        )

    def math_call(self, name: str, types: tuple[Any, ...], arguments: list[ast.expr]) -> ast.expr:
        """A call of one of Warp's functions; of integers one that wraps where Warp's is undefined."""
        composite = next((t for t in types if is_composite(t)), None)
        kind = scalar_of(composite) if composite is not None else types[0] if types else None
        if kind in UNSIGNED:
            if composite is None and name in WRAPPING:
                return (
                    self.integer(name, kind, arguments)
                    if kind in WRAPPING[name][1]
                    else super().math_call(name, types, arguments)
                )
            if composite is not None and name == "abs" and kind in WRAPPING["abs"][1]:
                return nodes.call(f"{WRAPS}absolute_of_vector", *arguments)
            if composite is not None and name in RING:
                return self._unsigned(name, types, arguments)
        return super().math_call(name, types, arguments)

    def _unsigned(self, name: str, types: tuple[Any, ...], arguments: list[ast.expr]) -> ast.expr:
        """One of Warp's functions of vectors or matrices of integers, computed with unsigned numbers."""
        converted = []
        for kind, argument in zip(types, arguments, strict=True):
            if is_composite(kind):
                converted.append(self.construct(with_scalar(kind, UNSIGNED[scalar_of(kind)]), [argument]))
            else:
                converted.append(self.cast(argument, UNSIGNED[kind]))
        result, computed = result_type(name, types), nodes.warp(name, *converted)
        return self.construct(result, [computed]) if is_composite(result) else self.cast(computed, result)

    def integer(self, name: str, kind: Any, arguments: list[ast.expr]) -> ast.expr:
        if kind in WRAPPING[name][1]:
            return nodes.call(f"{WRAPS}{WRAPPING[name][0]}", *arguments)
        return super().integer(name, kind, arguments)

    def power(self, exponent: int, kind: Any, base: ast.expr) -> ast.expr:
        return (
            nodes.call(f"{WRAPS}{'square' if exponent == 2 else 'cube'}", base)
            if kind in UNSIGNED
            else super().power(exponent, kind, base)
        )

    def condition(self, test: ast.expr) -> ast.expr:
        """A copy: Warp reads the condition again behind the branches, and a loop in one of them changes variables in place."""
        return nodes.warp("bool", test) if isinstance(test, ast.Name) else test

    def loop_range(
        self, counter: str, bounds: list[ast.expr], step: int, overflows: bool, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        """Warp adds the step once more behind the last number; where that may overflow, the turns are counted first."""
        if not overflows:
            return super().loop_range(counter, bounds, step, overflows, body)
        self._counted_loops += 1
        start, turn = (
            nodes.name(f"{counter}_start{self._counted_loops}"),
            nodes.name(f"{counter}_turn{self._counted_loops}"),
        )
        kept = nodes.assign(start.id, self.cast(bounds[0], wp.int32))
        turns = nodes.call(f"{WRAPS}range_turns", start, bounds[1], bounds[2])
        number = self.integer("add", wp.int32, [start, self.integer("mul", wp.int32, [turn, nodes.constant(step)])])
        return [
            kept,
            ast.For(
                ast.Name(turn.id, ast.Store()),
                nodes.call("range", turns),
                [nodes.assign(counter, number), *body],
                [],
                None,
            ),
        ]

    def construct(self, kind: Any, arguments: list[ast.expr]) -> ast.expr:
        return ast.Call(ast.parse(type_code(kind, self.types), mode="eval").body, arguments, [])

    def component(self, node: ast.expr, kind: Any, indices: list[ast.expr]) -> ast.expr:
        return nodes.index(node, *indices)

    def set_component(self, name: str, kind: Any, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        return [nodes.store(nodes.index(nodes.name(name), *indices), value)]

    # -- rows and worlds ---------------------------------------------------------------------------------------------

    def _column(self, row: Value, field: Field) -> ColumnKey:
        return (
            WORLD if isinstance(row.type, WorldType) else self.table if row.type.own else row.type.owner.__name__,
            field.name,
        )

    def _in_registers(self, row: Value) -> bool:
        """Whether this thread alone writes the row, so that its values stay in registers."""
        if isinstance(row.type, WorldType):
            return self.exclusive or self.table == WORLD
        return bool(row.type.own)

    def _row(self, row: Value, field: Field | None = None) -> ast.expr:
        if isinstance(row.type, WorldType):
            self.scalars.add("world")
            if field is not None and field.role is Role.CONFIG:  # one for all worlds, or one for each
                rows = nodes.index(
                    nodes.attribute(nodes.name(column_argument(self._column(row, field))), "shape"), nodes.constant(0)
                )
                return nodes.warp("min", nodes.name("world"), nodes.binary(rows, ast.Sub(), nodes.constant(1)))
            return nodes.name("world")
        if row.type.own:
            self.scalars.add("row")
        return row.node

    def _memory_column(self, row: Value, field: Field, write: bool) -> ast.Name:
        """The whole column, for access in memory."""
        column = self._column(row, field)
        self.columns[column] = field
        if field.role is Role.CONFIG:
            pass  # no system writes it
        elif not self._in_registers(row):
            (self.remote_write if write else self.remote_read).add(column)
        elif write:
            self.local_write.add(column)
        return nodes.name(column_argument(column))

    def raw(self, row: Value, field: Field) -> ast.expr:
        if self._in_registers(row) and not field.is_array:
            table, name = self._column(row, field)
            self.inputs[table, RAW_PREFIX + name] = field
            return nodes.name(register_name((table, RAW_PREFIX + name)))
        return accessors.get(self._memory_column(row, field, write=False), field, self._row(row))

    def _assigned(self, column: ColumnKey) -> bool:
        assigned = self.flow.assigned if self.flow is not None else None
        return assigned is not None and column in assigned

    def read(self, row: Value, field: Field) -> ast.expr:
        column = self._column(row, field)
        if self._in_registers(row) or isinstance(row.type, WorldType):
            if not self._assigned(column):
                self.inputs[column] = field
            if not self._in_registers(row) and field.role is not Role.CONFIG:
                self.remote_read.add(column)
            return nodes.name(register_name(column))
        return sanitize_action(
            accessors.get(self._memory_column(row, field, write=False), field, self._row(row)), field
        )

    def write(self, row: Value, field: Field, value: ast.expr) -> list[ast.stmt]:
        if not self._in_registers(row):
            return [accessors.put(self._memory_column(row, field, write=True), field, self._row(row), value)]
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
        kept = f"wl_kept_{'_'.join(self._column(row, field))}"
        return [
            nodes.assign(kept, accessors.get(self._memory_column(row, field, write=False), field, self._row(row))),
            nodes.store(nodes.index(nodes.name(kept), *indices), value),
            accessors.put(self._memory_column(row, field, write=True), field, self._row(row), nodes.name(kept)),
        ]

    def accumulate(
        self, row: Value, field: Field, operator: str, value: ast.expr, indices: list[ast.expr] | None
    ) -> list[ast.stmt]:
        if self._in_registers(row) and not (self.threads > 1 and self._in_shared_loop):
            now = self.read(row, field) if indices is None else self.element(row, field, indices)
            value = self.combine(operator, now, value, field)
            return self.write(row, field, value) if indices is None else self.set_element(row, field, indices, value)
        if self._in_registers(row) and indices is None and operator in ("add", "sub", "min", "max"):
            self._reductions[self._column(row, field)] = (
                "add" if operator == "sub" else operator
            )  # what is taken away is a sum less than 0
            mine = _reduction_variable(self._column(row, field))
            return [nodes.assign(mine, self.combine(operator, nodes.name(mine), value, field))]
        place = [self._row(row), *(indices or [])]
        column = self._memory_column(row, field, write=True)
        if operator in ("or", "and") and field.dtype is wp.bool:
            test = value if operator == "or" else ast.UnaryOp(ast.Not(), value)
            return self._on_first_lane(
                [
                    ast.If(
                        test,
                        [accessors.put(column, field, self._row(row), nodes.constant(operator == "or"), indices)],
                        [],
                    )
                ]
            )
        if self.exact and scalar_of(field.dtype) in FLOATS:
            self.in_order = True
            return self._accumulate_in_order(column, place, operator, value, field)
        if operator in ("min", "max") and indices is None and field.dtype in ATOMIC_EXTREME_TYPES:
            self.atomic_extremes[operator, field.dtype] = None
            return self._on_first_lane(
                [ast.Expr(nodes.call(atomic_extreme_name(operator, field.dtype), column, *place, value))]
            )
        return self._on_first_lane([ast.Expr(nodes.warp(f"atomic_{operator}", column, *place, value))])

    def _accumulate_in_order(
        self, column: ast.expr, place: list[ast.expr], operator: str, value: ast.expr, field: Field
    ) -> list[ast.stmt]:
        """Plain arithmetic instead of an atomic one, which on the GPU takes the smallest numbers for 0; the place is found once."""
        found = [f"wl_place_{i}" for i in range(len(place))]
        row, *indices = (nodes.name(name) for name in found)
        held = [nodes.assign(name, self.cast(where, wp.int32)) for name, where in zip(found, place, strict=True)]
        now = accessors.get(column, field, row, list(indices))
        return [*held, accessors.put(column, field, row, self.combine(operator, now, value, field), list(indices))]

    def array(self, row: Value, field: Field) -> ast.expr:
        return nodes.name(column_argument(self._column(row, field)))

    def element(self, row: Value, field: Field, indices: list[ast.expr]) -> ast.expr:
        return sanitize_action(
            accessors.get(self._memory_column(row, field, write=False), field, self._row(row, field), indices), field
        )

    def set_element(self, row: Value, field: Field, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        column_in_memory = self._on_first_lane(
            [accessors.put(self._memory_column(row, field, write=True), field, self._row(row), value, indices)]
        )
        return (
            column_in_memory
            if self.threads == 1 or self._in_shared_loop
            else [self._barrier(), *column_in_memory, self._barrier()]
        )

    def slot(self, row: Value) -> ast.expr:
        if row.type.own:
            self.scalars.add("slot")
            return nodes.name("slot")
        return nodes.binary(row.node, ast.Sub(), self.first_row(row.type.owner))

    def keep_row(self, row: Value) -> ast.expr:
        return self._row(row)

    def follow(self, reference: ast.expr, kind: Any, line: int) -> ast.expr:
        place = (
            self.find(reference, kind) if kind.__name__ in self.counts.populations else self.cast(reference, wp.int32)
        )
        return self._row_at(place, kind, f"an empty or stale reference to {kind.__name__} was followed", line)

    def at(self, place: ast.expr, kind: Any, line: int, known: Bounds | None) -> ast.expr:
        sure = (
            kind.__name__ not in self.counts.populations
            and known is not None
            and 0 <= known[0] <= known[1] < self.counts[kind.__name__]
        )
        if sure:
            return nodes.binary(self.first_row(kind), ast.Add(), place)
        return self._row_at(place, kind, f"there is no {kind.__name__} {{value}}", line)

    def _row_at(self, place: ast.expr, kind: Any, message: str, line: int) -> ast.expr:
        """The row of the entity at a place among its kind; the first row, and a fault with ``message``, where there is none."""
        slot = nodes.call("checked_slot", place, self.count(kind), *self._fault_arguments(message, line))
        batch = self.counts.pooled(kind.__name__)
        if batch is not None:  # the first row of an empty world is another's
            return nodes.call("pooled_row", self.first_row(kind), self.count(kind), slot, nodes.constant(batch))
        return nodes.binary(self.first_row(kind), ast.Add(), slot)

    def find(self, reference: ast.expr, kind: Any) -> ast.expr:
        """The place of the entity of a population that a reference refers to; -1 where it is not there."""
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
        if population is None:  # a system that is only being checked
            return [nodes.assign(name, self.literal(-1, wp.int64))]
        self.counts_spawns = True
        self.scalars |= {"slot", "system", "world"}
        world = this_world()
        share = spawns_per_run(self.counts[self.table])
        pending = self._memory_column(world, population.field("pending"), write=True)
        nth, place = nodes.name("wl_births"), nodes.name("wl_place")
        step = self.read(world, ENGINE_FIELDS["step"])
        counted = nodes.call("count_birth", pending, nodes.name("world"))
        row: ast.expr = nodes.binary(
            nodes.binary(nodes.name("world"), ast.Mult(), nodes.constant(population.spawn_capacity)), ast.Add(), place
        )
        room, lost = population.spawn_capacity, list[ast.stmt]()
        taking: list[ast.stmt] = [nodes.assign("wl_place", counted)]
        known: dict[str, tuple[Field, ast.expr]] = {SERIAL: (ROW_FIELDS[SERIAL], nodes.name(name))}
        if population.limit.batch is not None:
            row, room = place, population.limit.batch
            known[ROW_WORLD] = (ROW_FIELDS[ROW_WORLD], nodes.name("world"))
            taking, lost = self._reserve_spawn_slot(population, counted, room)
        fits: ast.expr = ast.Compare(place, [ast.Lt()], [nodes.constant(room)])
        if population.pooled:
            fits = ast.BoolOp(ast.And(), [fits, ast.Compare(nth, [ast.LtE()], [nodes.constant(share)])])
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
        return [
            nodes.assign("wl_births", nodes.binary(nth, ast.Add(), nodes.constant(1))),
            nodes.assign(
                name,
                nodes.call("serial_number", step, nodes.name("system"), nodes.name("slot"), nodes.constant(share), nth),
            ),
            *self._on_first_lane([*taking, ast.If(fits, stores, lost)]),
        ]

    def _reserve_spawn_slot(
        self, population: Population, counted: ast.expr, room: int
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Where all worlds share the room for new entities: take a place of it, and tell the settlement where there is none."""
        column = (population.scratch_table, STATE.name)
        self.columns[column] = STATE
        self.remote_write.add(column)
        state = nodes.name(column_argument(column))
        taking: list[ast.stmt] = [ast.Expr(counted), nodes.assign("wl_place", nodes.call("take_place", state))]
        return taking, [ast.Expr(nodes.warp("atomic_max", state, nodes.constant(CURSOR), nodes.constant(room + 1)))]

    def default(self, field: Field) -> ast.expr:
        """The default of a component, written out."""
        if not shape_of(field.dtype):
            return self.as_variable(self.literal(np.asarray(field.default).item(), field.dtype), field.dtype)
        numbers = np.broadcast_to(np.asarray(field.default), shape_of(field.dtype)).ravel().tolist()
        return self.construct(field.dtype, [self.literal(n, scalar_of(field.dtype)) for n in numbers])

    def despawn(self, row: Value) -> list[ast.stmt]:
        table = self.table if row.type.own else row.type.owner.__name__
        population = self.counts.populations.get(table)
        if population is None:
            return [ast.Pass()]
        world = this_world()
        self.scalars.add("world")
        dead, changed = ROW_FIELDS[DESPAWNED], population.field("changed")
        return [
            accessors.put(self._memory_column(row, dead, write=True), dead, self._row(row), nodes.constant(True)),
            accessors.put(
                self._memory_column(world, changed, write=True), changed, nodes.name("world"), nodes.constant(True)
            ),
        ]

    def world_id(self) -> ast.expr:
        self.scalars |= {"world", "offset"}
        return nodes.binary(nodes.name("world"), ast.Add(), nodes.name("offset"))

    def count(self, kind: Any) -> ast.expr:
        population = self.counts.populations.get(kind.__name__)
        if population is None:
            return nodes.constant(self.counts[kind.__name__])
        found = self.read(this_world(), population.field("count"))
        return nodes.warp(
            "min", found, nodes.constant(population.limit.per_world)
        )  # whatever the outside wrote into the column

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

    def loop_near(
        self, label: str, name: str, kind: Any, field: Field, point: ast.expr, radius: ast.expr, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        return near_loop(GridAccess(self, kind, field, label), name, point, radius, body)

    def loop_nearest(
        self, label: str, name: str, kind: Any, field: Field, point: ast.expr, k: int, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        return nearest_loop(self, label, name, kind, field, point, k, body)

    def world_column(self, field: Field) -> str:
        """The whole column of a field of the world, to be read."""
        return self._memory_column(this_world(), field, write=False).id

    def other_rows_column(self, kind: Any, field: Field) -> str:
        """The whole column of a component of other rows, to be read."""
        return self._memory_column(Value(nodes.name("row"), RowType(kind, own=False)), field, write=False).id

    # -- several threads ---------------------------------------------------------------------------------------------

    @property
    def _in_shared_loop(self) -> bool:
        """Whether the code at hand is run by one of the threads of a row, and not by all of them."""
        return self.flow is not None and self.flow.turns is not None

    def _on_first_lane(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """What must happen once, though all threads of a row come along."""
        if self.threads == 1 or self._in_shared_loop:
            return body
        self.scalars.add("lane")
        return [ast.If(ast.Compare(nodes.name("lane"), [ast.Eq()], [nodes.constant(0)]), body, [])]

    def _barrier(self) -> ast.stmt:
        return ast.Expr(nodes.call(barrier(self.threads)))

    def prefetch(self, row: Value, array: Field, first: int, turns: int) -> list[ast.stmt]:
        if self.threads > 1 or not accessors.is_worth_prefetching(array, turns):
            return []
        return [accessors.prefetch(self._memory_column(row, array, write=True), array, self._row(row), first, turns)]

    def share(
        self, counter: str, turns: ast.expr, body: list[ast.stmt], reductions: list[tuple[Value, Field]]
    ) -> list[ast.stmt]:
        """Every thread takes each ``threads``-th turn, and gathers on its own. Those of a warp then gather over all its threads; warps meet in memory."""
        if self.threads == 1:
            return super().share(counter, turns, body, reductions)
        self.scalars.add("lane")
        operators = {
            self._column(row, held): self._reductions.pop(self._column(row, held), "") for row, held in reductions
        }
        meeting = [
            (row, held)
            for row, held in reductions
            if self.threads > WARP_SIZE or not operators[self._column(row, held)]
        ]
        out: list[ast.stmt] = [self._barrier()] if meeting else []  # some may still be loading what is now stored
        for row, held in reductions:
            operator, now = operators[self._column(row, held)], self.read(row, held)
            if (row, held) in meeting:
                out += self._on_first_lane(
                    [accessors.put(self._memory_column(row, held, write=True), held, self._row(row), now)]
                )
            if operator:
                start = now if operator in ("min", "max") else self.literal(0, held.dtype)
                out.append(
                    nodes.assign(_reduction_variable(self._column(row, held)), self.as_variable(start, held.dtype))
                )
        if isinstance(turns, ast.Constant) and isinstance(turns.value, int):
            rounds: ast.expr = nodes.constant(-(-turns.value // self.threads))
        else:
            rounds = nodes.binary(
                nodes.binary(turns, ast.Add(), nodes.constant(self.threads - 1)),
                ast.Div(),
                nodes.constant(self.threads),
            )
        place = nodes.binary(
            nodes.binary(nodes.name(f"{counter}_round"), ast.Mult(), nodes.constant(self.threads)),
            ast.Add(),
            nodes.name("lane"),
        )
        taken = ast.If(ast.Compare(nodes.name(counter), [ast.Lt()], [turns]), body, [])
        loop = ast.For(
            ast.Name(f"{counter}_round", ast.Store()),
            nodes.call("range", rounds),
            [nodes.assign(counter, place), taken],
            [],
            None,
        )
        out += [self._barrier(), loop]
        leads = ast.Compare(
            nodes.binary(nodes.name("lane"), ast.Mod(), nodes.constant(WARP_SIZE)), [ast.Eq()], [nodes.constant(0)]
        )
        for row, held in reductions:
            operator, mine = operators[self._column(row, held)], _reduction_variable(self._column(row, held))
            if not operator:
                continue
            self.warp_reductions[operator, held.dtype] = None
            out.append(nodes.assign(mine, nodes.call(warp_reduce_name(operator, held.dtype), nodes.name(mine))))
            if self.threads > WARP_SIZE:
                meet = nodes.warp(
                    f"atomic_{operator}", self._memory_column(row, held, write=True), self._row(row), nodes.name(mine)
                )
                out.append(ast.If(leads, [ast.Expr(meet)], []))
        out.append(self._barrier())
        for row, held in reductions:
            if (row, held) in meeting:
                out += self.write(
                    row, held, accessors.get(self._memory_column(row, held, write=False), held, self._row(row))
                )
            else:
                operator, total = (
                    operators[self._column(row, held)],
                    nodes.name(_reduction_variable(self._column(row, held))),
                )
                out += self.write(
                    row,
                    held,
                    total if operator in ("min", "max") else self.combine(operator, self.read(row, held), total, held),
                )
        return out

    # -- random numbers, ends, faults --------------------------------------------------------------------------------

    def random(self, function: str, draw: ast.expr, arguments: list[ast.expr]) -> ast.expr:
        self.draws = True
        self.scalars |= {"slot", "system"}
        world = this_world()
        seed, episode, step = (self.read(world, ENGINE_FIELDS[n]) for n in ("seed", "episode", "step"))
        function = f"{EXACT}{function}" if self.exact and function == "normal" else function
        return nodes.call(function, seed, self.world_id(), episode, step, nodes.name("wl_stream"), draw, *arguments)

    def end(self, row: Value, what: str) -> list[ast.stmt]:
        if isinstance(row.type, WorldType):
            return self.write(row, ENGINE_FIELDS[what], nodes.constant(True))
        return [
            *self.write(row, AGENT_FIELDS[what], nodes.constant(True)),
            *self.write(row, AGENT_FIELDS["active"], nodes.constant(False)),
        ]

    def _fault_arguments(self, message: str, line: int) -> list[ast.expr]:
        self.faults = True
        self.scalars |= {"world", "offset"}
        site = self.sites.add(self.describe_site(message, line))
        world = "world" if self.threads == 1 or self._in_shared_loop else "wl_teller"
        return [nodes.name(n) for n in ("errors", *map(column_argument, FAULT_COLUMNS), world, "offset")] + [
            nodes.constant(site)
        ]

    def check_index(self, node: ast.expr, size: int, what: str, line: int) -> ast.expr:
        if not self.table:  # a helper, which knows no world
            return nodes.call("wl_wrap_index", node, nodes.constant(size))
        return nodes.call(
            "checked_index",
            node,
            nodes.constant(size),
            *self._fault_arguments(f"{what} {{value}} is out of range", line),
        )

    def fault(self, what: str, line: int, value: ast.expr) -> list[ast.stmt]:
        return [ast.Expr(nodes.call("report_fault", *self._fault_arguments(what, line), value))]

    def use_helper(self, helper: Any) -> None:
        if self.helpers.setdefault(helper.name, helper) is not helper:
            raise helper.source.error(f"another helper is called '{helper.name}' too", "give one of them another name")

    def debug(self, statement: ast.Expr) -> list[ast.stmt]:
        return []


def _reduction_variable(column: ColumnKey) -> str:
    """The variable in which a thread gathers what its turns bring to a component."""
    return f"wl_gathered_{register_name(column)}"


def sanitize_action(node: ast.expr, field: Field) -> ast.expr:
    """An action as read by systems: a choice that does not exist counts as choice 0, so that it can index safely."""
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
