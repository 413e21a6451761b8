"""The state of the reference: a table for every kind of entity, and the operations of one run of a system on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from worldloom.testing.reference import arithmetic as m
from worldloom.testing.reference.types import FLOATS, Component

_STEP_BITS, _SYSTEM_BITS, _SLOT_BITS = 27, 11, 25
"""The serial number of a spawned entity consists of the step, the system, and the slot of its spawner."""

_STREAM_SHIFT = 20
"""The random stream of a run consists of the number of its system and the slot of its entity."""


@dataclass
class Kind:
    """A kind of entity in the reference.

    Attributes:
        name: Its name; "World" for the world itself.
        fields: Its components.
        rows: Number of entities per world, or the capacity of a population.
        varies: Whether it is a population, with a varying number of entities.
        event: Whether its entities are cleared at every step.
        overflow: The rule for spawns beyond the capacity: "error", "reset" or "drop".
        agents: Whether its entities end their episodes one by one.
        ancestors: The kinds that it is derived from.
        pooled: Whether all worlds share its rows.
    """

    name: str
    fields: dict[str, Component]
    rows: int = 1
    varies: bool = False
    event: bool = False
    overflow: str = "error"
    agents: bool = False
    ancestors: tuple[str, ...] = ()
    pooled: bool = False


@dataclass
class State:
    """All tables of all worlds, and the engine's data about them.

    Columns have the shape (num_worlds, rows, ...). The table of the world has one row per world. ``undefined`` is the
    number in transient components that nothing has written in the step.
    """

    kinds: dict[str, Kind]
    num_worlds: int
    seeds: list[int]
    tables: dict[str, dict[str, Any]]
    counts: dict[str, Any] = field(default_factory=dict)
    dropped: dict[str, Any] = field(default_factory=dict)
    serials: dict[str, Any] = field(default_factory=dict)
    despawned: dict[str, Any] = field(default_factory=dict)
    spawned: dict[str, list[list[tuple[int, dict[str, Any]]]]] = field(default_factory=dict)
    flags: dict[str, Any] = field(default_factory=dict)
    undefined: float = np.nan

    def __post_init__(self) -> None:
        for name in ("terminated", "truncated", "broken", "finished"):
            self.flags[name] = np.zeros(self.num_worlds, bool)
        for kind in self.kinds.values():
            self.tables.setdefault(kind.name, {}).update({c.name: self.fresh(kind, c) for c in kind.fields.values()})
            if kind.agents:
                for name in ("active", "terminated", "truncated"):
                    self.tables[kind.name][name] = np.zeros((self.num_worlds, kind.rows), bool)
            if kind.varies:
                self.counts[kind.name] = np.zeros(self.num_worlds, np.int32)
                self.dropped[kind.name] = np.zeros(self.num_worlds, np.int32)
                self.serials[kind.name] = np.full((self.num_worlds, kind.rows), -1, np.int64)
                self.despawned[kind.name] = np.zeros((self.num_worlds, kind.rows), bool)
                self.spawned[kind.name] = [[] for _ in range(self.num_worlds)]
        for name in ("step", "episode"):
            self.tables["World"][name] = np.zeros((self.num_worlds, 1), np.int32)

    def fresh(self, kind: Kind, component: Component) -> Any:
        column = np.zeros((self.num_worlds, kind.rows, *component.value_shape), component.scalar)
        column[...] = component.default
        return column

    def forget(self, kind: Kind, worlds: Any) -> None:
        """Make the transient components of a kind in some worlds undefined."""
        for component in kind.fields.values():
            if component.role == "transient":
                number = self.undefined if component.scalar in FLOATS else bool(self.undefined)
                self.tables[kind.name][component.name][worlds] = number

    def clear(self, world: int) -> None:
        """Reset the state of a world to its defaults. Populations become empty."""
        for kind in self.kinds.values():
            if kind.varies:
                self.counts[kind.name][world] = 0
                continue
            for component in kind.fields.values():
                if component.role in ("state", "observation"):
                    self.tables[kind.name][component.name][world] = component.default
            if kind.agents:
                self.tables[kind.name]["active"][world] = True

    def compact(self, world: int) -> None:
        """Apply despawns and spawns. Survivors come first, then spawned entities in spawn order."""
        for name, serials in self.serials.items():
            spawned, kind = self.spawned[name][world], self.kinds[name]
            count = int(self.counts[name][world])
            despawned = self.despawned[name][world]
            if not spawned and not despawned.any():
                continue
            survivors = [slot for slot in range(count) if not despawned[slot]]
            added = spawned[: kind.rows - len(survivors)]
            columns = [*self.tables[name].values(), serials]
            for column in columns:
                column[world][: len(survivors)] = column[world][survivors]
            for slot, (serial, values) in enumerate(added, start=len(survivors)):
                serials[world, slot] = serial
                for component in kind.fields.values():
                    self.tables[name][component.name][world, slot] = values.get(component.name, component.default)
            self.counts[name][world] = len(survivors) + len(added)
            self.forget(kind, world)
            despawned[:] = False
            dropped = len(spawned) - len(added)
            self.spawned[name][world] = []
            if dropped:
                self.dropped[name][world] += dropped
                self.flags["broken"][world] |= kind.overflow != "drop"


class Run:
    """One run of a system for one world, and for one entity or pair of entities of it.

    Attributes:
        rows: The slot of each parameter.
        ordinal: The number of the system.
        number: The number of the run among the ``runs`` that the system can have in a world.
        draw, base: The number of the next random draw, and of the first draw of the statement.
    """

    __slots__ = (
        "base",
        "draw",
        "locals",
        "number",
        "ordinal",
        "parts",
        "result",
        "rows",
        "runs",
        "spawns",
        "state",
        "world",
    )

    def __init__(self, state: State, world: int, rows: dict[str, int], ordinal: int, number: int, runs: int) -> None:
        self.state, self.world, self.rows = state, world, rows
        self.ordinal, self.number, self.runs = ordinal, number, runs
        self.locals: dict[str, Any] = {}
        self.draw = self.base = self.spawns = 0
        self.parts: Any = None
        self.result: Any = None

    def fault(self) -> int:
        """Note a fault of the world. Returns 0, the replacement of an index out of range."""
        self.state.flags["broken"][self.world] = True
        return 0

    def count(self, kind: str) -> int:
        known = self.state.kinds[kind]
        return int(self.state.counts[kind][self.world]) if known.varies else known.rows

    def column(self, kind: str, name: str) -> Any:
        """A component of all entities of a kind in this world."""
        return self.state.tables[kind][name][self.world, : self.count(kind)]

    def reference(self, kind: str, slot: int) -> Any:
        return self.state.serials[kind][self.world, slot] if self.state.kinds[kind].varies else np.int64(slot)

    def slot(self, kind: str, reference: int) -> int:
        """The slot of the entity of a reference; -1 where there is none."""
        if not self.state.kinds[kind].varies:
            return reference if reference >= 0 else -1
        serials = self.state.serials[kind][self.world, : self.count(kind)].tolist()
        return serials.index(reference) if reference >= 0 and reference in serials else -1

    def alive(self, kind: str, reference: Any) -> Any:
        return np.bool_(self.slot(kind, int(reference)) >= 0)

    def follow(self, kind: str, reference: Any) -> int:
        return self.at(kind, self.slot(kind, int(reference)))

    def at(self, kind: str, slot: int) -> int:
        return slot if 0 <= slot < self.count(kind) else self.fault()

    def word(self, draw: int) -> int:
        state = self.state
        step, episode = (int(state.tables["World"][name][self.world, 0]) for name in ("step", "episode"))
        stream = self.ordinal << _STREAM_SHIFT | self.number
        return m.random_word(state.seeds[self.world], self.world, episode, step, stream, self.base + draw)

    def spawn(self, kind: str, values: dict[str, Any]) -> Any:
        per_run = 2**_SLOT_BITS // self.runs
        step = int(self.state.tables["World"]["step"][self.world, 0])
        serial = (step << _SYSTEM_BITS | self.ordinal) << _SLOT_BITS | (self.number * per_run + self.spawns)
        self.spawns += 1
        self.state.spawned[kind][self.world].append((serial, values))
        return np.int64(serial)

    def despawn(self, kind: str, slot: int) -> int:
        self.state.despawned[kind][self.world, slot] = True
        return 0

    def end(self, kind: str, slot: int, what: str) -> int:
        if kind == "World":
            self.state.flags[what][self.world] = True
        else:
            self.state.tables[kind][what][self.world, slot] = True
            self.state.tables[kind]["active"][self.world, slot] = False
        return 0
