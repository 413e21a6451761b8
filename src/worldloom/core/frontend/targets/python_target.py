"""The interpreted target: the user's own function with explicit types, on proxies of rows."""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from typing import Any

import warp as wp

from worldloom.core.arithmetic import scalars
from worldloom.core.arithmetic.functions import resolved
from worldloom.core.arithmetic.values import composite_maker, interpreted, size_of
from worldloom.core.frontend import nodes
from worldloom.core.frontend.bounds import Bounds
from worldloom.core.frontend.targets.target import Target
from worldloom.core.frontend.values import Value, WorldType
from worldloom.core.model.dtypes import SCALARS, canonical
from worldloom.core.model.entity import Has
from worldloom.core.model.fields import Field

NOTES = ("reads", "writes", "array", "iterations")
"""What the interpreter notes, to check ``disjoint=True``; in generated code the names begin with ``wl_note_``."""


class PythonTarget(Target):
    """Builds the body of one Python function. ``runtime`` in the generated code is the interpreter.

    Attributes:
        objects: The objects that the generated code names: literals, types, and functions resolved by argument types.
        promised: The components of entities whose uses the generated code notes, to check ``disjoint=True``.
    """

    def __init__(
        self, location: str, engine: bool = False, exact: bool = False, promised: frozenset[str] = frozenset()
    ) -> None:
        self.location, self.engine, self.exact, self.promised = location, engine, exact, promised
        self.helpers: dict[str, Any] = {}
        self.objects: dict[str, Any] = {}
        self._names: dict[Any, str] = {}

    def _object(self, key: tuple[Any, ...], value: Any) -> ast.Name:
        """The name of an object in the generated code, one per ``key``."""
        if key not in self._names:
            self._names[key] = f"wl_{key[0]}_{len(self._names)}"
            self.objects[self._names[key]] = value
        return nodes.name(self._names[key])

    def _runtime(self, method: str, *arguments: ast.expr) -> ast.expr:
        return nodes.call(nodes.attribute(nodes.name("wl_runtime"), method), *arguments)

    def _noted(self, row: Value, field: Field, use: str) -> ast.expr:
        """The row whose component is used next: ``use`` is ``reads`` or ``writes``."""
        if field.name not in self.promised or isinstance(row.type, WorldType):
            return row.node
        return nodes.call(f"wl_note_{use}", row.node, nodes.constant(field.name))

    def local(self, name: str) -> str:
        return f"{name}_" if name == "wp" or name.startswith("wl_") else name

    def literal(self, value: Any, kind: Any) -> ast.expr:
        if kind is wp.bool:
            return nodes.constant(bool(value))
        return self._object(("number", kind, repr(value)), SCALARS[kind](value))

    def cast(self, node: ast.expr, kind: Any) -> ast.expr:
        kind = canonical(kind)
        return nodes.call(self._object((f"to_{kind.__name__}",), scalars.cast(kind)), node)

    def function(self, name: str, types: tuple[Any, ...], arguments: list[ast.expr]) -> ast.expr:
        return nodes.call(self._object((f"{name}", *types), resolved(name, types)), *arguments)

    def construct(self, kind: Any, arguments: list[ast.expr]) -> ast.expr:
        if len(arguments) == size_of(kind) > 1:  # numbers alone
            return nodes.call(self._object(("new", kind), interpreted(kind)), ast.Tuple(arguments, ast.Load()))
        return nodes.call(self._object(("make", kind), composite_maker(kind)), *arguments)

    def component(self, node: ast.expr, kind: Any, indices: list[ast.expr]) -> ast.expr:
        return nodes.index(node, *indices) if len(indices) == 1 else nodes.call("wl_component", node, *indices)

    def set_component(self, name: str, kind: Any, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        return [nodes.assign(name, nodes.call("wl_replace", nodes.name(name), value, *indices))]

    def _once(self, row: Value) -> tuple[list[ast.stmt], Value]:
        """The row in a variable, for code that reads and writes it: a stale reference is one fault, not two."""
        if isinstance(row.node, ast.Name):
            return [], row
        return [nodes.assign("wl_row", row.node)], replace(row, node=nodes.name("wl_row"))

    def _indices_once(self, indices: list[ast.expr]) -> tuple[list[ast.stmt], list[ast.expr]]:
        """The indices in variables, for the same reason."""
        assignments = [
            nodes.assign(f"wl_index{k}", index)
            for k, index in enumerate(indices)
            if not isinstance(index, ast.Constant)
        ]
        return list(assignments), [
            index if isinstance(index, ast.Constant) else nodes.name(f"wl_index{k}") for k, index in enumerate(indices)
        ]

    def read(self, row: Value, field: Field) -> ast.expr:
        return nodes.attribute(self._noted(row, field, "reads"), field.name)

    def raw(self, row: Value, field: Field) -> ast.expr:
        return self._runtime("raw", self._noted(row, field, "reads"), nodes.constant(field.name))

    def write(self, row: Value, field: Field, value: ast.expr) -> list[ast.stmt]:
        return [nodes.store(nodes.attribute(self._noted(row, field, "writes"), field.name), value)]

    def write_component(self, row: Value, field: Field, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        return self.write(row, field, nodes.call("wl_replace", self.read(row, field), value, *indices))

    def accumulate(
        self, row: Value, field: Field, operator: str, value: ast.expr, indices: list[ast.expr] | None
    ) -> list[ast.stmt]:
        start, row = self._once(row)
        if indices is not None:
            assignments, indices = self._indices_once(indices)
            start += assignments
        place: ast.expr = nodes.attribute(row.node, field.name)
        if indices is not None:
            place = nodes.index(place, *indices)
        combined = self.combine(operator, place, value, field)
        return [*start, nodes.store(copy.copy(place), combined)]

    def array(self, row: Value, field: Field) -> ast.expr:
        if field.name in self.promised and not isinstance(row.type, WorldType):
            return nodes.call("wl_note_array", row.node, nodes.constant(field.name))
        return nodes.attribute(row.node, field.name)

    def element(self, row: Value, field: Field, indices: list[ast.expr]) -> ast.expr:
        return nodes.index(self.array(row, field), *indices)

    def set_element(self, row: Value, field: Field, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        return [nodes.store(nodes.index(self.array(row, field), *indices), value)]

    def check_index(self, node: ast.expr, size: int, what: str, line: int) -> ast.expr:
        if not self.location:  # a helper, which has no world
            return nodes.call("wl_wrap_index", node, nodes.constant(size))
        message = self.describe_site(f"{what} {{value}} is out of range", line)
        return self._runtime("check_index", node, nodes.constant(size), nodes.constant(message))

    def slot(self, row: Value) -> ast.expr:
        return nodes.attribute(row.node, "id")

    def follow(self, reference: ast.expr, kind: Any, line: int) -> ast.expr:
        message = self.describe_site(f"an empty or stale reference to {kind.__name__} was followed", line)
        return self._runtime("follow", nodes.constant(kind.__name__), reference, nodes.constant(message))

    def at(self, slot: ast.expr, kind: Any, line: int, known: Bounds | None) -> ast.expr:
        message = self.describe_site(f"there is no {kind.__name__} {{value}}", line)
        return self._runtime("at", nodes.constant(kind.__name__), slot, nodes.constant(message))

    def alive(self, reference: ast.expr, kind: Any) -> ast.expr:
        return self._runtime("alive", nodes.constant(kind.__name__), reference)

    def reference(self, row: Value) -> ast.expr:
        return nodes.attribute(row.node, "ref")

    def spawn(self, name: str, kind: Any, values: dict[str, ast.expr]) -> list[ast.stmt]:
        spawned = ast.Call(
            nodes.attribute(nodes.name("wl_runtime"), "spawn"),
            [nodes.constant(kind.__name__)],
            [ast.keyword(n, v) for n, v in values.items()],
        )
        return [nodes.assign(name, spawned)]

    def despawn(self, row: Value) -> list[ast.stmt]:
        return [ast.Expr(self._runtime("despawn", row.node))]

    def world_id(self) -> ast.expr:
        return nodes.attribute(nodes.name("wl_runtime"), "world_id")

    def count(self, kind: Any) -> ast.expr:
        assert not isinstance(kind, Has)
        return self._runtime("count", nodes.constant(kind.__name__))

    def loop_rows(self, name: str, kind: Any, body: list[ast.stmt]) -> list[ast.stmt]:
        return [
            ast.For(ast.Name(name, ast.Store()), self._runtime("rows", nodes.constant(kind.__name__)), body, [], None)
        ]

    def loop_near(
        self, label: str, name: str, kind: Any, field: Field, point: ast.expr, radius: ast.expr, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        rows = self._runtime("near", nodes.constant(kind.__name__), nodes.constant(field.name), point, radius)
        return [ast.For(ast.Name(name, ast.Store()), rows, body, [], None)]

    def loop_nearest(
        self, label: str, name: str, kind: Any, field: Field, point: ast.expr, k: int, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        rows = self._runtime(
            "nearest", nodes.constant(kind.__name__), nodes.constant(field.name), point, nodes.constant(k)
        )
        found: list[ast.stmt] = [ast.For(ast.Name(name, ast.Store()), rows, body, [], None)]
        if field.name not in self.promised:
            return found
        noted = nodes.call("wl_note_reads", nodes.name(name), nodes.constant(field.name))
        return [*self.loop_rows(name, kind, [ast.Expr(noted)]), *found]

    def loop_shared(
        self,
        counter: str,
        iterations: ast.expr,
        body: list[ast.stmt],
        reductions: list[tuple[Value, Field]],
        disjoint: bool = False,
    ) -> list[ast.stmt]:
        numbers: ast.expr = nodes.call("range", iterations)
        if disjoint and self.promised:
            numbers = nodes.call("wl_note_iterations", numbers)
        return [ast.For(ast.Name(counter, ast.Store()), numbers, body, [], None)]

    def random(self, function: str, draw: ast.expr, arguments: list[ast.expr]) -> ast.expr:
        function = "exact_normal" if self.exact and function == "normal" else function
        return self._runtime("random", nodes.constant(function), draw, *arguments)

    def end(self, row: Value, what: str) -> list[ast.stmt]:
        return [ast.Expr(self._runtime("end", row.node, nodes.constant(what)))]

    def fault(self, what: str, line: int, value: ast.expr) -> list[ast.stmt]:
        return [ast.Expr(self._runtime("fault", nodes.constant(self.describe_site(what, line)), value))]

    def use_helper(self, helper: Any) -> None:
        if self.helpers.setdefault(helper.key, helper) is not helper:
            raise helper.source.error(f"another helper is called '{helper.name}' too", "give one of them another name")

    def debug(self, statement: ast.Expr) -> list[ast.stmt]:
        return [statement]
