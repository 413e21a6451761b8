"""Loops over neighbours: ``for other in world.near(Kind, position, radius)`` and ``world.nearest(Kind, position, k)``."""

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
"""The queries, as they are written."""

MAX_NEAREST = 64
"""How many the nearest may be: they are kept in the registers of one thread."""


def translate_query(s: Statements, name: str, call: ast.Call, node: ast.For) -> list[ast.stmt]:
    """The loop over the entities that a query gives, each in turn called ``name``."""
    assert isinstance(call.func, ast.Attribute)
    method = call.func.attr
    if len(call.args) != 3 or any(k.arg != "by" for k in call.keywords):
        last = "a radius" if method == "near" else "a number"
        raise s.error(
            f"world.{method} takes a kind of entity, a position and {last}",
            f'write {QUERIES[method]}, and by="..." for another component than position',
            node,
        )
    kind = s.kind_argument(ast.copy_location(ast.Call(call.func, call.args[:1], []), call), method)
    field = _places(s, kind, call)
    point = s.convert(
        s.expression(call.args[1]), field.dtype, call.args[1], f"the position that world.{method} looks from"
    )
    if method == "near":
        how: ast.expr | int = s.number(call.args[2], wp.float32, "the radius")
    else:
        how = _written_out(s, call.args[2])
    s.record_access(Value(nodes.name(name), RowType(kind, own=False)), field, "read", call)
    asked = s.access.near if method == "near" else s.access.nearest
    asked.setdefault((kind, field.name), call.lineno)
    s.temporary_count += 1
    label = f"wl_near{s.temporary_count}"
    body = s.rows_body(name, kind, node)
    if isinstance(how, int):
        return s.target.loop_nearest(label, s.target.local(name), kind, field, point, how, body)
    return s.target.loop_near(label, s.target.local(name), kind, field, point, how, body)


def _places(s: Statements, kind: type[Components], call: ast.Call) -> Field:
    """The component that holds the places: ``position``, or the one that ``by`` names."""
    by = call.keywords[0].value if call.keywords else ast.copy_location(ast.Constant("position"), call)
    wanted = by.value if isinstance(by, ast.Constant) else None
    if not isinstance(wanted, str):
        raise s.error("'by' is the name of a component, in quotes", 'write for example by="place"', by)
    field = kind.fields.get(wanted)
    possible = [n for n, f in kind.fields.items() if f.dtype in VECTORS and not f.is_array]
    fix = (
        f'look by another component: by="{possible[0]}"'
        if possible
        else f"give {kind.__name__} a component 'position: wl.vec2' or 'wl.vec3'"
    )
    if field is None:
        raise s.error(f"unknown component '{wanted}': {kind.__name__} has {', '.join(kind.fields) or 'none'}", fix, by)
    if field.name not in possible:
        what = f"an array of {describe(field.dtype)}" if field.is_array else describe(field.dtype)
        raise s.error(
            f"wrong type: neighbours are found by a vec2 or a vec3, but '{wanted}' of {kind.__name__} is {what}",
            fix,
            by,
        )
    return field


def _written_out(s: Statements, node: ast.expr) -> int:
    found = s.expression(node).const
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= MAX_NEAREST:
        raise s.error(
            f"how many world.nearest gives is a number written out, from 1 to {MAX_NEAREST}",
            "write for example world.nearest(Kind, position, 8)",
            node,
        )
    return found
