"""Calls of mathematical functions: ``wl.sin``, ``wp.sin`` and ``math.sin``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.arithmetic.functions import NAMES, MathFunction, NoOverloadError, result_type
from worldloom.core.frontend import nodes
from worldloom.core.frontend.values import INTEGERS, Value, describe, is_scalar, promoted_type
from worldloom.core.model.dtypes import FLOATS, is_composite, scalar_of, shape_of

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions.expressions import Expressions


_RENAMED: dict[str, str] = {"fabs": "abs"}


def math_name(function: Any) -> str | None:
    """The name of the function behind ``wl.sin``, ``wp.sin`` or ``math.sin``; None for other objects."""
    if isinstance(function, MathFunction):
        return function.name
    name: str = getattr(function, "key", getattr(function, "__name__", ""))
    module = getattr(function, "__module__", "") or ""
    known = isinstance(function, wp.Function) or module == "math"
    name = _RENAMED.get(name) or name
    return name if known and name in NAMES else None


def math_call(flow: Expressions, name: str, arguments: list[Value], node: ast.AST) -> Value:
    scalars = [a for a in arguments if is_scalar(a.type)]
    vectors = [a for a in arguments if is_composite(a.type)]
    kind: Any = wp.int32
    if vectors:
        kind = scalar_of(vectors[0].type)
    elif scalars:
        typed = [one for one in scalars if not one.weak]
        kind = (typed or scalars)[0].type
        for one in [*typed, *[one for one in scalars if one.weak]]:
            kind = promoted_type(Value(one.node, kind, None if typed else 0), one)
        if kind not in FLOATS and name not in ("abs", "min", "max", "clamp", "sign", "nonzero"):
            kind = wp.float32
        if kind is wp.bool:
            kind = wp.int32
    if name == "cw_div" and kind in INTEGERS:
        raise flow.error("vectors of integers cannot be divided", "divide component by component with //", node)
    code = [flow.convert(a, kind, node, f"an argument of '{name}'") if is_scalar(a.type) else a.node for a in arguments]
    types = tuple(kind if is_scalar(a.type) else a.type for a in arguments)
    try:
        result = result_type(name, types)
    except NoOverloadError:
        shown = ", ".join(describe(a.type) for a in arguments)
        raise flow.error(
            f"wrong type: '{name}' does not take ({shown})", "see docs/python.md for what it takes", node
        ) from None
    if name == "isfinite" and len(shape_of(types[0])) < 2:
        return Value(nodes.call("wl_is_finite_vector" if shape_of(types[0]) else "wl_is_finite", *code), wp.bool)
    if name in ("argmin", "argmax"):
        return Value(flow.target.cast(flow.target.function(name, types, code), wp.int32), wp.int32)
    return Value(flow.math_call(name, types, code, node), result)
