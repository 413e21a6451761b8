"""Unrolled loops: ``for i in wl.unroll(4)``, whose body is repeated with a constant in the place of ``i``.

A vector that a variable indexes lies in memory: on a GPU in the local memory of a thread, as slow as any other. With
constant indices its numbers stay in registers. An unrolled loop has them without four copies in the source.
"""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from worldloom.core.frontend.bounds import bounds_of, reassigned

if TYPE_CHECKING:
    from worldloom.core.frontend.statements import Statements

MAX_ITERATIONS = 64
"""Iterations of an unrolled loop at most: every one of them is code."""


def unroll(iterations: int) -> range:
    """The numbers 0 to ``iterations - 1``, a constant, for a short loop that is repeated in the compiled code.

    Written ``for i in wl.unroll(4):`` in a system or a helper, where ``i`` indexes vectors.
    """
    return range(iterations)


def translate_unrolled_loop(flow: Statements, name: str, call: ast.Call, node: ast.For) -> list[ast.stmt]:
    """The code of ``for name in wl.unroll(iterations)``."""
    known = bounds_of(flow, call.args[0]) if len(call.args) == 1 and not call.keywords else None
    if known is None or known[0] != known[1] or not 0 <= known[0] <= MAX_ITERATIONS:
        raise flow.error(
            f"wl.unroll takes a constant number of iterations, at most {MAX_ITERATIONS}", "write range(...)", node
        )
    if reassigned(node.body, name) or name in flow.locals or name in flow.parameters:
        raise flow.error(f"'{name}' is also another variable", "use another name in the unrolled loop", node)
    for statement in node.body:
        _refuse_leaving(flow, statement)
    code: list[ast.stmt] = []
    for i in range(known[0]):
        code += flow.block([_WithConstant(name, i).visit(copy.deepcopy(statement)) for statement in node.body])
    return code or [ast.Pass()]


_FOLDED: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
}


class _WithConstant(ast.NodeTransformer):
    """Replaces a variable by a number, and evaluates integer arithmetic that is constant then."""

    def __init__(self, name: str, value: int) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(self.value), node) if node.id == self.name else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        fold = _FOLDED.get(type(node.op))
        left, right = (getattr(side, "value", None) for side in (node.left, node.right))
        if fold is None or type(left) is not int or type(right) is not int:
            return node
        if right < 0 or (right == 0 and isinstance(node.op, ast.Mod | ast.FloorDiv)) or left < 0:
            return node
        return ast.copy_location(ast.Constant(fold(left, right)), node)


def _refuse_leaving(flow: Statements, node: ast.AST) -> None:
    """Raise DefinitionError where a statement ends an iteration or the loop early."""
    if isinstance(node, ast.Break | ast.Continue):
        raise flow.error("an unrolled loop cannot be left early", "use range(...), or a condition", node)
    if not isinstance(node, ast.For | ast.While):
        for inner in ast.iter_child_nodes(node):
            _refuse_leaving(flow, inner)
