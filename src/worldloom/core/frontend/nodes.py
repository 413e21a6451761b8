"""Constructors for syntax trees."""

from __future__ import annotations

import ast
import copy

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.MatMult: "mul",
}


def name(identifier: str) -> ast.Name:
    return ast.Name(identifier, ast.Load())


def constant(value: object) -> ast.Constant:
    return ast.Constant(value)  # type: ignore[arg-type]


def attribute(value: ast.expr, attr: str) -> ast.Attribute:
    return ast.Attribute(value, attr, ast.Load())


def call(function: ast.expr | str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(name(function) if isinstance(function, str) else function, list(arguments), [])


def warp(function: str, *arguments: ast.expr) -> ast.Call:
    """A call of ``wp.function``."""
    return call(attribute(name("wp"), function), *arguments)


def index(value: ast.expr, *indices: ast.expr) -> ast.Subscript:
    inner = indices[0] if len(indices) == 1 else ast.Tuple(list(indices), ast.Load())
    return ast.Subscript(value, inner, ast.Load())


def binary(left: ast.expr, operator: ast.operator, right: ast.expr) -> ast.BinOp:
    return ast.BinOp(left, operator, right)


def store(target: ast.expr, value: ast.expr) -> ast.Assign:
    """``target = value``; the context of ``target`` is set to Store."""
    if isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
        target.ctx = ast.Store()
    return ast.Assign([target], value, None)


def assign(identifier: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(identifier, ast.Store())], value, None)


def as_load(target: ast.expr) -> ast.expr:
    """The same target in a Load context."""
    if isinstance(getattr(target, "ctx", None), ast.Store):
        target = copy.copy(target)
        target.ctx = ast.Load()  # type: ignore[attr-defined]
    return target


def both_sides(operator: ast.boolop, sides: list[ast.expr]) -> ast.expr:
    """The conjunction or disjunction of truth values, of which all are evaluated, as by ``&``, ``|`` and ``in``.

    An index out of range in one of them is a fault whatever the others are. Sides without indices and calls have no
    effects, so that they may be left out.
    """
    if not any(isinstance(node, (ast.Call, ast.Subscript)) for side in sides[1:] for node in ast.walk(side)):
        return ast.BoolOp(operator, sides) if len(sides) > 1 else sides[0]
    combined = sides[0]
    for side in sides[1:]:
        combined = call("wl_both" if isinstance(operator, ast.And) else "wl_either", combined, side)
    return combined
