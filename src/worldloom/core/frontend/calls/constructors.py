"""Conversions such as ``int(x)``, and constructors of vectors, matrices and quaternions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.values import INTEGERS, Value, describe, is_scalar
from worldloom.core.model.dtypes import FLOATS, SCALARS, scalar_of, shape_of

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions.expressions import Expressions


def conversion(flow: Expressions, kind: Any, node: ast.Call) -> Value:
    if len(node.args) != 1:
        raise flow.error(f"{describe(kind)}() takes one number", "give it one", node)
    if kind is wp.bool:
        return Value(flow.truth(node.args[0]), wp.bool)
    wide = flow.wide_literal(node.args[0])
    if wide is not None:
        raise flow.wide_literal_error(wide, node.args[0], kind)
    value = flow.plain(node.args[0])
    if not is_scalar(value.type):
        raise flow.error(
            f"wrong type: {describe(value.type)} is not a single number", "convert one of its components", node
        )
    if value.weak and (kind in FLOATS or isinstance(value.const, int)):
        return Value(flow.convert(value, kind, node, "the number"), kind)
    return Value(
        to_integer(flow, value, kind)
        if kind in INTEGERS and value.type in FLOATS
        else flow.target.cast(value.node, kind),
        kind,
    )


def to_integer(flow: Expressions, value: Value, kind: Any) -> ast.expr:
    """A float truncated to an integer: saturated where it is out of range, 0 for NaN.

    Without the bounds the result would depend on the device.
    """
    info, real = np.iinfo(SCALARS[kind]), SCALARS[value.type]
    with np.errstate(over="ignore"):
        low, high = real(info.min), real(info.max)
    if np.isinf(low):
        low = -np.finfo(real).max
    if np.isinf(high):
        high = np.finfo(real).max
    elif int(high) > info.max:
        high = np.nextafter(high, real(0))
    bounds = [flow.target.literal(float(b), value.type) for b in (low, high)]
    return flow.target.cast(nodes.call("wl_clamp_finite", value.node, *bounds), kind)


def constructor(flow: Expressions, kind: Any, node: ast.Call) -> Value:
    arguments = [flow.plain(a) for a in node.args]
    code, size = [], 0
    for argument, item in zip(arguments, node.args, strict=True):
        if is_scalar(argument.type):
            code.append(flow.convert(argument, scalar_of(kind), item, f"a component of {describe(kind)}"))
            size += 1
        elif argument.type is kind or kind.__name__.startswith("transform"):
            code.append(argument.node)
            size += int(np.prod(shape_of(argument.type)))
        else:
            raise flow.error(
                f"wrong type: {describe(kind)} consists of numbers, not of {describe(argument.type)}",
                "write its components out: v.x, v.y, ...",
                item,
            )
    length = 1
    for n in shape_of(kind):
        length *= n
    if size not in (0, 1, length):
        raise flow.error(
            f"wrong type: {describe(kind)} takes {length} numbers, not {size}", f"give {length} numbers", node
        )
    if size == 0:
        code = [flow.target.literal(0.0 if scalar_of(kind) in FLOATS else 0, scalar_of(kind))] * length
    elif size == 1 and len(shape_of(kind)) > 1:
        code = code * length
    return Value(flow.target.construct(kind, code), kind)
