"""The state of the reference: a table for every kind of entity, and what one run of a system does to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from worldloom.testing import arithmetic as m
from worldloom.testing.types import Component, RefType

_STEP_BITS, _SYSTEM_BITS, _PLACE_BITS = 27, 11, 25
"""The number of a spawned entity is the step, the system, and the place of the one that spawned it."""

_STREAM_SHIFT = 20
"""The stream of a system's random numbers is its number and the place of the entity that it runs for."""


@dataclass
class Kind:
    """A kind of entity in the reference.

    Attributes:
        name: Its name; "World" for the world itself.
        fields: Its components.
        rows: How many there are, or may be, in a world.
        varies: Whether their number varies.
        event: Whether they are cleared at every step.
        overflow: What follows when too many are spawned: "error", "reset" or "drop".
        agents: Whether they leave the episode one by one.
        ancestors: The kinds that it is derived from.
        pooled: Whether its rows are those of the whole batch.
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
    """All tables of all worlds, and what the engine keeps of them.

    Columns have the shape (num_worlds, rows, ...); the world's own fields one row per world.
    """

    kinds: dict[str, Kind]
    num_worlds: int
    seeds: list[int]
    tables: dict[str, dict[str, Any]]
    counts: dict[str, Any] = field(default_factory=dict)
    dropped: dict[str, Any] = field(default_factory=dict)
    serials: dict[str, Any] = field(default_factory=dict)
    leaving: dict[str, Any] = field(default_factory=dict)
    born: dict[str, list[list[tuple[int, dict[str, Any]]]]] = field(default_factory=dict)
    flags: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("terminated", "truncated", "broken", "finished"):
            self.flags[name] = np.zeros(self.num_worlds, bool)
        for kind in self.kinds.values():
            self.tables.setdefault(kind.name, {}).update({c.name: self.fresh(kind, c) for c in kind.fields.values()})
            if kind.agents:
                for name in ("active", "terminated", "truncated"):
                    self.tables[kind.name][name] = np.zeros((self.num_worlds, kind.rows), bool)
            if kind.varies:
                self.counts[kind.name], self.dropped[kind.name] = (
                    np.zeros(self.num_worlds, np.int32),
                    np.zeros(self.num_worlds, np.int32),
                )
                self.serials[kind.name] = np.full((self.num_worlds, kind.rows), -1, np.int64)
                self.leaving[kind.name] = np.zeros((self.num_worlds, kind.rows), bool)
                self.born[kind.name] = [[] for _ in range(self.num_worlds)]
        for name in ("step", "episode"):
            self.tables["World"][name] = np.zeros((self.num_worlds, 1), np.int32)

    def fresh(self, kind: Kind, component: Component) -> Any:
        made = np.zeros((self.num_worlds, kind.rows, *component.value_shape), component.scalar)
        made[...] = component.default
        return made

    def clear(self, world: int) -> None:
        """Put a world's state back to its defaults: nobody is there of those whose number varies."""
        for kind in self.kinds.values():
            if kind.varies:
                self.counts[kind.name][world] = 0
                continue
            for component in kind.fields.values():
                if component.role in ("state", "observation"):
                    self.tables[kind.name][component.name][world] = component.default
            if kind.agents:
                self.tables[kind.name]["active"][world] = True

    def settle(self, world: int) -> None:
        """Let those leave that despawned, and those in that were spawned, in the order of spawning."""
        for name, serials in self.serials.items():
            born, kind = self.born[name][world], self.kinds[name]
            count = int(self.counts[name][world])
            leaving = self.leaving[name][world]
            if not born and not leaving.any():
                continue
            stay = [slot for slot in range(count) if not leaving[slot]]
            taken = born[: kind.rows - len(stay)]
            columns = [*self.tables[name].values(), serials]
            for column in columns:
                column[world][: len(stay)] = column[world][stay]
            for place, (serial, values) in enumerate(taken, start=len(stay)):
                serials[world, place] = serial
                for component in kind.fields.values():
                    self.tables[name][component.name][world, place] = values.get(component.name, component.default)
            self.counts[name][world] = len(stay) + len(taken)
            leaving[:] = False
            lost = len(born) - len(taken)
            self.born[name][world] = []
            if lost:
                self.dropped[name][world] += lost
                self.flags["broken"][world] |= kind.overflow != "drop"


class Run:
    """One run of one system: for one world, and for one entity or one pair of entities of it."""

    __slots__ = (
        "base",
        "births",
        "draw",
        "locals",
        "number",
        "ordinal",
        "parts",
        "places",
        "result",
        "rows",
        "state",
        "world",
    )

    def __init__(self, state: State, world: int, rows: dict[str, int], ordinal: int, number: int, places: int) -> None:
        self.state, self.world, self.rows, self.ordinal, self.number, self.places = (
            state,
            world,
            rows,
            ordinal,
            number,
            places,
        )
        self.locals: dict[str, Any] = {}
        self.draw = self.base = self.births = 0
        self.parts: Any = None
        self.result: Any = None

    def fault(self) -> int:
        """Note a fault of the world; what stands in for an index that does not exist."""
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

    def place(self, kind: str, reference: int) -> int:
        """Where the entity is that a reference refers to; -1 where there is none."""
        if not self.state.kinds[kind].varies:
            return reference if reference >= 0 else -1
        serials = self.state.serials[kind][self.world, : self.count(kind)].tolist()
        return serials.index(reference) if reference >= 0 and reference in serials else -1

    def alive(self, kind: str, reference: Any) -> Any:
        return np.bool_(self.place(kind, int(reference)) >= 0)

    def follow(self, kind: str, reference: Any) -> int:
        return self.at(kind, self.place(kind, int(reference)))

    def at(self, kind: str, place: int) -> int:
        return place if 0 <= place < self.count(kind) else self.fault()

    def word(self, draw: int) -> int:
        state = self.state
        step, episode = (int(state.tables["World"][name][self.world, 0]) for name in ("step", "episode"))
        stream = self.ordinal << _STREAM_SHIFT | self.number
        return m.random_word(state.seeds[self.world], self.world, episode, step, stream, self.base + draw)

    def spawn(self, kind: str, values: dict[str, Any]) -> Any:
        share = 2**_PLACE_BITS // self.places
        step = int(self.state.tables["World"]["step"][self.world, 0])
        serial = (step << _SYSTEM_BITS | self.ordinal) << _PLACE_BITS | (self.number * share + self.births)
        self.births += 1
        self.state.born[kind][self.world].append((serial, values))
        return np.int64(serial)

    def despawn(self, kind: str, slot: int) -> int:
        self.state.leaving[kind][self.world, slot] = True
        return 0

    def end(self, kind: str, slot: int, what: str) -> int:
        if kind == "World":
            self.state.flags[what][self.world] = True
        else:
            self.state.tables[kind][what][self.world, slot] = True
            self.state.tables[kind]["active"][self.world, slot] = False
        return 0


def reference_columns(kind: Kind) -> list[str]:
    """The components of a kind that are references."""
    return [c.name for c in kind.fields.values() if isinstance(c.type, RefType)]
