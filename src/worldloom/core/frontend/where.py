"""Systems for some entities of a kind: ``@wl.system(where=("kind", 2))``, those whose component has a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import warp as wp

from worldloom.core.base.source import Source
from worldloom.core.model.dtypes import type_name
from worldloom.core.model.fields import Field

WhereArgument = tuple[str, int | Sequence[int]]
"""The name of a component, and its value in the entities that a system runs for, or several values in order."""


class Where(NamedTuple):
    """The condition of a system: it runs for the entities with the first value, then for those with the next."""

    component: str
    values: tuple[int, ...]


def parse_where(source: Source, where: WhereArgument) -> Where:
    """The condition that the user gave; DefinitionError for values that are no whole numbers, or given twice."""
    if not isinstance(where, tuple) or len(where) != 2 or not isinstance(where[0], str):
        raise source.error(
            f"where={where!r} has no component and value", 'write where=("kind", 2), or where=("kind", range(5))'
        )
    name, given = where
    values = tuple(given) if isinstance(given, (Sequence, range)) and not isinstance(given, str) else (given,)
    if not values or any(isinstance(value, bool) or not isinstance(value, int) for value in values):
        raise source.error(
            f"where=({name!r}, {given!r}) has no whole number", "give the value of an int component, or several"
        )
    if any(not -(2**31) <= value < 2**31 for value in values):
        raise source.error(f"where=({name!r}, {given!r}) has a value that no int component can have", "correct it")
    if len(set(values)) < len(values):
        raise source.error(f"where=({name!r}, {given!r}) has a value twice", "give each value once")
    return Where(name, values)


def check_component(source: Source, fields: dict[str, Field], where: Where) -> None:
    """DefinitionError where the entity has no such component, or it is not of type int."""
    field = fields.get(where.component)
    if field is None:
        raise source.error(
            f"where=({where.component!r}, ...): unknown component '{where.component}'",
            f"give one of {', '.join(fields)}",
        )
    if field.dtype is not wp.int32 or field.is_array:
        raise source.error(
            f"where=({field.name!r}, ...) takes a component of type int, not {type_name(field.dtype)}",
            "write the condition into the system, or declare an int component",
            source.tree,
        )
