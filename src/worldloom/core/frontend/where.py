"""Systems for some entities of a kind: ``@wl.system(where=("kind", 2))``, those whose component has a value."""

from __future__ import annotations

import ast
import copy

import warp as wp

from worldloom.core.base.source import Source
from worldloom.core.model.dtypes import type_name
from worldloom.core.model.entity import Components, Has, World
from worldloom.core.model.fields import Field

Where = tuple[str, int]
"""The name of a component, and its value in the entities that a system runs for."""


def with_condition(source: Source, where: Where) -> Source:
    """A system that returns at once for entities whose component has another value."""
    name, value = where
    if isinstance(value, bool) or not isinstance(value, int):
        raise source.error(f"where=({name!r}, {value!r}) has no whole number", "give the value of an int component")
    annotations = source.annotations()
    kinds = [
        a.arg
        for a in source.tree.args.args
        if isinstance(annotations.get(a.arg), Has)
        or (
            isinstance(annotations.get(a.arg), type)
            and issubclass(annotations[a.arg], Components)
            and not issubclass(annotations[a.arg], World)
        )
    ]
    if len(kinds) != 1:
        raise source.error("a system with 'where' runs over one entity", "write the condition into the system")
    tree = copy.deepcopy(source.tree)
    test = ast.parse(f"if {kinds[0]}.{name} != {value}:\n    return").body[0]
    for node in ast.walk(test):
        ast.copy_location(node, source.tree)
    tree.body.insert(1 if ast.get_docstring(tree, clean=False) is not None else 0, test)
    return source.rewritten(tree, {})


def require_integer(source: Source, field: Field) -> None:
    """DefinitionError where the component of a condition is not of type int, the only one that GPUs gather by."""
    if field.dtype is not wp.int32 or field.is_array:
        raise source.error(
            f"where=({field.name!r}, ...) takes a component of type int, not {type_name(field.dtype)}",
            "write the condition into the system, or declare an int component",
            source.tree,
        )
