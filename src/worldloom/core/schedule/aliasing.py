"""Observations that only repeat components: on a GPU both share memory, so that a step transfers it once.

CartPole's observation is its position, velocity, angle and spin. Stored separately, a step reads four numbers and
writes eight.
"""

from __future__ import annotations

import ast
from typing import Any

import warp as wp

from worldloom.core.frontend.shared_loop import share
from worldloom.core.frontend.system import System
from worldloom.core.model.columns import ColumnKey
from worldloom.core.model.dtypes import canonical, scalar_of, shape_of
from worldloom.core.model.entity import Entity
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.population import UpTo
from worldloom.core.registry.definition import Definition

ColumnAliases = dict[ColumnKey, tuple[ColumnKey, int]]
"""By component: the observation that repeats it, and the index in it."""


def aliased_components(definition: Definition) -> ColumnAliases:
    """The components whose values can be stored in the observation that repeats them.

    The result must be the same as with separate memory. So a single system writes the observation, as a vector of
    components, no system reads it, no system accesses the components from other rows, and no callable reads them within
    a step.
    """
    if any(not isinstance(entry, System) for entry in (*definition.reset, *definition.step, *definition.observe)):
        return {}
    if definition.written:  # its systems may be replaced by others
        return {}
    aliases: ColumnAliases = {}
    for kind, count in definition.entities.items():
        for seen in kind.fields.values() if not isinstance(count, UpTo) else ():
            parts = _parts(definition, kind, seen)
            if parts is not None and not any((kind.__name__, name) in aliases for name in parts):
                aliases.update(
                    {(kind.__name__, name): ((kind.__name__, seen.name), index) for index, name in enumerate(parts)}
                )
    return aliases


def _parts(definition: Definition, kind: type[Entity], seen: Field) -> list[str] | None:
    """The components that an observation repeats; None if it does not, or if they cannot share memory."""
    if (
        seen.role is not Role.OBSERVATION
        or seen.is_array
        or len(shape_of(seen.dtype)) != 1
        or scalar_of(seen.dtype) is not wp.float32
    ):
        return None
    over = [s for s in definition.systems if not s.over_world and kind in definition.kinds_of(s)]
    if any(s.threads > 1 or _shares_loops(s) for s in over):  # they reduce into the address of the column
        return None
    writers = [s for s in over if seen.name in s.access.own_write]
    if len(writers) != 1 or writers[0] in (*definition.reset, *definition.step):
        return None
    parts = _copied_components(writers[0], seen)
    if parts is None or any(not _is_plain(kind.fields[name]) for name in parts):
        return None
    watched = {seen.name, *parts}
    if any(seen.name in s.access.own_read for s in over) or any(
        set(parts) & set(s.access.own_write) for s in over if s in definition.observe
    ):
        return None
    reached = {
        name
        for s in definition.systems
        for other, name in (*s.access.other_read, *s.access.other_write)
        if issubclass(kind, other)
    }
    return None if watched & reached else parts


def _shares_loops(system: System) -> bool:
    """Whether it has loops over ``wl.share(...)``."""
    calls = [node.func for node in ast.walk(system.source.tree) if isinstance(node, ast.Call)]
    return any(_named(function, system.source.names()) is share for function in calls)


def _is_plain(field: Field) -> bool:
    return field.role is Role.STATE and field.dtype is wp.float32 and not field.is_array and not field.keep


def _copied_components(system: System, seen: Field) -> list[str] | None:
    """The components in ``thing.seen = wl.vec4(thing.a, thing.b, ...)``, if that is the whole system."""
    body = [s for s in system.source.tree.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if (
        len(body) != 1
        or not isinstance(body[0], ast.Assign)
        or not isinstance(body[0].value, ast.Call)
        or body[0].value.keywords
    ):
        return None
    call = body[0].value
    if canonical(_named(call.func, system.source.names())) is not seen.dtype:
        return None
    parts = [
        a.attr
        for a in call.args
        if isinstance(a, ast.Attribute) and isinstance(a.value, ast.Name) and a.value.id == system.entity_parameter
    ]
    return parts if len(parts) == len(call.args) == shape_of(seen.dtype)[0] == len(set(parts)) else None


def _named(node: ast.expr, names: Any) -> Any:
    """The object that a name or ``module.name`` refers to; None if it is neither."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    return (
        getattr(names.get(node.value.id), node.attr, None)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        else None
    )
