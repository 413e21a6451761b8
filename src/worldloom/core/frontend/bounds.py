"""Bounds of integers that are known when a system is translated, so that indices need no check at run time."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from worldloom.core.arithmetic.functions import MathFunction

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions.conversions import Conversions

Bounds = tuple[int, int]
"""The smallest and the largest value of an integer expression."""

_MIN, _MAX = -(2**31), 2**31 - 1


def bounds_of(flow: Conversions, node: ast.expr) -> Bounds | None:
    """The bounds of an integer expression: literals, loop counters, and arithmetic on them. None where unknown."""
    bounds = _bounds(flow, node)
    return bounds if bounds is not None and bounds[0] >= _MIN and bounds[1] <= _MAX else None


def range_bounds(flow: Conversions, arguments: list[ast.expr]) -> Bounds | None:
    """The bounds of the numbers of ``range(*arguments)``; None where they are unknown and for an empty range."""
    known = [bounds_of(flow, argument) for argument in arguments]
    ends = [b for b in known if b is not None]
    if len(ends) < len(known):
        return None
    down = len(ends) == 3 and ends[2][1] < 0
    low, high = (
        (0, ends[0][1] - 1)
        if len(ends) == 1
        else (ends[1][0] + 1, ends[0][1])
        if down
        else (ends[0][0], ends[1][1] - 1)
    )
    return (low, high) if low <= high else None


def stays_in_range(stop: Bounds | None, step: int) -> bool:
    """Whether a number before ``stop`` plus ``step`` is an int32."""
    return stop is not None and stop[0] + step >= _MIN and stop[1] + step <= _MAX


def reassigned(body: list[ast.stmt], name: str) -> bool:
    """Whether ``body`` assigns to the variable ``name``."""
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        for statement in body
        for n in ast.walk(statement)
    )


def _bounds(flow: Conversions, node: ast.expr) -> Bounds | None:
    if isinstance(node, ast.Name) and node.id in flow.counters:
        return flow.counters[node.id]
    constant = node.value if isinstance(node, ast.Constant) else flow.static(node)
    if isinstance(constant, (int, np.int32, np.int64)) and not isinstance(constant, bool):  # narrower types wrap
        return int(constant), int(constant)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = bounds_of(flow, node.operand)
        return None if inner is None else (-inner[1], -inner[0])
    if isinstance(node, ast.BinOp):
        left, right = bounds_of(flow, node.left), bounds_of(flow, node.right)
        if right is None or (left is None and not (isinstance(node.op, ast.Mod) and _counts_as_int32(flow, node.left))):
            return None
        return _combined(node.op, left, right)
    if isinstance(node, ast.Call) and flow.static(node.func) is len:
        size: int = flow.expression(node).const  # lengths of arrays and vectors are constant
        return size, size
    if (
        isinstance(node, ast.Call)
        and flow.static(node.func) is int
        and len(node.args) == 1
        and isinstance(node.args[0], (ast.Compare, ast.BoolOp))
    ):
        return 0, 1  # a truth value
    if isinstance(node, ast.Call) and not node.keywords:
        return _limited(flow, node)
    return None


def _counts_as_int32(flow: Conversions, node: ast.expr) -> bool:
    """Whether an integer without known bounds is an int32 or an int64; arithmetic on other types wraps earlier."""
    draws, draw_count = list(flow.draws), flow.draw_count
    kind = flow.expression(node).type
    flow.draws[:], flow.draw_count = draws, draw_count  # the code is discarded, and so are its draws
    return kind in (wp.int32, wp.int64)


def _combined(operator: ast.operator, left: Bounds | None, right: Bounds) -> Bounds | None:
    if isinstance(operator, ast.Mod):
        return (0, right[1] - 1) if right[0] > 0 else None
    if left is None:
        return None
    if isinstance(operator, ast.Add):
        return left[0] + right[0], left[1] + right[1]
    if isinstance(operator, ast.Sub):
        return left[0] - right[1], left[1] - right[0]
    if isinstance(operator, (ast.Mult, ast.FloorDiv)):
        if isinstance(operator, ast.FloorDiv) and right[0] <= 0:
            return None
        corners = [a * b if isinstance(operator, ast.Mult) else a // b for a in left for b in right]
        return min(corners), max(corners)
    return None


def _limited(flow: Conversions, node: ast.Call) -> Bounds | None:
    """The bounds of ``min``, ``max`` and ``clamp``; the first argument of ``clamp`` may be unbounded."""
    function = flow.static(node.func)
    name = (
        function.name
        if isinstance(function, MathFunction)
        else {min: "min", max: "max"}.get(function)
        if callable(function)
        else None
    )
    known = [bounds_of(flow, argument) for argument in node.args]
    if (
        name == "clamp"
        and len(known) == 3
        and known[1] is not None
        and known[2] is not None
        and known[1][1] <= known[2][0]
    ):
        return (known[1][0], known[2][1]) if known[0] is not None or _counts_as_int32(flow, node.args[0]) else None
    if name not in ("min", "max") or None in known or not known:
        return None
    pick = min if name == "min" else max
    return pick(b[0] for b in known if b is not None), pick(b[1] for b in known if b is not None)
