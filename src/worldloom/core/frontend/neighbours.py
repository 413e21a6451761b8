"""Loops over neighbours: ``world.near(Kind, position, radius)`` and ``world.nearest(Kind, position, k)``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.values import RowType, Value, describe
from worldloom.core.model.entity import Components
from worldloom.core.model.fields import Field
from worldloom.core.model.grid import VECTORS

if TYPE_CHECKING:
    from worldloom.core.frontend.statements import Statements

QUERIES = {"near": "world.near(Kind, position, radius)", "nearest": "world.nearest(Kind, position, k)"}
"""The queries, as users write them."""

MAX_NEAREST = 64
"""The largest k of world.nearest: the entities found are held in the registers of one thread."""


def translate_query(flow: Statements, name: str, call: ast.Call, node: ast.For) -> list[ast.stmt]:
    """The loop over the entities that a query returns; ``name`` is the loop variable."""
    assert isinstance(call.func, ast.Attribute)
    method = call.func.attr
    if len(call.args) != 3 or any(k.arg != "by" for k in call.keywords):
        last = "a radius" if method == "near" else "a number"
        raise flow.error(
            f"world.{method} takes a kind of entity, a position and {last}",
            f'write {QUERIES[method]}, and by="..." for another component than position',
            node,
        )
    kind = flow.kind_argument(ast.copy_location(ast.Call(call.func, call.args[:1], []), call), method)
    field = _position_field(flow, kind, call)
    point = flow.convert(
        flow.expression(call.args[1]), field.dtype, call.args[1], f"the position given to world.{method}"
    )
    if method == "near":
        radius_or_k: ast.expr | int = flow.number(call.args[2], wp.float32, "the radius")
    else:
        radius_or_k = _literal_k(flow, call.args[2])
    flow.record_access(Value(nodes.name(name), RowType(kind, own=False)), field, "read", call)
    queries = flow.access.near if method == "near" else flow.access.nearest
    queries.setdefault((kind, field.name), call.lineno)
    flow.temporary_count += 1
    label = f"wl_near{flow.temporary_count}"
    body = flow.rows_body(name, kind, node)
    if isinstance(radius_or_k, int):
        return flow.target.loop_nearest(label, flow.target.local(name), kind, field, point, radius_or_k, body)
    return flow.target.loop_near(label, flow.target.local(name), kind, field, point, radius_or_k, body)


def _position_field(flow: Statements, kind: type[Components], call: ast.Call) -> Field:
    """The component that holds the positions: ``position``, or the one that ``by`` names."""
    by = call.keywords[0].value if call.keywords else ast.copy_location(ast.Constant("position"), call)
    component = by.value if isinstance(by, ast.Constant) else None
    if not isinstance(component, str):
        raise flow.error("'by' is the name of a component, in quotes", 'write for example by="centre"', by)
    field = kind.fields.get(component)
    possible = [n for n, f in kind.fields.items() if f.dtype in VECTORS and not f.is_array]
    fix = (
        f'search by another component: by="{possible[0]}"'
        if possible
        else f"give {kind.__name__} a component 'position: wl.vec2' or 'wl.vec3'"
    )
    if field is None:
        raise flow.error(
            f"unknown component '{component}': {kind.__name__} has {', '.join(kind.fields) or 'none'}", fix, by
        )
    if field.name not in possible:
        what = f"an array of {describe(field.dtype)}" if field.is_array else describe(field.dtype)
        raise flow.error(
            f"wrong type: neighbours are searched by a vec2 or a vec3, but '{component}' of {kind.__name__} is {what}",
            fix,
            by,
        )
    return field


def _literal_k(flow: Statements, node: ast.expr) -> int:
    k = flow.expression(node).const
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_NEAREST:
        raise flow.error(
            f"the k of world.nearest is an integer literal from 1 to {MAX_NEAREST}",
            "write for example world.nearest(Kind, position, 8)",
            node,
        )
    return k
