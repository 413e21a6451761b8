"""Populations whose agents last: they enter at the beginning of an episode, and none leaves before its end.

Entity k of a world then holds agent row k throughout the episode. Its observations and infos need no copy in the agent
row: both tables share the memory of these columns, and systems write them once.

The interpreter copies nevertheless, as the reference. Free rows hold zeros in both cases: all rows of a world are
cleared when an episode begins, and systems write only those of entities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from worldloom.core.frontend.system import System
from worldloom.core.model.dtypes import SCALARS, scalar_of
from worldloom.core.model.entity import Components, Entity, Has
from worldloom.core.model.fields import Field
from worldloom.core.model.population import Population
from worldloom.core.registry.alternatives import Alternatives
from worldloom.core.registry.definition import Definition, PhaseEntry
from worldloom.core.schedule.table_views import EXPORTED_ROLES


def lasting_agents(definition: Definition, external: Collection[str] = ()) -> frozenset[str]:
    """The populations whose agent rows share the memory of their entities' observations and infos.

    The results must be those of copies. ``external`` names the columns in memory of the caller, as ``Table.name``. The
    result is the same for all options of alternatives, between which a simulation can change.
    """
    entries = {phase: tuple(_entries(definition, phase)) for phase in ("reset", "step", "observe")}
    if not all(isinstance(entry, System) for phase in entries.values() for entry in phase):
        return frozenset()  # callables and launches may use the columns of either table
    starting, going_on = (
        [entry for phase in phases for entry in entries[phase] if isinstance(entry, System)]
        for phases in (("reset",), ("step", "observe"))
    )
    tables = {name.partition(".")[0] for name in external}
    return frozenset(
        kind.__name__
        for kind in definition.entities
        if (population := definition.populations.get(kind.__name__)) is not None
        and population.agents
        and not population.event
        and not tables & {population.table, population.agent_table}
        and not any(_comes_or_goes(definition, kind, system) for system in going_on)
        and not any(_despawns(definition, kind, system) for system in starting)
        and _may_share(definition, kind, [*starting, *going_on])
    )


def sharing_populations(definition: Definition, lasting: Collection[str]) -> dict[str, Population]:
    """The populations of a definition. Those in ``lasting`` share exported components with their agent rows."""
    kinds = {kind.__name__: kind for kind in definition.entities}
    return {
        name: replace(population, in_agent_rows=frozenset(_exported(kinds[name]))) if name in lasting else population
        for name, population in definition.populations.items()
    }


def _entries(definition: Definition, phase: str) -> Iterator[PhaseEntry]:
    """The entries of a phase, with those of all options of its alternatives."""
    written: tuple[PhaseEntry | Alternatives, ...] = definition.written.get(phase, getattr(definition, phase))
    for entry in written:
        if isinstance(entry, Alternatives):
            for option in entry.options:
                yield from entry.entries(option)
        else:
            yield entry


def _exported(kind: type[Entity]) -> dict[str, Field]:
    """The components that ``publish`` copies where rows do not share memory."""
    return {name: field for name, field in kind.fields.items() if field.role in EXPORTED_ROLES}


def _comes_or_goes(definition: Definition, kind: type[Entity], system: System) -> bool:
    return any(_overlap(kind, spawned) for spawned in system.access.spawns) or _despawns(definition, kind, system)


def _despawns(definition: Definition, kind: type[Entity], system: System) -> bool:
    return any(
        kind in definition.kinds_of(system) if despawned is None else _overlap(kind, despawned)
        for despawned in system.access.despawns
    )


def _may_share(definition: Definition, kind: type[Entity], systems: list[System]) -> bool:
    """Whether its exported components begin an episode with zero, and systems use them only in their own row.

    What a system reads or writes through a stale reference is a free row, in which a copy would be zero.
    """
    exported = _exported(kind)
    if not exported or not all(_begins_with_zero(field) for field in exported.values()):
        return False
    for system in systems:
        access = system.access
        remote = (*access.other_read, *access.other_write, *access.near, *access.nearest)
        if any(name in exported and _overlap(kind, other) for other, name in remote):
            return False
        if any(_overlap(kind, spawned) and use.fields & exported.keys() for spawned, use in access.spawns.items()):
            return False
        if system.where is not None and system.where.component in exported and kind in definition.kinds_of(system):
            return False  # lists of rows are those of the entities' table
    return True


def _overlap(kind: type[Entity], other: type[Components] | Has | None) -> bool:
    """Whether entities of ``kind`` may be among those that a system means by ``other``."""
    if isinstance(other, Has):
        return other.matches(kind)
    return other is not None and (issubclass(kind, other) or issubclass(other, kind))


def _begins_with_zero(field: Field) -> bool:
    """Whether every episode clears it to bytes of zero, as free rows are."""
    default: np.ndarray[Any, Any] = np.asarray(field.default, SCALARS[scalar_of(field.dtype)])
    return not field.keep and not field.transient and field.ref is None and not any(default.tobytes())
