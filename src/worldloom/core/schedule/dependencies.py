"""Entries that the engine inserts: compactions of changed populations before their use, and grids before searches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.launch import LaunchNode, Mask
from worldloom.core.model.population import Population
from worldloom.core.registry.definition import Definition
from worldloom.core.schedule.entries import FINISHED, RESETTING, CompactionNode, Entry, GridNode, HostNode, SystemNode
from worldloom.core.schedule.lifecycle import READS_FAULTS


@dataclass
class _PendingChanges:
    """Populations, by name, that have changed since their last compaction.

    Attributes:
        before_removal: By population, a system that runs before a compaction removes entities.
        entries: The schedule with compactions so far.
        spawned: Populations with spawned entities.
        despawned: Populations with despawned entities.
        unordered: Populations whose spawned entities may be out of order.
    """

    populations: dict[str, Population]
    before_removal: Mapping[str, SystemNode]
    entries: list[Entry] = field(default_factory=list)
    spawned: set[str] = field(default_factory=set)
    despawned: set[str] = field(default_factory=set)
    unordered: set[str] = field(default_factory=set)

    def compact(self, tables: Collection[str]) -> None:
        """Insert the compactions of those of ``tables`` that have changed."""
        for name, population in self.populations.items():
            if name in tables and name in self.spawned | self.despawned:
                in_order = name not in self.despawned | self.unordered
                if name in self.despawned and name in self.before_removal:
                    self.entries.append(self.before_removal[name])
                self.entries.append(CompactionNode(population, spawned_in_order=in_order))
                for changed in (self.spawned, self.despawned, self.unordered):
                    changed.discard(name)

    def add_system(self, node: SystemNode) -> None:
        """Insert the compactions that a system needs, and note the changes that it makes."""
        access, system = node.system.access, node.system
        cleared = {name for name in self.populations if f"{name}__count" in access.own_write}
        reads_faults = system.engine and system.name in READS_FAULTS
        used = {*node.tables, *(kind.__name__ for kind in access.kinds), *cleared}
        self.compact(self.populations if reads_faults else used)
        spawned = {kind.__name__ for kind in access.spawns}
        self.compact(spawned & self.despawned)  # despawned entities make room for the new ones
        self.spawned |= spawned
        in_order = node.mask in (FINISHED, RESETTING) and system.over_world
        self.unordered |= set() if in_order else spawned
        self.despawned |= {node.table if kind is None else kind.__name__ for kind in access.despawns}
        self.spawned |= {name for name in cleared if self.populations[name].pooled}  # frees the rows of the pool


def with_compactions(
    entries: list[Entry], populations: dict[str, Population], before_removal: Mapping[str, SystemNode]
) -> list[Entry]:
    """Insert compactions: before each entry that uses a changed population, and at the end.

    ``before_removal`` holds, by population, a system that runs before a compaction removes entities.
    """
    pending = _PendingChanges(populations, before_removal)
    for entry in entries:
        if isinstance(entry, SystemNode):
            pending.add_system(entry)
        elif isinstance(entry, LaunchNode):
            pending.compact({table for table, _ in entry.columns})
        else:
            pending.compact(populations)
        pending.entries.append(entry)
    pending.compact(populations)
    return pending.entries


def with_grids(entries: list[Entry], definition: Definition) -> list[Entry]:
    """Insert grids: before each system that searches one, unless it is already built and up to date.

    Every grid is rebuilt in each step, since columns may be changed from outside between two steps.
    """
    scheduled: list[Entry] = []
    built: dict[tuple[str, str], Mask | None] = {}
    for entry in entries:
        for grid in definition.grids_of(entry.system) if isinstance(entry, SystemNode) else ():
            assert isinstance(entry, SystemNode)
            if grid.key not in built or built[grid.key] not in (None, entry.mask):
                scheduled.append(GridNode(grid, entry.mask))
                built[grid.key] = entry.mask
        scheduled.append(entry)
        built = {key: mask for key, mask in built.items() if not changes_rows(entry, key, mask)}
    return scheduled


def changes_rows(entry: Entry, key: ColumnKey, mask: Mask | None = None) -> bool:
    """Whether what was computed from a column, for the worlds of ``mask``, may be out of date after ``entry``."""
    if isinstance(entry, CompactionNode):
        return entry.population.table == key[0]
    if not isinstance(entry, (SystemNode, LaunchNode)):
        return isinstance(entry, HostNode)
    written = set(entry.writes) if isinstance(entry, LaunchNode) else _written(entry)
    return (
        (WORLD, f"{key[0]}__count") in written or key in written or (mask is not None and (WORLD, mask[0]) in written)
    )


def _written(node: SystemNode) -> set[ColumnKey]:
    access = node.system.access
    own = {(node.table, name) for name in access.own_write}
    other = {(kind.__name__, name) for kind, name in access.other_write}
    return own | other | {(WORLD, name) for name in access.world_write}
