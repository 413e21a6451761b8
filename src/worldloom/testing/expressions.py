"""Expressions of the reference: each is typed once and becomes a function of the run that gives its value."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.testing import arithmetic as m
from worldloom.testing.functions import mathematics, operation
from worldloom.testing.types import (
    BOOL,
    FLOAT,
    INT,
    NAMED,
    Component,
    RefType,
    RowType,
    TupleType,
    Type,
    common,
    widens,
)

if TYPE_CHECKING:
    from worldloom.testing.tables import Run

Eval = Callable[["Run"], Any]
COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3}


@dataclass
class Typed:
    """An expression that was understood. ``bare`` is its number where that is written out; ``array`` the component of an array and its row."""

    type: Any
    run: Eval
    bare: Any = None
    array: tuple[Component, Eval] | None = None
    parts: list[Typed] | None = None


class Expressions:
    """Understands the expressions of one system or helper of a :class:`~worldloom.testing.reference.Reference`."""

    def __init__(self, world: Any, helper: bool) -> None:
        self.world, self.helper = world, helper
        self.locals: dict[str, Any] = {}
        self.rows: dict[str, str] = {}
        """The parameters: the kind of each."""
        self.draws = 0

    def expression(self, node: ast.expr) -> Typed:
        found: Typed = getattr(self, f"expr_{type(node).__name__}")(node)
        return found

    # -- conversions -------------------------------------------------------------------------------------------------

    def convert(self, value: Typed, kind: Any) -> Eval:
        """``value`` as a ``kind``."""
        if isinstance(kind, RefType):
            return value.run if value.type is not None else lambda e: np.int64(-1)
        if value.bare is not None and not isinstance(value.bare, bool):
            with np.errstate(all="ignore"):
                made = kind.numpy(value.bare)
            return lambda e: made
        if value.type == kind:
            return value.run
        assert widens(value.type.scalar, kind.scalar), f"{value.type} does not become {kind} by itself"
        run, source, target = value.run, value.type.scalar, kind.scalar
        return lambda e: m.cast(run(e), source, target)

    def truth(self, node: ast.expr) -> Eval:
        value = self.expression(node)
        run = value.run
        if isinstance(value.type, RefType):
            kind = value.type.kind
            return lambda e: e.alive(kind, run(e))
        return run if value.type == BOOL else lambda e: run(e) != 0

    # -- names and attributes ----------------------------------------------------------------------------------------

    def expr_Constant(self, node: ast.Constant) -> Typed:
        return self.constant(node.value)

    def constant(self, value: Any) -> Typed:
        if value is None:
            return Typed(None, lambda e: np.int64(-1))
        if isinstance(value, bool):
            made: Any = np.bool_(value)
            return Typed(BOOL, lambda e: made, value)
        kind = FLOAT if isinstance(value, float) else INT if value < 2**31 else Type("uint32")
        made = kind.numpy(value)
        return Typed(kind, lambda e: made, value)

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
        place = COMPONENTS[name]
        return Typed(holder.type.element, lambda e: run(e)[place])

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
                found = columns[name][(e.world, row(e), *index(e))]
                return found.copy() if composite else found

            return Typed(component.type, element)
        index, run = self.index(node, holder.type.shape), holder.run
        return Typed(holder.type.element, lambda e: run(e)[index(e)])

    def kind_of(self, attribute: ast.expr) -> str:
        """The kind of the row that ``row.array`` is an array of."""
        assert isinstance(attribute, ast.Attribute)
        kind: str = self.expression(attribute.value).type.kind
        return kind

    def index(self, node: ast.Subscript, shape: tuple[int, ...]) -> Callable[[Run], tuple[int, ...]]:
        """The indices of ``x[...]``: negative ones count from the end, and those that do not exist are a fault and stand for 0."""
        written = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        runs = [self.expression(item).run for item in written]
        helper = self.helper

        def place(e: Run) -> tuple[int, ...]:
            found = []
            for run, size in zip(runs, shape, strict=True):
                index = int(run(e))
                index += size if index < 0 else 0
                if not 0 <= index < size:
                    index = min(max(index, 0), size - 1) if helper else e.fault()
                found.append(index)
            return tuple(found)

        return place

    # -- operators ---------------------------------------------------------------------------------------------------

    def expr_BinOp(self, node: ast.BinOp) -> Typed:
        return self.binary(self.expression(node.left), node.op, self.expression(node.right))

    def binary(self, left: Typed, operator: ast.operator, right: Typed) -> Typed:
        name = type(operator).__name__
        if left.type.shape or right.type.shape:
            return self.composite_binary(left, name, right)
        a, b = left.run, right.run
        if left.type == right.type == BOOL and name in ("BitAnd", "BitOr", "BitXor"):
            logic = {"BitAnd": np.logical_and, "BitOr": np.logical_or, "BitXor": np.logical_xor}[name]
            return Typed(BOOL, lambda e: logic(a(e), b(e)))
        if name == "Pow":
            return self.power(left, right)
        kind = common(left.type, left.bare, right.type, right.bare)
        if name == "Div" and not kind.is_float:
            kind = FLOAT
        return Typed(kind, operation(name, self.convert(left, kind), self.convert(right, kind), kind.scalar))

    def power(self, base: Typed, exponent: Typed) -> Typed:
        if exponent.bare in (2, 3):
            kind = FLOAT if isinstance(exponent.bare, float) and not base.type.is_float else base.type
            run, cube = self.convert(base, kind), exponent.bare == 3

            def product(e: Run) -> Any:
                a = run(e)
                return a * a * a if cube else a * a

            return Typed(kind, product)
        kind = common(base.type, base.bare, exponent.type, exponent.bare)
        kind = kind if kind.is_float else FLOAT
        a, b = self.convert(base, kind), self.convert(exponent, kind)
        if exponent.bare == 0.5:
            return Typed(kind, lambda e: np.sqrt(a(e)))
        return Typed(kind, lambda e: np.power(a(e), b(e)))

    def composite_binary(self, left: Typed, name: str, right: Typed) -> Typed:
        scalar = (left.type if left.type.shape else right.type).element
        a = left.run if left.type.shape else self.convert(left, scalar)
        b = right.run if right.type.shape else self.convert(right, scalar)
        families = left.type.family, right.type.family
        if name in ("Mult", "MatMult") and families == ("mat", "vec"):
            return Typed(right.type, lambda e: m.matrix_vector(a(e), b(e)))
        if name in ("Mult", "MatMult") and families == ("vec", "mat"):
            return Typed(left.type, lambda e: m.matrix_vector(b(e).T, a(e)))
        if name in ("Mult", "MatMult") and families == ("mat", "mat"):
            return Typed(left.type, lambda e: m.matrices(a(e), b(e)))
        if name == "Mult" and families == ("quat", "quat"):
            return Typed(left.type, lambda e: m.quat_multiply(a(e), b(e)))
        kind = left.type if left.type.shape else right.type
        if name == "Add":
            return Typed(kind, lambda e: a(e) + b(e))
        if name == "Sub":
            return Typed(kind, lambda e: a(e) - b(e))
        if name == "Mult":
            return Typed(kind, lambda e: a(e) * b(e))
        assert name == "Div", name
        return Typed(kind, lambda e: a(e) / b(e))

    def expr_UnaryOp(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.Not):
            test = self.truth(node.operand)
            return Typed(BOOL, lambda e: not test(e))
        value = self.expression(node.operand)
        run, scalar = value.run, value.type.scalar
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Invert):
            return Typed(value.type, lambda e: m.wrapped(~int(run(e)), scalar))
        if value.bare is not None:
            return self.constant(-value.bare)
        if value.type.shape:
            return Typed(value.type, lambda e: -run(e))
        if value.type.is_float:
            return Typed(value.type, lambda e: -run(e))
        return Typed(value.type, lambda e: m.wrapped(-int(run(e)), scalar))

    def expr_BoolOp(self, node: ast.BoolOp) -> Typed:
        tests = [self.truth(item) for item in node.values]
        if isinstance(node.op, ast.And):
            return Typed(BOOL, lambda e: np.bool_(all(test(e) for test in tests)))
        return Typed(BOOL, lambda e: np.bool_(any(test(e) for test in tests)))

    def expr_Compare(self, node: ast.Compare) -> Typed:
        links, left = [], node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            links.append(self.compare(left, operator, right))
            left = right
        return Typed(BOOL, lambda e: np.bool_(all(link(e) for link in links)))

    def compare(self, left_node: ast.expr, operator: ast.cmpop, right_node: ast.expr) -> Eval:
        if isinstance(operator, (ast.In, ast.NotIn)):
            assert isinstance(right_node, ast.Tuple)
            same, wanted = (
                [self.compare(left_node, ast.Eq(), item) for item in right_node.elts],
                isinstance(operator, ast.In),
            )
            return lambda e: any(test(e) for test in same) == wanted
        left, right = self.expression(left_node), self.expression(right_node)
        if not isinstance(left.type, Type) or not isinstance(right.type, Type):
            a, b, equal = left.run, right.run, isinstance(operator, (ast.Eq, ast.Is))
            return lambda e: (a(e) == b(e)) == equal
        kind = BOOL if left.type == right.type == BOOL else common(left.type, left.bare, right.type, right.bare)
        a, b = (left.run, right.run) if kind == BOOL else (self.convert(left, kind), self.convert(right, kind))
        order = {
            "Eq": np.equal,
            "NotEq": np.not_equal,
            "Lt": np.less,
            "LtE": np.less_equal,
            "Gt": np.greater,
            "GtE": np.greater_equal,
        }
        test = order[type(operator).__name__]
        return lambda e: test(a(e), b(e))

    def expr_IfExp(self, node: ast.IfExp) -> Typed:
        test, one, two = self.truth(node.test), self.expression(node.body), self.expression(node.orelse)
        scalars = all(isinstance(side.type, Type) and not side.type.shape for side in (one, two))
        if scalars:
            kind: Any = BOOL if one.type == two.type == BOOL else common(one.type, one.bare, two.type, two.bare)
        else:
            kind = one.type if one.type is not None else two.type
        a, b = (self.convert(side, kind) if scalars or isinstance(kind, RefType) else side.run for side in (one, two))
        return Typed(kind, lambda e: a(e) if test(e) else b(e))

    def expr_Tuple(self, node: ast.Tuple) -> Typed:
        parts = [self.expression(item) for item in node.elts]
        return Typed(TupleType(tuple(p.type for p in parts)), lambda e: tuple(p.run(e) for p in parts), parts=parts)

    # -- calls -------------------------------------------------------------------------------------------------------

    def expr_Call(self, node: ast.Call) -> Typed:
        name = ast.unparse(node.func)
        if name in self.world.helpers:
            return self.helper_call(name, node)
        if name in NAMED:
            return self.made(NAMED[name], node)
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
            found = arguments[0]
            for argument in arguments[1:]:
                found = mathematics(self, name, [found, argument])
            return found
        return mathematics(self, name, arguments)

    def helper_call(self, name: str, node: ast.Call) -> Typed:
        helper = self.world.helpers[name]
        runs = [
            self.convert(self.expression(a), kind) if not kind.shape else self.expression(a).run
            for a, kind in zip(node.args, helper.kinds, strict=True)
        ]
        return Typed(helper.returns, lambda e: helper.call(e, [run(e) for run in runs]))

    def made(self, kind: Type, node: ast.Call) -> Typed:
        """A conversion such as ``int(x)``, or a vector, matrix or quaternion from its numbers."""
        if kind == BOOL:
            test = self.truth(node.args[0])
            return Typed(BOOL, lambda e: np.bool_(test(e)))
        values = [self.expression(a) for a in node.args]
        if not kind.shape:
            value, target = values[0], kind.scalar
            if (
                value.bare is not None
                and not isinstance(value.bare, bool)
                and (kind.is_float or isinstance(value.bare, int))
            ):
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
            kind, place = ast.unparse(node.args[0]), self.convert(self.expression(node.args[1]), INT)
            return Typed(RowType(kind), lambda e: e.at(kind, int(place(e))))
        return self.drawn(name, node)

    def drawn(self, name: str, node: ast.Call) -> Typed:
        """Random numbers: every draw of a statement has its number from the start, whether it is evaluated or not."""
        if name in ("choice", "weighted"):
            value, place = self.expression(node.args[0]), self.draw()
            run = value.run
            if name == "weighted":
                return Typed(INT, lambda e: m.weighted(e.word(place), run(e)))
            if value.array is not None:
                (component, row), columns = value.array, self.world.tables[self.kind_of(node.args[0])]
                size, column = component.shape[0], component.name
                return Typed(
                    component.type,
                    lambda e: columns[column][e.world, row(e), m.integer(e.word(place), np.int32(0), np.int32(size))],
                )
            size = value.type.shape[0]
            return Typed(value.type.element, lambda e: run(e)[m.integer(e.word(place), np.int32(0), np.int32(size))])
        kind = INT if name == "integer" else FLOAT
        runs = [self.convert(self.expression(a), kind) for a in node.args]
        zero, one = kind.numpy(0), kind.numpy(1)
        low: Eval = runs[0] if len(runs) == 2 else lambda e: zero
        high: Eval = runs[-1] if runs else lambda e: one
        if name == "normal":
            place = self.draw(2)
            return Typed(FLOAT, lambda e: m.normal(e.word(place), e.word(place + 1), low(e), high(e)))
        place, function = self.draw(), m.integer if name == "integer" else m.uniform
        return Typed(kind, lambda e: function(e.word(place), low(e), high(e)))

    def draw(self, used: int = 1) -> int:
        self.draws += used
        return self.draws - used
