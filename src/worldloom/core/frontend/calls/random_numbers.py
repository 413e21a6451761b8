"""Random numbers: ``world.random()`` and the other methods that draw."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.values import ArrayType, Value
from worldloom.core.model.dtypes import is_composite, scalar_of, shape_of

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions.expressions import Expressions


def draw(flow: Expressions, used: int = 1) -> ast.expr:
    """The index of the next draw of this system run; ``used`` draws are consumed."""
    index = nodes.constant(flow.draw_count)
    flow.draws.append((index, flow.draw_count))
    flow.draw_count += used
    return nodes.binary(nodes.name("wl_draw"), ast.Add(), index)


def _bounds(flow: Expressions, node: ast.Call, kind: Any, defaults: tuple[Any, Any]) -> list[ast.expr]:
    method = ast.unparse(node.func)
    if len(node.args) > 2:
        raise flow.error(f"{method} takes at most two numbers", "give the two bounds", node)
    if len(node.args) == 1:
        return [flow.target.literal(defaults[0], kind), flow.number(node.args[0], kind, f"the bound of {method}")]
    if not node.args:
        if defaults[1] is None:
            raise flow.error(f"{method} needs a bound", "give the number of choices", node)
        return [flow.target.literal(d, kind) for d in defaults]
    return [flow.number(a, kind, f"a bound of {method}") for a in node.args]


def _uniform(flow: Expressions, node: ast.Call) -> Value:
    bounds = _bounds(flow, node, wp.float32, (0.0, 1.0))
    return Value(flow.target.random("uniform", draw(flow), bounds), wp.float32)


def _integer(flow: Expressions, node: ast.Call) -> Value:
    bounds = _bounds(flow, node, wp.int32, (0, None))
    return Value(flow.target.random("integer", draw(flow), bounds), wp.int32)


def _normal(flow: Expressions, node: ast.Call) -> Value:
    if len(node.args) == 1:
        raise flow.error("world.normal takes a mean and a spread, or no arguments", "give both", node)
    bounds = _bounds(flow, node, wp.float32, (0.0, 1.0))
    return Value(flow.target.random("normal", draw(flow, 2), bounds), wp.float32)


def _choice(flow: Expressions, node: ast.Call) -> Value:
    value = flow.expression(node.args[0]) if len(node.args) == 1 else None
    kind = value.type if value is not None else None
    if value is None or not (is_composite(kind) or isinstance(kind, ArrayType)):
        raise flow.error(
            "world.choice takes one vector or array component", "for a number of choices use world.integer(n)", node
        )
    shape = kind.field.shape if isinstance(kind, ArrayType) else shape_of(kind)
    if len(shape) != 1:
        raise flow.error("world.choice takes one dimension", "draw the indices with world.integer", node)
    index = flow.target.random(
        "integer", draw(flow), [flow.target.literal(0, wp.int32), flow.target.literal(shape[0], wp.int32)]
    )
    if isinstance(kind, ArrayType):
        assert value.base is not None
        if flow.shared_loop is not None:
            flow.shared_loop.add_read(flow, value, None, node.lineno)
        return Value(flow.target.element(value.base, kind.field, [index]), kind.field.dtype)
    return Value(flow.target.component(value.node, kind, [index]), scalar_of(kind))


def _weighted(flow: Expressions, node: ast.Call) -> Value:
    value = flow.expression(node.args[0]) if len(node.args) == 1 else None
    if (
        value is None
        or not is_composite(value.type)
        or len(shape_of(value.type)) != 1
        or scalar_of(value.type) is not wp.float32
    ):
        raise flow.error(
            "world.weighted takes one vector of weights", "give it for example wl.vec3(0.5, 0.25, 0.25)", node
        )
    zero_one = [flow.target.literal(0.0, wp.float32), flow.target.literal(1.0, wp.float32)]
    number = flow.target.random("uniform", draw(flow), zero_one)
    return Value(nodes.call("wl_weighted_index", value.node, number), wp.int32)


RANDOM = {"random": _uniform, "integer": _integer, "normal": _normal, "choice": _choice, "weighted": _weighted}
