"""Operators: arithmetic, bits, powers, truth values and comparisons."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.arithmetic.functions import NoOverloadError, result_type
from worldloom.core.frontend import nodes
from worldloom.core.frontend.bounds import bounds_of
from worldloom.core.frontend.expressions.row_access import RowAccess
from worldloom.core.frontend.values import (
    INTEGERS,
    UNSIGNED_INTEGERS,
    RefType,
    RowType,
    Value,
    describe,
    is_plain,
    is_scalar,
    promoted_type,
)
from worldloom.core.kernels.exact import NoExactVersionError
from worldloom.core.model.dtypes import FLOATS, SCALARS, is_composite, scalar_of

_COMPARE = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Is: "is",
    ast.IsNot: "is not",
}


class Operators(RowAccess):
    """Translates operators. Subclassed by :class:`Expressions`."""

    def expr_BinOp(self, node: ast.BinOp) -> Value:
        left, right = self.operands(node.left, node.right)
        return self.binary(left, node.op, right, node)

    def operands(self, left: ast.expr, right: ast.expr) -> tuple[Value, Value]:
        """Both sides of an operator; the error for an integer of more than 32 bits names the type of the other side."""
        for side, other in ((left, right), (right, left)):
            value = self.wide_literal(side)
            if value is not None and self.wide_literal(other) is None:
                raise self.wide_literal_error(value, side, self.expression(other).type)
        return self.expression(left), self.expression(right)

    def binary(self, left: Value, operator: ast.operator, right: Value, node: ast.AST) -> Value:
        symbol = SYMBOLS.get(type(operator), type(operator).__name__)
        for side in (left, right):
            if not is_plain(side.type):
                raise self.error(
                    f"wrong type: {describe(side.type)} cannot be used in arithmetic", "use its components", node
                )
        if is_composite(left.type) or is_composite(right.type):
            return self.composite_binary(left, operator, right, node)
        if isinstance(operator, (ast.BitAnd, ast.BitOr, ast.BitXor)) and left.type is wp.bool and right.type is wp.bool:
            if isinstance(operator, ast.BitXor):
                return Value(ast.Compare(left.node, [ast.NotEq()], [right.node]), wp.bool)
            combined = ast.And() if isinstance(operator, ast.BitAnd) else ast.Or()
            return Value(nodes.both_sides(combined, [left.node, right.node]), wp.bool)
        if isinstance(operator, ast.Pow):
            return self.power(left, right, node)
        kind = promoted_type(left, right)
        if isinstance(operator, ast.Div) and kind not in FLOATS:
            kind = wp.float32
        a, b = (self.convert(side, kind, node, f"a side of '{symbol}'") for side in (left, right))
        if isinstance(operator, (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)):
            if kind in FLOATS:
                raise self.error("wrong type: bit operators take integers only", "convert with int(...)", node)
            if isinstance(operator, (ast.LShift, ast.RShift)):
                b = nodes.binary(b, ast.BitAnd(), self.target.literal(8 * np.dtype(SCALARS[kind]).itemsize - 1, kind))
            if isinstance(operator, ast.LShift):
                return Value(self.target.integer("lshift", kind, [a, b]), kind)
            return Value(nodes.binary(a, operator, b), kind)
        if isinstance(operator, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
            if kind in FLOATS or (
                kind is wp.int32 and isinstance(node, ast.BinOp) and bounds_of(self, node) is not None
            ):
                return Value(nodes.binary(a, operator, b), kind)
            return Value(self.target.integer(nodes.BINARY[type(operator)], kind, [a, b]), kind)
        if isinstance(operator, ast.FloorDiv):
            if kind in FLOATS:
                return Value(self.target.function("floor", (kind,), [nodes.binary(a, ast.Div(), b)]), kind)
            return Value(
                nodes.call("wl_unsigned_divide" if kind in UNSIGNED_INTEGERS else "wl_floor_divide", a, b), kind
            )
        if isinstance(operator, ast.Mod):
            called = (
                "wl_float_modulo"
                if kind in FLOATS
                else "wl_unsigned_modulo"
                if kind in UNSIGNED_INTEGERS
                else "wl_floor_modulo"
            )
            return Value(nodes.call(called, a, b), kind)
        raise self.unsupported(f"the operator '{symbol}'", node)

    def composite_binary(self, left: Value, operator: ast.operator, right: Value, node: ast.AST) -> Value:
        called = nodes.BINARY.get(type(operator))
        if called is None:
            raise self.error(
                f"vectors have no operator '{SYMBOLS[type(operator)]}'", "compute it component by component", node
            )
        scalar = scalar_of(left.type) if is_composite(left.type) else scalar_of(right.type)
        if called == "div" and scalar in INTEGERS:
            raise self.error("vectors of integers cannot be divided", "divide component by component with //", node)
        sides = []
        for side, other in ((left, right), (right, left)):
            if is_scalar(side.type):
                sides.append(
                    (self.convert(side, scalar_of(other.type), node, "a factor of a vector"), scalar_of(other.type))
                )
            else:
                sides.append((side.node, side.type))
        try:
            kind = result_type(called, (sides[0][1], sides[1][1]))
        except NoOverloadError:
            raise self.error(
                f"wrong type: no operator '{SYMBOLS[type(operator)]}' for {describe(left.type)}"
                f" and {describe(right.type)}",
                "use wl.cw_mul or wl.cw_div for products component by component, and equal lengths",
                node,
            ) from None
        return Value(self.target.math_call(called, (sides[0][1], sides[1][1]), [sides[0][0], sides[1][0]]), kind)

    def power(self, base: Value, exponent: Value, node: ast.AST) -> Value:
        if base.type is wp.bool:
            raise self.error("wrong type: a truth value has no power", "convert it with float(...)", node)
        if exponent.const in (2, 3) and not isinstance(exponent.const, bool):
            kind = wp.float32 if isinstance(exponent.const, float) and base.type not in FLOATS else base.type
            return Value(self.target.power(int(exponent.const), kind, self.convert(base, kind, node, "a base")), kind)
        kind = promoted_type(base, exponent)
        kind = kind if kind in FLOATS else wp.float32
        if exponent.const == 0.5:
            return Value(self.target.function("sqrt", (kind,), [self.convert(base, kind, node, "a base")]), kind)
        sides = [self.convert(side, kind, node, "a power") for side in (base, exponent)]
        return Value(self.math_call("pow", (kind, kind), sides, node), kind)

    def math_call(self, name: str, types: tuple[Any, ...], arguments: list[ast.expr], node: ast.AST) -> ast.expr:
        """A call of a Warp function for arguments of ``types``."""
        try:
            return self.target.math_call(name, types, arguments)
        except NoExactVersionError as error:
            raise self.error(str(error), "use numbers of 32 bits here, or turn exact mode off", node) from None

    def expr_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return Value(ast.UnaryOp(ast.Not(), self.truth(node.operand)), wp.bool)
        value = self.plain(node.operand)
        if isinstance(node.op, ast.USub):
            if value.weak:
                return self.constant(-value.const, node)
            if is_composite(value.type):
                return Value(self.target.math_call("neg", (value.type,), [value.node]), value.type)
            if value.type is wp.bool:
                raise self.error("wrong type: a truth value cannot be negated with '-'", "use 'not'", node)
            if value.type in FLOATS:  # a product: Warp computes 0 - x, which loses the sign of zero
                return Value(nodes.binary(value.node, ast.Mult(), self.target.literal(-1.0, value.type)), value.type)
            return Value(self.target.integer("neg", value.type, [value.node]), value.type)
        if isinstance(node.op, ast.UAdd):
            return value
        if value.type not in INTEGERS:
            raise self.error("wrong type: '~' takes integers only", "use 'not' for truth values", node)
        return Value(ast.UnaryOp(ast.Invert(), value.node), value.type)

    def expr_BoolOp(self, node: ast.BoolOp) -> Value:
        return Value(ast.BoolOp(node.op, [self.truth(item) for item in node.values]), wp.bool)

    def expr_Compare(self, node: ast.Compare) -> Value:
        links: list[ast.expr] = []
        left_node, draws_before = node.left, self.draw_count
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            links.append(self.compare(left_node, operator, right_node, node))
            left_node = right_node
        if self.draw_count != draws_before and (len(links) > 1 or isinstance(node.ops[0], (ast.In, ast.NotIn))):
            raise self.error(
                "a random number cannot be drawn in a comparison of several parts",
                "draw it into a variable first",
                node,
            )
        return Value(links[0] if len(links) == 1 else ast.BoolOp(ast.And(), links), wp.bool)

    def compare(self, left_node: ast.expr, operator: ast.cmpop, right_node: ast.expr, node: ast.AST) -> ast.expr:
        if isinstance(operator, (ast.In, ast.NotIn)):
            if not isinstance(right_node, (ast.Tuple, ast.List, ast.Set)):
                raise self.unsupported(
                    "'in' with anything but a list of values", node, "write the values: x in (1, 2, 3)"
                )
            if not right_node.elts:
                raise self.error("an empty list contains nothing", "list the values", node)
            same: list[ast.expr] = [self.compare(left_node, ast.Eq(), item, node) for item in right_node.elts]
            combined = nodes.both_sides(ast.Or(), same)
            return combined if isinstance(operator, ast.In) else ast.UnaryOp(ast.Not(), combined)
        left, right = self.operands(left_node, right_node)
        if isinstance(left.type, RowType) and isinstance(right.type, RowType):
            raise self.error(
                "two entities cannot be compared", "compare their references, a.ref == b.ref, or their ids", node
            )
        if isinstance(left.type, RefType) or isinstance(right.type, RefType):
            return self.compare_references(left, operator, right, node)
        if type(operator) not in _COMPARE:
            raise self.unsupported(f"'{SYMBOLS[type(operator)]}'", node, "compare numbers with ==, !=, <, <=, >, >=")
        if left.type is wp.bool and right.type is wp.bool:
            return ast.Compare(left.node, [operator], [right.node])
        if is_scalar(left.type) and is_scalar(right.type):
            kind = promoted_type(left, right)
            sides = [self.convert(side, kind, node, "a side of the comparison") for side in (left, right)]
            return ast.Compare(sides[0], [operator], [sides[1]])
        raise self.error(
            f"wrong type: {describe(left.type)} and {describe(right.type)} cannot be compared",
            "compare numbers, for example of single components",
            node,
        )

    def compare_references(self, left: Value, operator: ast.cmpop, right: Value, node: ast.AST) -> ast.expr:
        equal = isinstance(operator, (ast.Eq, ast.Is))
        if not equal and not isinstance(operator, (ast.NotEq, ast.IsNot)):
            raise self.error("references can only be tested for equality", "compare with == or !=", node)
        sides = []
        for side, other in ((left, right), (right, left)):
            if side.type is not None and (
                not isinstance(side.type, RefType) or (other.type is not None and side.type != other.type)
            ):
                raise self.error(
                    f"wrong type: {describe(left.type)} and {describe(right.type)} cannot be compared",
                    "compare references to one kind, or with None",
                    node,
                )
            sides.append(self.target.literal(-1, wp.int64) if side.type is None else side.node)
        return ast.Compare(sides[0], [ast.Eq() if equal else ast.NotEq()], [sides[1]])
