"""The compiled target: rows become values in registers or elements of columns, for the CPU and for CUDA alike."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.entity import AGENT_FIELDS, ENGINE_FIELDS
from worldloom.core.exact import PREFIX as EXACT
from worldloom.core.fields import FLOATS, Field, Role, canonical, scalar_of, shape_of
from worldloom.core.rewrite import nodes
from worldloom.core.rewrite.target import Target
from worldloom.core.rewrite.values import Value, WorldType, is_scalar
from worldloom.core.spaces import Discrete, MultiDiscrete

if TYPE_CHECKING:
    from worldloom.core.rewrite.expressions import Expressions

WORLD = "World"
"""The name of the world's table in generated code."""

Column = tuple[str, str]
"""A table's name and a field's."""

FAULT_COLUMNS: tuple[Column, ...] = ((WORLD, "broken"), (WORLD, "step"), (WORLD, "episode"))
SCALAR_PARAMETERS = ("row", "world", "slot", "offset", "system")


def variable(column: Column) -> str:
    """The local variable that holds this row's value of a column."""
    return f"{column[0]}__{column[1]}"


def column_name(column: Column) -> str:
    """The kernel argument that holds a whole column."""
    return f"{column[0]}__{column[1]}__col"


def type_code(kind: Any, types: dict[str, Any]) -> str:
    """How generated code spells a component type; types without a name in Warp are added to ``types``."""
    if canonical(getattr(wp, kind.__name__, None)) is kind:
        return f"wp.{kind.__name__}"
    code = f"vec{'x'.join(map(str, shape_of(kind)))}_{scalar_of(kind).__name__}"
    types[code] = kind
    return code


