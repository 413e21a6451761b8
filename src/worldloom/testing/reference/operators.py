"""Operators of the reference: conversions, arithmetic, comparisons and conditional expressions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.testing.reference import arithmetic as m
from worldloom.testing.reference.functions import operation
from worldloom.testing.reference.typed import Eval, Typed
from worldloom.testing.reference.types import BOOL, FLOAT, INT, RefType, TupleType, Type, common, widens

if TYPE_CHECKING:
    from worldloom.testing.reference.tables import Run


class Operators:
    """Translates the operators of one system or helper of a world file."""

    def __init__(self, world: Any, helper: bool) -> None:
        self.world, self.helper = world, helper
        self.locals: dict[str, Any] = {}
        """The type of each local variable."""
        self.rows: dict[str, str] = {}
        """The kind of each parameter of a system."""
        self.draws = 0
        """Number of random draws of the current statement."""

    def expression(self, node: ast.expr) -> Typed:
        typed: Typed = getattr(self, f"expr_{type(node).__name__}")(node)
        return typed

    def constant(self, value: Any) -> Typed:
        if value is None:
            return Typed(None, lambda e: np.int64(-1))
        if isinstance(value, bool):
            number: Any = np.bool_(value)
            return Typed(BOOL, lambda e: number, value)
        kind = FLOAT if isinstance(value, float) else INT if value < 2**31 else Type("uint32")
        number = kind.numpy(value)
        return Typed(kind, lambda e: number, value)

    # -- conversions -------------------------------------------------------------------------------------------------

    def convert(self, value: Typed, kind: Any) -> Eval:
        """``value`` as a ``kind``."""
        if isinstance(kind, RefType):
            return value.run if value.type is not None else lambda e: np.int64(-1)
        if value.bare is not None and not isinstance(value.bare, bool):
            with np.errstate(all="ignore"):
                number = kind.numpy(value.bare)
            return lambda e: number
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
            tests = [self.compare(left_node, ast.Eq(), item) for item in right_node.elts]
            contained = isinstance(operator, ast.In)
            return lambda e: any([test(e) for test in tests]) == contained  # a list: all items are evaluated
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
