"""Calls of functions of the world in the reference.

The body runs with variables of its own, on the rows of the caller, and continues the caller's random draws and spawns.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from worldloom.testing.reference.tables import Run
from worldloom.testing.reference.typed import Eval, Typed
from worldloom.testing.reference.types import NAMED

if TYPE_CHECKING:
    from worldloom.testing.reference.statements import Statements


def call_world_function(flow: Statements, tree: ast.FunctionDef, node: ast.Call) -> Typed:
    """The result of a call; its type is None where the function returns nothing.

    The body is translated for every call, since the rows may be of kinds derived from those of the parameters.
    """
    inner = type(flow)(flow.world, helper=False)
    rows: dict[str, Eval] = {}
    numbers: dict[str, Eval] = {}
    for parameter, argument in zip(tree.args.args, node.args, strict=True):
        assert parameter.annotation is not None
        name, value, annotation = parameter.arg, flow.expression(argument), ast.unparse(parameter.annotation)
        if annotation in NAMED:
            inner.locals[name] = NAMED[annotation]
            numbers[name] = flow.value_for(NAMED[annotation], value)
        else:
            inner.rows[name] = value.type.kind
            rows[name] = value.run
    body = inner.block(tree.body)
    flow.iteration_draws += inner.iteration_draws

    def call(e: Run) -> Any:
        run = Run(e.state, e.world, {name: row(e) for name, row in rows.items()}, e.ordinal, e.number, e.runs)
        run.locals.update({name: number(e) for name, number in numbers.items()})
        run.draw, run.spawns = e.draw, e.spawns
        body(run)
        e.draw, e.spawns = run.draw, run.spawns
        return run.result

    return Typed(inner.returns, call)