@dataclass
class Sites:
    """The places in the user's code where a world can go wrong, numbered for the compiled code."""

    messages: list[str] = field(default_factory=list)

    def add(self, message: str) -> int:
        if message not in self.messages:
            self.messages.append(message)
        return self.messages.index(message)


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
    """

    in_order = False

    def __init__(
        self,
        table: str,
        counts: dict[str, int],
        exclusive: bool,
        place: str,
        sites: Sites,
        types: dict[str, Any],
        engine: bool = False,
        exact: bool = False,
    ) -> None:
        self.exact = exact
        self.table, self.counts, self.exclusive = table, counts, exclusive
        self.place, self.sites, self.types, self.engine = place, sites, types, engine
        self.flow: Expressions | None = None
        self.inputs: dict[Column, Field] = {}
        self.outputs: dict[Column, Field] = {}
        self.columns: dict[Column, Field] = {}
        self.remote_read: set[Column] = set()
        self.remote_write: set[Column] = set()
        self.local_write: set[Column] = set()
        self.scalars: set[str] = set()
        self.helpers: dict[str, Any] = {}
        self.faults = False
        self.draws = False

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

    def hold(self, node: ast.expr, kind: Any) -> ast.expr:
        """Warp takes a bare number for a constant for ever; a conversion makes it a variable."""
        return self.cast(node, kind if is_scalar(kind) else wp.int32) if isinstance(node, ast.Constant) else node

    def construct(self, kind: Any, arguments: list[ast.expr]) -> ast.expr:
        return ast.Call(ast.parse(type_code(kind, self.types), mode="eval").body, arguments, [])

    def component(self, node: ast.expr, kind: Any, indices: list[ast.expr]) -> ast.expr:
        return nodes.index(node, *indices)

    def set_component(self, name: str, kind: Any, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        return [nodes.store(nodes.index(nodes.name(name), *indices), value)]

    # -- rows and worlds ---------------------------------------------------------------------------------------------

    def _column(self, row: Value, field: Field) -> Column:
        return (WORLD if isinstance(row.type, WorldType) else self.table if row.type.own else row.type.owner.__name__, field.name)

    def _in_registers(self, row: Value) -> bool:
        """Whether this thread alone writes the row, so that its values stay in registers."""
        if isinstance(row.type, WorldType):
            return self.exclusive or self.table == WORLD
        return bool(row.type.own)

    def _row(self, row: Value) -> ast.expr:
        if isinstance(row.type, WorldType):
            self.scalars.add("world")
            return nodes.name("world")
        if row.type.own:
            self.scalars.add("row")
        return row.node

    def _reach(self, row: Value, field: Field, write: bool) -> ast.Name:
        """The whole column, for access in memory."""
        column = self._column(row, field)
        self.columns[column] = field
        if not self._in_registers(row):
            (self.remote_write if write else self.remote_read).add(column)
        elif write:
            self.local_write.add(column)
        return nodes.name(column_name(column))

    def raw(self, row: Value, field: Field) -> ast.expr:
        return nodes.index(self._reach(row, field, write=False), self._row(row))

    def _assigned(self, column: Column) -> bool:
        assigned = self.flow.assigned if self.flow is not None else None
        return assigned is not None and column in assigned

    def read(self, row: Value, field: Field) -> ast.expr:
        column = self._column(row, field)
        if self._in_registers(row) or isinstance(row.type, WorldType):
            if not self._assigned(column):
                self.inputs[column] = field
            if not self._in_registers(row) and field.role is not Role.CONFIG:
                self.remote_read.add(column)
            return nodes.name(variable(column))
        return self._load(nodes.index(self._reach(row, field, write=False), self._row(row)), field)

    def _load(self, element: ast.expr, field: Field) -> ast.expr:
        """An element of a column as a value of its own: Warp would look at a bare truth value again after the branch it decides."""
        return self.cast(element, wp.bool) if field.dtype is wp.bool else clean_action(element, field)

    def write(self, row: Value, field: Field, value: ast.expr) -> list[ast.stmt]:
        if not self._in_registers(row):
            return [nodes.store(nodes.index(self._reach(row, field, write=True), self._row(row)), value)]
        column = self._column(row, field)
        self.outputs[column] = field
        if self.flow is not None and self.flow.assigned is not None:
            self.flow.assigned.add(column)
        return [nodes.assign(variable(column), self.hold(value, field.dtype))]

    def write_component(self, row: Value, field: Field, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        if self._in_registers(row):
            name = self.read(row, field)
            self.outputs[self._column(row, field)] = field
            return [nodes.store(nodes.index(name, *indices), value)]
        kept = f"wl_kept_{'_'.join(self._column(row, field))}"
        return [
            nodes.assign(kept, nodes.index(self._reach(row, field, write=False), self._row(row))),
            nodes.store(nodes.index(nodes.name(kept), *indices), value),
            nodes.store(nodes.index(self._reach(row, field, write=True), self._row(row)), nodes.name(kept)),
        ]

    def accumulate(self, row: Value, field: Field, operator: str, value: ast.expr, indices: list[ast.expr] | None) -> list[ast.stmt]:
        if self._in_registers(row):
            now = self.read(row, field) if indices is None else self.element(row, field, indices)
            value = self._combine(operator, now, value, field)
            return self.write(row, field, value) if indices is None else self.set_element(row, field, indices, value)
        place = [self._row(row), *(indices or [])]
        column = self._reach(row, field, write=True)
        if operator in ("or", "and"):
            test = value if operator == "or" else ast.UnaryOp(ast.Not(), value)
            return [ast.If(test, [nodes.store(nodes.index(column, *place), nodes.constant(operator == "or"))], [])]
        if self.exact and scalar_of(field.dtype) in FLOATS:
            self.in_order = True
            return self._accumulate_in_order(column, place, operator, value, field)
        return [ast.Expr(nodes.warp(f"atomic_{operator}", column, *place, value))]

    def _accumulate_in_order(self, column: ast.expr, place: list[ast.expr], operator: str, value: ast.expr, field: Field) -> list[ast.stmt]:
        """Plain arithmetic instead of an atomic one, which on the GPU takes the smallest numbers for 0; the place is found once."""
        found = [f"wl_place_{i}" for i in range(len(place))]
        now, then = (nodes.index(column, *map(nodes.name, found)) for _ in range(2))
        held = [nodes.assign(name, self.cast(where, wp.int32)) for name, where in zip(found, place, strict=True)]
        return [*held, nodes.store(then, self._combine(operator, now, value, field))]

    def _combine(self, operator: str, now: ast.expr, value: ast.expr, field: Field) -> ast.expr:
        if operator in ("or", "and"):
            return ast.BoolOp(ast.Or() if operator == "or" else ast.And(), [now, value])
        return self.mathematics(operator, (field.dtype, field.dtype), [now, value])

    def array(self, row: Value, field: Field) -> ast.expr:
        return nodes.name(column_name(self._column(row, field)))

    def element(self, row: Value, field: Field, indices: list[ast.expr]) -> ast.expr:
        return self._load(nodes.index(self._reach(row, field, write=False), self._row(row), *indices), field)

    def set_element(self, row: Value, field: Field, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        return [nodes.store(nodes.index(self._reach(row, field, write=True), self._row(row), *indices), value)]

    def slot(self, row: Value) -> ast.expr:
        if row.type.own:
            self.scalars.add("slot")
            return nodes.name("slot")
        self.scalars.add("world")
        first = nodes.binary(nodes.name("world"), ast.Mult(), self.count(row.type.owner))
        return nodes.binary(row.node, ast.Sub(), first)

    def keep_row(self, row: Value) -> ast.expr:
        return self._row(row)

    def follow(self, reference: ast.expr, kind: Any, line: int) -> ast.expr:
        size = self.counts[kind.__name__]
        self.scalars.add("world")
        slot = nodes.call("checked_slot", reference, nodes.constant(size), *self._fault_arguments(f"an empty reference to {kind.__name__} was followed", line))
        return nodes.binary(nodes.binary(nodes.name("world"), ast.Mult(), nodes.constant(size)), ast.Add(), slot)

    def world_id(self) -> ast.expr:
        self.scalars |= {"world", "offset"}
        return nodes.binary(nodes.name("world"), ast.Add(), nodes.name("offset"))

    def count(self, kind: Any) -> ast.expr:
        return nodes.constant(self.counts[kind.__name__])

    def loop_rows(self, name: str, kind: Any, body: list[ast.stmt]) -> list[ast.stmt]:
        self.scalars.add("world")
        counter = f"wl_i{name}"
        first = nodes.binary(nodes.name("world"), ast.Mult(), self.count(kind))
        row = nodes.assign(name, nodes.binary(first, ast.Add(), nodes.name(counter)))
        return [ast.For(ast.Name(counter, ast.Store()), nodes.call("range", self.count(kind)), [row, *body], [], None)]

    # -- random numbers, ends, faults --------------------------------------------------------------------------------

    def random(self, function: str, draw: ast.expr, arguments: list[ast.expr]) -> ast.expr:
        self.draws = True
        self.scalars |= {"slot", "system"}
        world = Value(nodes.name("world"), WorldType(None))  # type: ignore[arg-type]
        seed, episode, step = (self.read(world, ENGINE_FIELDS[n]) for n in ("seed", "episode", "step"))
        function = f"{EXACT}{function}" if self.exact and function == "normal" else function
        return nodes.call(function, seed, self.world_id(), episode, step, nodes.name("wl_stream"), draw, *arguments)

    def end(self, row: Value, what: str) -> list[ast.stmt]:
        if isinstance(row.type, WorldType):
            return self.write(row, ENGINE_FIELDS[what], nodes.constant(True))
        return [*self.write(row, AGENT_FIELDS[what], nodes.constant(True)), *self.write(row, AGENT_FIELDS["active"], nodes.constant(False))]

    def _fault_arguments(self, message: str, line: int) -> list[ast.expr]:
        self.faults = True
        self.scalars |= {"world", "offset"}
        site = self.sites.add(self.describe_site(message, line))
        return [nodes.name(n) for n in ("errors", *map(column_name, FAULT_COLUMNS), "world", "offset")] + [nodes.constant(site)]

    def check_index(self, node: ast.expr, size: int, what: str, line: int) -> ast.expr:
        if not self.table:  # a helper, which knows no world
            return nodes.call("wl_wrap_index", node, nodes.constant(size))
        return nodes.call("checked_index", node, nodes.constant(size), *self._fault_arguments(f"{what} {{value}} is out of range", line))

    def fault(self, what: str, line: int, value: ast.expr) -> list[ast.stmt]:
        return [ast.Expr(nodes.call("report_fault", *self._fault_arguments(what, line), value))]

    def use_helper(self, helper: Any) -> None:
        if self.helpers.setdefault(helper.name, helper) is not helper:
            raise helper.source.error(f"another helper is called '{helper.name}' too", "give one of them another name")

    def debug(self, statement: ast.Expr) -> list[ast.stmt]:
        return []


def clean_action(node: ast.expr, field: Field) -> ast.expr:
    """An action as read by systems: a choice that does not exist counts as choice 0, so that it can index safely."""
    if field.role is not Role.ACTION or field.space is None:
        return node
    if isinstance(field.space, Discrete):
        return nodes.call("clean_choice", node, nodes.constant(field.space.n))
    if isinstance(field.space, MultiDiscrete):
        choices = field.space.choices
        parts: list[ast.expr] = [nodes.call("clean_choice", nodes.index(node, nodes.constant(i)), nodes.constant(n)) for i, n in enumerate(choices)]
        return ast.Call(ast.parse(type_code(field.dtype, {}), mode="eval").body, parts, [])
    return node
