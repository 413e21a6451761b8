"""Methods of worlds, entities and references that are part of an expression."""

from __future__ import annotations

import ast
import difflib
from typing import TYPE_CHECKING

import warp as wp

from worldloom.core.frontend.bounds import bounds_of
from worldloom.core.frontend.calls.random_numbers import RANDOM
from worldloom.core.frontend.names import RANDOM_SYNONYMS
from worldloom.core.frontend.neighbours import QUERIES
from worldloom.core.frontend.values import RefType, RowType, Value, WorldType, describe

if TYPE_CHECKING:
    from worldloom.core.frontend.expressions.expressions import Expressions


END_METHODS = ("terminate", "truncate")


WORLD_METHODS = (
    "all",
    "at",
    "count",
    "near",
    "nearest",
    "spawn",
    "random",
    "integer",
    "normal",
    "choice",
    "weighted",
    "shuffle",
    "terminate",
    "truncate",
    "fail",
)
"""The methods of a world."""


def unknown_method_error(flow: Expressions, name: str, node: ast.Call) -> Exception:
    near = difflib.get_close_matches(name, WORLD_METHODS, n=1)
    suggestion = RANDOM_SYNONYMS.get(name) or (f"world.{near[0]}" if near else None)
    hint = f"did you mean {suggestion}? " if suggestion else ""
    return flow.error(
        f"unknown method 'world.{name}'",
        f"{hint}a world has {', '.join(WORLD_METHODS[:-1])} and {WORLD_METHODS[-1]}",
        node,
    )


def translate_method(flow: Expressions, node: ast.Call, function: ast.Attribute) -> Value:
    value = flow.expression(function.value)
    name = function.attr
    if isinstance(value.type, RefType):
        if name != "get" or node.args:
            fix = (
                f"follow it first: .get().{name}()"
                if name in (*END_METHODS, "despawn")
                else "follow it with .get(), or test it with .alive"
            )
            raise flow.error(f"a reference has no method '{name}'", fix, node)
        row = flow.target.follow(value.node, value.type.kind, node.lineno)
        flow.access.kinds.setdefault(value.type.kind, node.lineno)
        return Value(row, RowType(value.type.kind, own=False))
    if isinstance(value.type, WorldType):
        if name == "count":
            return Value(flow.target.count(flow.kind_argument(node, "count")), wp.int32)
        if name == "at":
            return _at(flow, node)
        if name in RANDOM:
            return RANDOM[name](flow, node)
        if name in ("all", *QUERIES):
            query = QUERIES.get(name, "world.all(Kind)")
            raise flow.error(f"world.{name}(...) can only be looped over", f"write 'for other in {query}:'", node)
        if name in (*END_METHODS, "shuffle", "fail"):
            raise flow.error(f"world.{name}() returns no value", "write it as a statement", node)
        if name == "spawn":
            raise flow.error(
                "world.spawn(...) is a statement of its own, or the right side of '='",
                "store its reference in a variable first",
                node,
            )
        raise unknown_method_error(flow, name, node)
    if isinstance(value.type, RowType):
        problem = (
            f"'{name}()' returns no value"
            if name in (*END_METHODS, "despawn")
            else f"unknown method '{name}' of {value.type.owner.__name__}"
        )
        raise flow.error(
            problem,
            "entities have terminate(), truncate() and despawn(), which are statements;"
            " put shared code into a @wl.function",
            node,
        )
    raise flow.error(
        f"{describe(value.type)} has no method '{name}'", "use worldloom's functions, such as wl.length(v)", node
    )


def _at(flow: Expressions, node: ast.Call) -> Value:
    """``world.at(Kind, id)``: the entity with that id."""
    if len(node.args) != 2:
        raise flow.error("world.at takes a kind of entity and the entity's id", "write world.at(Kind, id)", node)
    kind = flow.kind_argument(ast.copy_location(ast.Call(node.func, node.args[:1], []), node), "at")
    slot = flow.number(node.args[1], wp.int32, "the id of an entity")
    return Value(flow.target.at(slot, kind, node.lineno, bounds_of(flow, node.args[1])), RowType(kind, own=False))
