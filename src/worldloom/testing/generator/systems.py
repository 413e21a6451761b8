"""Random systems over entities, pairs and worlds, and with shared loops, free of races by construction."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from worldloom.testing.generator.scope import Array
from worldloom.testing.generator.statements import StatementGenerator, indented
from worldloom.testing.generator.world_functions import call_function
from worldloom.testing.reference.types import BOOL, FLOAT, INT, Type

if TYPE_CHECKING:
    from worldloom.testing.generator.worlds import WorldGenerator

PARTNER = "partner"
"""The access to a component that a system uses in one entity for each own one."""
_WIDE = ("int32", "uint32", "int64", "uint64", "float32", "float64")
"""Types with atomic accumulation."""


@dataclass
class KindSpec:
    """A generated kind: its components, arrays and references, and its count."""

    name: str
    fields: list[tuple[str, Type]] = field(default_factory=list)
    arrays: list[tuple[str, Type, tuple[int, ...]]] = field(default_factory=list)
    refs: list[tuple[str, str]] = field(default_factory=list)
    count: str = "2"
    varies: bool = False
    event: bool = False
    position: Type | None = None
    base: str = ""
    agent: bool = False
    transients: list[tuple[str, Type]] = field(default_factory=list)
    """Components that only the sequences of :mod:`worldloom.testing.generator.sequences` use."""
    colour: str = ""
    """The component by which these choose entities; "" where the kind is in none."""
    colour_is_transient: bool = False

    @property
    def root(self) -> str:
        """The kind whose systems also run for it."""
        return self.base or self.name


class SystemGenerator(StatementGenerator):
    """Writes one system. The access to each component is chosen once, so that the system is free of races."""

    def __init__(self, rng: random.Random, world: WorldGenerator, own: KindSpec | None, sort: str, name: str) -> None:
        super().__init__(rng, world.mode, world.helpers)
        self.world, self.own, self.sort, self.name = world, own, sort, name
        self.functions: list[str] = []
        """Functions of the world that the system calls, those that others call first."""
        self.names_of_rows: dict[str, tuple[KindSpec, bool]] = {}
        """The kinds of the entities of the system's parameters, and whether they are the own one."""
        self.nested = 0
        """Functions of the world around the current statement."""
        self.outer_loops = 0
        """Loops around the calls of these functions."""
        self.plan: dict[tuple[str, str], str] = {}
        self.ways: dict[tuple[str, str], str] = {}
        self.left = rng.randint(3, 8)
        self.draws = sort != "observe"
        self.queries = self.chance(0.5)
        """Whether it may query neighbours; it then does not change positions."""
        self.disjoint = False
        """Whether it promises ``disjoint=True``; it then accumulates into no other entity, which would be a store."""

    def role(self, kind: str, name: str) -> str:
        """The access to a component: "own" and "read" where it may be read, "add" where it is accumulated into."""
        if name == "position" and self.queries:
            return "read"
        if name == "view":
            return "own" if self.sort == "observe" else "read"
        return self.plan.setdefault((kind, name), self.rng.choices(("own", "read", "add"), (5, 3, 2))[0])

    def way(self, kind: str, name: str, of: Type) -> str | None:
        """The accumulation of a component by several threads; None where there is none for its type."""
        if of == BOOL:
            ways = ["|", "&"]
        elif of.shape:
            ways = ["add"] if of.scalar in _WIDE and of.family == "vec" else []
        else:
            ways = ["add", "min", "max"] if of.scalar in _WIDE else []
        if of.is_float and self.mode == "any":
            ways = [w for w in ways if w == "add"]
        return self.ways.setdefault((kind, name), self.rng.choice(ways)) if ways else None

    def choose_condition(self) -> list[str]:
        """The argument of a system that runs for the own entities with some values of a component; none for all.

        The component is not accumulated into: others would change it while entities are chosen by it.
        """
        assert self.own is not None
        if not self.chance(0.7 if self.own.agent else 0.2):
            return []
        if self.own.agent and self.chance(0.6):  # of choices that do not exist, systems see choice 0
            return [f'where=("act", {self.rng.choice(("0", "0", "1", "range(3)", "(2, 0)", "(0,)"))})']
        component = self.rng.choice(("n0", "n1"))
        self.plan[self.own.root, component] = self.rng.choice(("own", "read"))
        values = self.rng.choice((str(self.rng.randint(-1, 3)), "range(3)", "(2, 0)", "(1, -1, 3)"))
        return [f'where=("{component}", {values})']

    def choose_partner(self) -> KindSpec | None:
        """The kind whose entity at the own slot a system with ``disjoint=True`` stores into; None without one.

        Every own entity has another partner, in which some components are used by nothing else in the system.
        """
        assert self.own is not None
        own = [kind for kind in self.world.kinds if self.own.name in (kind.name, kind.base)]
        if not self.chance(0.12) or any(kind.varies for kind in own):
            return None
        rows = max(int(kind.count) for kind in own)
        fitting = [
            kind
            for kind in self.world.kinds
            if not kind.varies and kind.root != self.own.root and int(kind.count) >= rows
        ]
        if not fitting:
            return None
        partner = self.rng.choice(fitting)
        names = [name for name, _ in partner.fields if name[0] in "cdn" and name != "narrow"]
        for component in self.rng.sample(names, min(3, len(names))):
            self.plan[partner.root, component] = PARTNER
        self.disjoint = True
        return partner

    def enter_partner(self, name: str, kind: KindSpec) -> None:
        """Add the components of the partner that only its own entity uses."""
        for component, of in kind.fields:
            if self.plan.get((kind.root, component)) == PARTNER:
                self.scope.read(of, f"{name}.{component}")
                self.scope.writes.append((f"{name}.{component}", of))

    def enter(self, name: str, kind: KindSpec, own: bool) -> None:
        """Add an entity to the scope. Its components may be assigned if it is the own one, else accumulated into."""
        free, scope = own or self.sort == "world", self.scope
        for component, of in kind.fields:
            role, text = self.role(kind.root, component), f"{name}.{component}"
            if component == "rough" or role == PARTNER:
                continue
            if component == "act":
                scope.read(of, text)
                continue
            if free and role == "own":
                scope.writes.append((text, of))
            if role == "add" and not free:
                way = None if self.disjoint else self.way(kind.root, component, of)
                if way is not None:
                    scope.adds.append((text, of, way))
                    continue
            if role == "add" and own and self.sort != "world":
                continue
            if role == "own" and not free and self.own is not None and kind.root == self.own.root:
                continue
            if role == "add" and not free:
                continue
            scope.read(of, text)
        for component, of, shape in kind.arrays:
            role, array = self.role(kind.root, component), Array(f"{name}.{component}", of, shape)
            if free and role == "own":
                scope.array_writes.append(array)
            if role == "read" or (role == "own" and (free or self.own is None or kind.root != self.own.root)):
                scope.arrays.append(array)
        for component, other in kind.refs:
            role, text = self.role(kind.root, component), f"{name}.{component}"
            if free and role != "read":
                scope.ref_writes.append((text, other))
            if role == "read" or free:
                scope.refs.append((text, other))
        scope.read(INT, f"{name}.id")
        if kind.agent:
            scope.read(BOOL, f"{name}.active") if own or self.sort in ("world", "pair") else None
        derived = any(other.base == kind.name for other in self.world.kinds)
        if not (own and derived):  # the own entity may be of a derived kind, and its reference of another type
            scope.rows.append((name, kind.name))

    def enter_world(self) -> None:
        scope, free = self.scope, self.sort == "world"
        for component, of in self.world.fields:
            role, text = self.role("World", component), f"world.{component}"
            if free and role != "read":
                scope.writes.append((text, of))
            if role == "add" and not free:
                way = self.way("World", component, of)
                if way is not None:
                    scope.adds.append((text, of, way))
                continue
            scope.read(of, text)
        for component, of, shape in self.world.arrays:
            array = Array(f"world.{component}", of, shape)
            scope.arrays.append(array)
            if free:
                scope.array_writes.append(array)
        for component, of, shape in self.world.config:
            if shape:
                scope.arrays.append(Array(f"world.{component}", of, shape))
            else:
                scope.read(of, f"world.{component}")
        for text in ("world.step", "world.episode", "world.id", "LIMIT"):
            scope.read(INT, text)
        for text, of in (("WIDE", Type("int64")), ("BYTE", Type("uint8")), ("HALF", FLOAT)):
            scope.read(of, text)

    def over_rows(self, depth: int, extra: list[str] | None = None) -> list[str]:
        kind, name = self.rng.choice(self.world.kinds), self.fresh("o")
        outer, self.scope = self.scope, self.scope.copy()
        head = f"for {name} in world.all({kind.name}):"
        if kind.position is not None and self.queries and self.chance(0.7):
            point = self.composite(kind.position, 1)
            radius = self.rng.choice(("1.5", "4.0", "100.0"))
            query = f"world.near({kind.name}, {point}, {radius})"
            if not self.chance(0.5):
                query = f"world.nearest({kind.name}, {point}, {self.rng.randint(1, 3)})"
            if self.mode != "smooth":
                head = f"for {name} in {query}:"
        self.enter(name, kind, own=False)
        lines = [head, *indented(self.looped(depth, extra))]
        self.scope = outer
        return lines

    def simple(self) -> list[str]:
        if self.chance(0.12):
            makers = (self.by_reference, self.by_slot, self.ending, self.spawning, self.despawning, self.shuffled)
            lines = self.rng.choice(makers)()
            if lines:
                return lines
        if self.chance(0.06):
            lines = call_function(self)
            if lines:
                return lines
        return super().simple()

    def by_reference(self) -> list[str] | None:
        """Follow a reference, in most cases after a test that it is alive."""
        if not self.scope.refs:
            return None
        text, kind = self.rng.choice(self.scope.refs)
        outer, self.scope = self.scope, self.scope.copy()
        name = self.fresh("o")
        self.enter(name, self.world.kind(kind), own=False)
        body = [f"{name} = {text}.get()", *self.simple_of(name)]
        self.scope = outer
        varies = self.world.kind(kind).varies
        return [f"if {text}.alive:" if varies or self.chance(0.9) else "if True:", *indented(body)]

    def by_slot(self) -> list[str] | None:
        kind = self.rng.choice([k for k in self.world.kinds if not k.varies])
        outer, self.scope = self.scope, self.scope.copy()
        name = self.fresh("o")
        slot = f"{self.whole(INT, 1)} % world.count({kind.name})" if self.chance(0.95) else self.whole(INT, 1)
        self.enter(name, kind, own=False)
        body = [f"{name} = world.at({kind.name}, {slot})", *self.simple_of(name)]
        self.scope = outer
        return ["if True:", *indented(body)]

    def simple_of(self, name: str) -> list[str]:
        lines = [*(self.accumulate() or []), *(self.store() or []), *(self.change_local() or [])]
        return lines or ["pass"]

    def ending(self) -> list[str] | None:
        if self.sort == "observe" or self.chance(0.8):
            return None
        who = "e" if self.own is not None and self.own.agent and self.sort == "entity" and self.chance(0.7) else "world"
        call = f"{who}.{self.rng.choice(('terminate', 'truncate'))}()"
        if self.chance(0.2):
            call = f'world.fail("value {{value}}", {self.whole(INT, 1)})'
        return [f"if {self.truth()}:", f"    {call}"]

    def shuffled(self) -> list[str] | None:
        arrays = [a for a in self.scope.array_writes if len(a.shape) == 1 and a in self.scope.arrays]
        if not arrays or not self.draws or self.sort == "share":
            return None
        return [f"world.shuffle({self.rng.choice(arrays).text})"]

    def spawning(self) -> list[str] | None:
        """Spawn an entity."""
        kinds = [k for k in self.world.kinds if k.varies]
        if not kinds or self.sort in ("observe", "share") or self.loops + self.outer_loops > 1:
            return None
        kind = self.rng.choice(kinds)
        values = [f"{n}={self.clamped(t, self.value(t, 1, typed=False))}" for n, t in kind.fields if self.chance(0.4)]
        values += [f"{n}={self.reference(k)}" for n, k in kind.refs if self.chance(0.5)]
        call = f"world.spawn({', '.join([kind.name, *values])})"
        references = [t for t, k in self.scope.ref_writes if k == kind.name]
        if references and self.chance(0.5):
            call = f"{self.rng.choice(references)} = {call}"
        return [call] if self.chance(0.3) else [f"if {self.truth()}:", f"    {call}"]

    def despawning(self) -> list[str] | None:
        """Despawn an entity."""
        if self.sort == "observe":
            return None
        rows = [
            name
            for name, kind in self.scope.rows
            if self.world.kind(kind).varies and (self.sort != "share" or name != "e")
        ]
        return [f"if {self.truth()}:", f"    {self.rng.choice(rows)}.despawn()"] if rows else None
