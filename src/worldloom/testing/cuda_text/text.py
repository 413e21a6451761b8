"""The text of kernels as Python that computes what compiled kernels do: typed literals, C's quotients, vectors."""

from __future__ import annotations

import ast
import operator as operators
from collections.abc import Callable
from typing import Any

import numpy as np

from worldloom.core.arithmetic.functions import interpret_call
from worldloom.core.arithmetic.values import Composite, with_component

_OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("add", "add"),
    ast.Sub: ("sub", "sub"),
    ast.Mult: ("mul", "mul"),
    ast.Div: ("truediv", "div"),
}
"""The operators that vectors have: Python's function for numbers, and Warp's for vectors."""
_MOST = 2**31 - 1
"""Larger literals belong to wider types."""


def combine(name: str, vectors: str, one: Any, two: Any) -> Any:
    """``one`` and ``two`` joined by an operator."""
    if isinstance(one, Composite) or isinstance(two, Composite):
        return interpret_call(vectors, one, two)
    if name == "truediv":
        return divide(one, two)
    function: Callable[[Any, Any], Any] = getattr(operators, name)
    return function(one, two)


def divide(one: Any, two: Any) -> Any:
    """The quotient, cut off as in C where both are whole numbers."""
    whole = all(isinstance(side, (int, np.integer)) for side in (one, two))
    return type(one)(int(int(one) / int(two))) if whole and two != 0 else one / two


def stored(holder: Any, place: Any, value: Any) -> Any:
    """``holder`` after ``holder[place] = value``: memory is changed, vectors are values."""
    if isinstance(holder, Composite):
        return with_component(holder, value, *(place if isinstance(place, tuple) else (place,)))
    holder[place] = value
    return holder


class ToPython(ast.NodeTransformer):
    """Rewrites the text of a module.

    Attributes:
        space: What rewritten text refers to by name: its functions and its literals.
    """

    def __init__(self) -> None:
        self.space: dict[str, Any] = {"wl_combine": combine, "wl_stored": stored}

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """A literal of type int32 or float32, as compiled."""
        value = node.value
        if type(value) is float:
            return self._literal(np.float32(value))
        if type(value) is int and value <= _MOST:
            return self._literal(np.int32(value))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Literals of wider types keep all of their digits."""
        wide = ast.unparse(node.func) in ("wp.float64", "wp.int64", "wp.uint64")
        literal = wide and all(isinstance(n, (ast.Constant, ast.UnaryOp)) for n in node.args)
        return node if literal and not _names(node) else self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        value = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if isinstance(node.op, ast.USub) and type(value) is int and value == _MOST + 1:
            return self._literal(np.int32(-value))
        return self.generic_visit(node)

    def _literal(self, value: Any) -> ast.expr:
        name = f"wl_{type(value).__name__}_{value.tobytes().hex()}"
        self.space[name] = value
        return ast.Name(name, ast.Load())

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        names = _OPERATORS.get(type(node.op))
        if names is None:
            return node
        arguments: list[ast.expr] = [ast.Constant(name) for name in names]
        return ast.Call(ast.Name("wl_combine", ast.Load()), [*arguments, node.left, node.right], [])

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        (target,) = node.targets
        if not isinstance(target, ast.Subscript):
            return node
        assert isinstance(target.value, ast.Name)
        holder = ast.Name(target.value.id, ast.Load())
        call = ast.Call(ast.Name("wl_stored", ast.Load()), [holder, target.slice, node.value], [])
        return ast.Assign([ast.Name(target.value.id, ast.Store())], call)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Decorators and annotations stay as they are."""
        node.body = [self.visit(statement) for statement in node.body]
        return node


def _names(call: ast.Call) -> bool:
    """Whether the arguments of a call name variables."""
    return any(isinstance(n, ast.Name) for a in call.args for n in ast.walk(a))
