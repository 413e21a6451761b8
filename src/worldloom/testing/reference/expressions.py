"""Expressions of the reference: names, components, elements, calls and random numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.testing.reference import arithmetic as m
from worldloom.testing.reference.functions import mathematics
from worldloom.testing.reference.operators import Operators
from worldloom.testing.reference.typed import Eval, Typed
from worldloom.testing.reference.types import BOOL, FLOAT, INT, NAMED, RefType, RowType, Type

if TYPE_CHECKING:
    from worldloom.testing.reference.tables import Run

COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3}


class Expressions(Operators):
    """Translates the expressions of one system or helper. Each is typed once and becomes a function of the run."""

    # -- names and attributes ----------------------------------------------------------------------------------------

    def expr_Constant(self, node: ast.Constant) -> Typed:
        return self.constant(node.value)

    def expr_Name(self, node: ast.Name) -> Typed:
        name = node.id
        if name in self.rows:
            return Typed(RowType(self.rows[name]), lambda e: e.rows[name])
        if name in self.locals:
            return Typed(self.locals[name], lambda e: e.locals[name])
        constant = self.world.constants[name]
        if isinstance(constant, np.generic):
            return Typed(Type(constant.dtype.name), lambda e: constant)
        return self.constant(constant)

    def expr_Attribute(self, node: ast.Attribute) -> Typed:
        holder = self.expression(node.value)
        run, name = holder.run, node.attr
        if isinstance(holder.type, RefType):
            kind = holder.type.kind
            return Typed(BOOL, lambda e: e.alive(kind, run(e)))
        if isinstance(holder.type, RowType):
            return self.row_attribute(holder.type.kind, run, name)
        index = COMPONENTS[name]
        return Typed(holder.type.element, lambda e: run(e)[index])

    def row_attribute(self, kind: str, run: Eval, name: str) -> Typed:
        if name == "ref":
            return Typed(RefType(kind), lambda e: e.reference(kind, run(e)))
        if kind == "World" and name == "id":
            return Typed(INT, lambda e: np.int32(e.world))
        if name == "id":
            return Typed(INT, lambda e: np.int32(run(e)))
        component = self.world.field(kind, name)
        if component.shape:
            return Typed(component.type, run, array=(component, run))
        columns = self.world.tables[kind]
        if component.role == "action":
            choices = component.choices

            def clean(e: Run) -> Any:
                value = columns[name][e.world, run(e)]
                return value if 0 <= value < choices else np.int32(0)

            return Typed(INT, clean)
        if isinstance(component.type, Type) and component.type.shape:
            return Typed(component.type, lambda e: columns[name][e.world, run(e)].copy())
        return Typed(component.type, lambda e: columns[name][e.world, run(e)])

    # -- elements ----------------------------------------------------------------------------------------------------

    def expr_Subscript(self, node: ast.Subscript) -> Typed:
        holder = self.expression(node.value)
        if holder.array is not None:
            component, row = holder.array
            index = self.index(node, component.shape)
            columns, name = self.world.tables[self.kind_of(node.value)], component.name
            composite = bool(component.type.shape)

            def element(e: Run) -> Any:
                value = columns[name][(e.world, row(e), *index(e))]
                return value.copy() if composite else value

            return Typed(component.type, element)
        index, run = self.index(node, holder.type.shape), holder.run
        return Typed(holder.type.element, lambda e: run(e)[index(e)])

    def kind_of(self, attribute: ast.expr) -> str:
        """The kind of the row in ``row.array``."""
        assert isinstance(attribute, ast.Attribute)
        kind: str = self.expression(attribute.value).type.kind
        return kind

    def index(self, node: ast.Subscript, shape: tuple[int, ...]) -> Callable[[Run], tuple[int, ...]]:
        """The indices of ``x[...]``. Negative ones count from the end. One out of range is a fault and becomes 0."""
        written = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        runs = [self.expression(item).run for item in written]
        helper = self.helper

        def indices(e: Run) -> tuple[int, ...]:
            numbers = []
            for run, size in zip(runs, shape, strict=True):
                index = int(run(e))
                index += size if index < 0 else 0
                if not 0 <= index < size:
                    index = min(max(index, 0), size - 1) if helper else e.fault()
                numbers.append(index)
            return tuple(numbers)

        return indices

    # -- calls -------------------------------------------------------------------------------------------------------

    def expr_Call(self, node: ast.Call) -> Typed:
        name = ast.unparse(node.func)
        if name in self.world.helpers:
            return self.helper_call(name, node)
        if name in NAMED:
            return self.construct(NAMED[name], node)
        if isinstance(node.func, ast.Attribute) and not name.startswith("wl."):
            return self.method(node.func, node)
        name = name.removeprefix("wl.")
        if name == "len":
            value = self.expression(node.args[0])
            return self.constant((value.array[0].shape if value.array else value.type.shape)[0])
        if name == "round":
            run = self.convert(self.expression(node.args[0]), FLOAT)
            return Typed(INT, lambda e: m.cast(np.rint(run(e)), "float32", "int32"))
        arguments = [self.expression(a) for a in node.args]
        if name in ("min", "max") and len(arguments) > 2:
            result = arguments[0]
            for argument in arguments[1:]:
                result = mathematics(self, name, [result, argument])
            return result
        return mathematics(self, name, arguments)

    def helper_call(self, name: str, node: ast.Call) -> Typed:
        helper = self.world.helpers[name]
        runs = [
            self.convert(self.expression(a), kind) if not kind.shape else self.expression(a).run
            for a, kind in zip(node.args, helper.kinds, strict=True)
        ]
        return Typed(helper.returns, lambda e: helper.call(e, [run(e) for run in runs]))

    def construct(self, kind: Type, node: ast.Call) -> Typed:
        """A conversion such as ``int(x)``, or a vector, matrix or quaternion from its elements."""
        if kind == BOOL:
            test = self.truth(node.args[0])
            return Typed(BOOL, lambda e: np.bool_(test(e)))
        values = [self.expression(a) for a in node.args]
        if not kind.shape:
            value, target = values[0], kind.scalar
            literal = value.bare is not None and not isinstance(value.bare, bool)
            if literal and (kind.is_float or isinstance(value.bare, int)):
                return Typed(kind, self.convert(value, kind))
            run, source = value.run, value.type.scalar
            return Typed(kind, lambda e: m.cast(run(e), source, target))
        runs, shape, dtype = [self.convert(v, kind.element) for v in values], kind.shape, kind.numpy
        if len(runs) <= 1:
            one = runs[0] if runs else (lambda e: dtype(0))
            return Typed(kind, lambda e: np.full(shape, one(e), dtype))
        return Typed(kind, lambda e: np.array([run(e) for run in runs], dtype).reshape(shape))

    def method(self, function: ast.Attribute, node: ast.Call) -> Typed:
        holder = self.expression(function.value)
        if isinstance(holder.type, RefType):
            kind, run = holder.type.kind, holder.run
            return Typed(RowType(kind), lambda e: e.follow(kind, run(e)))
        name = function.attr
        if name == "count":
            kind = ast.unparse(node.args[0])
            return Typed(INT, lambda e: np.int32(e.count(kind)))
        if name == "at":
            kind, slot = ast.unparse(node.args[0]), self.convert(self.expression(node.args[1]), INT)
            return Typed(RowType(kind), lambda e: e.at(kind, int(slot(e))))
        return self.drawn(name, node)

    def drawn(self, name: str, node: ast.Call) -> Typed:
        """Random numbers. Every draw of a statement has a fixed number, whether it is evaluated or not."""
        if name in ("choice", "weighted"):
            value, draw = self.expression(node.args[0]), self.draw()
            run = value.run
            if name == "weighted":
                return Typed(INT, lambda e: m.weighted(e.word(draw), run(e)))
            if value.array is not None:
                (component, row), columns = value.array, self.world.tables[self.kind_of(node.args[0])]
                size, column = component.shape[0], component.name
                return Typed(
                    component.type,
                    lambda e: columns[column][e.world, row(e), m.integer(e.word(draw), np.int32(0), np.int32(size))],
                )
            size = value.type.shape[0]
            return Typed(value.type.element, lambda e: run(e)[m.integer(e.word(draw), np.int32(0), np.int32(size))])
        kind = INT if name == "integer" else FLOAT
        runs = [self.convert(self.expression(a), kind) for a in node.args]
        zero, one = kind.numpy(0), kind.numpy(1)
        low: Eval = runs[0] if len(runs) == 2 else lambda e: zero
        high: Eval = runs[-1] if runs else lambda e: one
        if name == "normal":
            pair = self.draw(2)
            return Typed(FLOAT, lambda e: m.normal(e.word(pair), e.word(pair + 1), low(e), high(e)))
        single, function = self.draw(), m.integer if name == "integer" else m.uniform
        return Typed(kind, lambda e: function(e.word(single), low(e), high(e)))

    def draw(self, used: int = 1) -> int:
        self.draws += used
        return self.draws - used
