"""Python's own functions: ``abs``, ``min``, ``max``, ``round``, ``len``, ``pow`` and ``bool``; quotients and bits."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.calls.constructors import conversion, to_integer
from worldloom.core.frontend.calls.math_calls import math_call
from worldloom.core.frontend.shared_loop import share
from worldloom.core.frontend.values import ArrayType, TupleType, Value
from worldloom.core.kernels.bits import lowest_bit
from worldloom.core.kernels.quotients import fast_quotient
from worldloom.core.model.dtypes import is_composite, shape_of

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions.expressions import Expressions


def _abs(flow: Expressions, node: ast.Call) -> Value:
    return math_call(flow, "abs", [flow.plain(a) for a in node.args], node)


def _extreme(name: str) -> Any:
    def translate(flow: Expressions, node: ast.Call) -> Value:
        if len(node.args) < 2:
            raise flow.error(f"{name}() takes two numbers or more", "write them as arguments", node)
        result = flow.plain(node.args[0])
        for argument in node.args[1:]:
            result = math_call(flow, name, [result, flow.plain(argument)], node)
        return result

    return translate


def _round(flow: Expressions, node: ast.Call) -> Value:
    if len(node.args) != 1:
        raise flow.error("round() takes one number here", "scale before and after rounding to keep digits", node)
    rounded = Value(
        flow.target.function("rint", (wp.float32,), [flow.number(node.args[0], wp.float32, "the number")]), wp.float32
    )
    return Value(to_integer(flow, rounded, wp.int32), wp.int32)


def _len(flow: Expressions, node: ast.Call) -> Value:
    inner = node.args[0] if len(node.args) == 1 else None
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "all":
        raise flow.error(
            "world.all(...) can only be looped over",
            f"count with {ast.unparse(inner.func.value)}.count({ast.unparse(inner)[:-1].split('(', 1)[1]})",
            node,
        )
    value = flow.expression(node.args[0]) if len(node.args) == 1 else None
    if value is not None and isinstance(value.type, ArrayType):
        return flow.constant(value.type.field.shape[0], node)
    if value is not None and is_composite(value.type):
        return flow.constant(shape_of(value.type)[0], node)
    if value is not None and isinstance(value.type, TupleType):
        return flow.constant(len(value.type.items), node)
    raise flow.error("len() takes an array component or a vector", "count entities with world.count(Kind)", node)


def _pow(flow: Expressions, node: ast.Call) -> Value:
    if len(node.args) != 2:
        raise flow.error("pow() takes two numbers", "write a ** b", node)
    return flow.power(flow.plain(node.args[0]), flow.plain(node.args[1]), node)


def _bool(flow: Expressions, node: ast.Call) -> Value:
    return conversion(flow, wp.bool, node)


def _share(flow: Expressions, node: ast.Call) -> Value:
    raise flow.error("wl.share(...) can only be looped over", "write 'for ray in wl.share(30):' in a system", node)


def _fast_quotient(flow: Expressions, node: ast.Call) -> Value:
    if len(node.args) != 2:
        raise flow.error("fast_quotient() takes two numbers", "give it a dividend and a divisor", node)
    a, b = (flow.number(side, wp.float32, "the number") for side in node.args)
    code = nodes.binary(a, ast.Div(), b) if flow.target.exact else nodes.call("wl_quotient", a, b)
    return Value(code, wp.float32)


def _lowest_bit(flow: Expressions, node: ast.Call) -> Value:
    if len(node.args) != 1:
        raise flow.error("lowest_bit() takes one integer", "give it one", node)
    return Value(nodes.call("wl_lowest_bit", flow.number(node.args[0], wp.int32, "the integer")), wp.int32)


BUILTINS: dict[Any, Any] = {
    share: _share,
    abs: _abs,
    min: _extreme("min"),
    max: _extreme("max"),
    round: _round,
    len: _len,
    pow: _pow,
    bool: _bool,
    lowest_bit: _lowest_bit,
    fast_quotient: _fast_quotient,
}
