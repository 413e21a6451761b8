"""Random sequences of short systems, such as the passes of a solver, with transient components.

A sequence writes every transient component of an entity before it reads it, whatever the rest of the step does.
Most of its systems have ``together=True``, run for entities of some colours and use them by ``world.at``: then a GPU
keeps the transient components in shared memory.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from worldloom.testing.generator.passes import COLOURS, Pass, PassGenerator
from worldloom.testing.generator.statements import indented
from worldloom.testing.generator.systems import KindSpec
from worldloom.testing.reference.types import BOOL, FLOAT, INT, Type

if TYPE_CHECKING:
    from worldloom.testing.generator.worlds import WorldGenerator

LONG_VECTORS = tuple(Type("float32", (n,), "vec") for n in (8, 12, 16))
VECTOR_NAMES = "Vec8 = wl.vec(8)\nVec12 = wl.vec(12)\nVec16 = wl.vec(16)"
FEWEST_SYSTEMS = 12
"""Worlds with fewer systems have no sequences, unless asked for."""
_SCALARS = (FLOAT, INT, BOOL, Type("int64"), Type("float64"))
_VALUES: tuple[tuple[str, frozenset[int]], ...] = (
    ("range(3)", frozenset({0, 1, 2})),
    ("(2, 0)", frozenset({0, 2})),
    ("(0, 1)", frozenset({0, 1})),
    ("1", frozenset({1})),
    ("0", frozenset({0})),
    ("(1,)", frozenset({1})),
)


@dataclass
class Lane:
    """A kind in a sequence, and for which colours each of its transient components is written so far."""

    kind: KindSpec
    values: tuple[str, frozenset[int]]
    plain: bool
    """Whether systems use their own entity, and not through ``world.at``."""
    defined: dict[str, frozenset[int]] = field(default_factory=dict)


class SequenceGenerator:
    """Writes the sequences of a world.

    Args:
        world: The world.
        rng: A source of choices of its own, so that seeds keep the other systems of their worlds.
        count: Number of sequences; None for a random one.
    """

    def __init__(self, world: WorldGenerator, rng: random.Random, count: int | None) -> None:
        self.world, self.rng = world, rng
        self.count = rng.choice((0, 1, 1, 2)) * (world.count >= FEWEST_SYSTEMS) if count is None else count
        self.weighed = self.count > 0 and random.Random(f"workload {world.seed}").random() < 0.6  # noqa: S311
        """Whether the world has a workload, by which a GPU chooses tiles of large batches."""
        self.lanes: list[list[KindSpec]] = []
        self.texts: list[str] = []

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def choose_kinds(self) -> None:
        """Choose the kinds of all sequences, and their transient components."""
        for _ in range(self.count):
            kinds = self.rng.sample(self.world.kinds, self.rng.choice((1, 2, 2)))
            self.lanes.append(kinds)
            for kind in kinds:
                if kind.colour:
                    continue
                small = kind.name.lower()
                types = [self.rng.choice(LONG_VECTORS) for _ in range(self.rng.randint(1, 2))]
                types += [self.rng.choice(_SCALARS) for _ in range(self.rng.randint(0, 2))]
                kind.transients = [(f"{small}t{k}", of) for k, of in enumerate(types)]
                kind.colour, kind.colour_is_transient = f"{small}_colour", self.chance(0.4)

    @property
    def constants(self) -> list[str]:
        return [VECTOR_NAMES] if self.count else []

    # -- sequences ---------------------------------------------------------------------------------------------------

    def inserted(self, step: list[str]) -> list[str]:
        """Write all sequences, and insert their systems between those of a step, without any in between."""
        sequences = [self._sequence(f"q{number}", kinds) for number, kinds in enumerate(self.lanes)]
        places = sorted(self.rng.randint(0, len(step)) for _ in sequences)
        for place, names in zip(reversed(places), reversed(sequences), strict=True):
            step = [*step[:place], *names, *step[place:]]
        return step

    def _sequence(self, name: str, kinds: list[KindSpec]) -> list[str]:
        tight = self.chance(0.6)
        lanes = [self._lane(kind, tight) for kind in kinds]
        names: list[str] = []
        if self.weighed:
            self._add(names, name, self._weigh(lanes[0].kind))
        for lane in lanes:
            if lane.kind.varies and self.chance(0.8):
                self._add(names, name, self._births(lane))
            if lane.kind.colour_is_transient or self.chance(0.7):
                self._add(names, name, self._colours(lane))
        first = len(names)
        for number in range(self.rng.randint(3, 7)):
            lane = self.rng.choice(lanes)
            if not tight and lane.kind.varies and self.chance(0.1):
                self._add(names, name, self._deaths(lane))
                if lane.kind.colour_is_transient:
                    self._add(names, name, self._colours(lane))
                first = len(names)
                continue
            over_world = number > 0 and lane.kind.name not in self._bases and self.chance(0.12)
            self._add(names, name, self._pass(lane, tight, over_world))
        if len(names) > first and self.chance(0.3):  # what they read is written by then
            names += names[first:] * self.rng.randint(1, 2)
        for lane in lanes:
            self._add(names, name, self._pass(lane, tight, over_world=False, shows=True))
            if lane.kind.varies and self.chance(0.5):
                self._add(names, name, self._deaths(lane))
        return names

    @property
    def _bases(self) -> set[str]:
        """The kinds from which others are derived, whose entities ``world.at`` and ``world.all`` do not find."""
        return {kind.base for kind in self.world.kinds}

    def _lane(self, kind: KindSpec, tight: bool) -> Lane:
        plain = kind.name in self._bases or (not tight and self.chance(0.4))
        return Lane(kind, self.rng.choice(_VALUES[:3]), plain)

    def _add(self, names: list[str], sequence: str, text: str) -> None:
        name = f"{sequence}_{len(self.texts)}"
        names.append(name)
        self.texts.append(text.replace("NAME", name))

    def _weigh(self, kind: KindSpec) -> str:
        """The workloads of worlds, some of them out of range."""
        return f"@wl.system\ndef NAME(world: Field):\n    world.work = 5 * world.id + world.count({kind.name}) - 2"

    # -- systems that change rows and colours ------------------------------------------------------------------------

    def _births(self, lane: Lane) -> str:
        """Few entities, if there are none. Their transient components are undefined."""
        lane.defined.clear()
        kind, colour = lane.kind, lane.kind.colour
        given = "" if kind.colour_is_transient else f", {colour}=i"
        lines = [f"if world.count({kind.name}) < 2:", "    for i in range(3):"]
        lines += [f"        world.spawn({kind.name}, n0=i{given})"]
        return "@wl.system\ndef NAME(world: Field):\n" + "\n".join(indented(lines))

    def _deaths(self, lane: Lane) -> str:
        """Some entities leave, others move to their rows and lose their transient components."""
        lane.defined.clear()
        lines = [f"if (e.n1 + e.id) % {self.rng.randint(2, 5)} == 0:", "    e.despawn()"]
        if self.chance(0.5):
            lines += ["else:", f"    world.spawn({lane.kind.name}, n1=e.n1 + 1)"]
        return f"@wl.system\ndef NAME(e: {lane.kind.name}, world: Field):\n" + "\n".join(indented(lines))

    def _colours(self, lane: Lane) -> str:
        """All entities get a colour; what was written for those of a colour no longer is."""
        lane.defined.clear()
        lane.defined[lane.kind.colour] = COLOURS
        value = self.rng.choice(("e.id", "(e.id + e.n0)", "(e.n0 + world.step)"))
        option = "(together=True)" if self.chance(0.3) else ""
        head = f"@wl.system{option}\ndef NAME(e: {lane.kind.name}, world: Field):\n"
        return head + f"    e.{lane.kind.colour} = {value} % 3"

    # -- passes ------------------------------------------------------------------------------------------------------

    def _pass(self, lane: Lane, tight: bool, over_world: bool, shows: bool = False) -> str:
        """A system that writes and reads transient components; one that ``shows`` stores them into other ones."""
        kind, defined = lane.kind, lane.defined
        values: tuple[str, frozenset[int]] | None = self._values(lane, tight)
        if over_world or (shows and all(defined.get(n) == COLOURS for n, _ in kind.transients) and self.chance(0.5)):
            values = None
        needed = COLOURS if values is None else values[1]
        ready = [(n, t) for n, t in kind.transients if defined.get(n, frozenset()) >= needed]
        missing = [(n, t) for n, t in kind.transients if (n, t) not in ready]
        if not shows and not tight:
            missing = [pair for pair in missing if not ready or self.chance(0.5)]
        spec = Pass(
            kind=kind,
            where=f'where=("{kind.colour}", {values[0]})' if values is not None else "",
            over_world=over_world,
            plain=lane.plain or (not tight and self.chance(0.2)),
            together=tight or self.chance(0.7),
            ready=ready,
            missing=missing,
            defined=dict(defined),
            shows=shows,
        )
        for name, _ in missing:
            defined[name] = defined.get(name, frozenset()) | needed
        return PassGenerator(self.rng, self.world, spec).text()

    def _values(self, lane: Lane, tight: bool) -> tuple[str, frozenset[int]] | None:
        """The colours that a system runs for; None for all entities."""
        if self.chance(0.15 if tight else 0.3):
            return None
        if self.chance(0.6):
            return lane.values
        return self.rng.choice([v for v in _VALUES if v[1] <= lane.values[1] or not tight])


def with_whole_sequences(dropped: set[str], names: Iterable[str]) -> set[str]:
    """The systems to drop, with all systems of a sequence of which one is dropped: others read what it writes."""
    sequences = {name.split("_")[0] for name in dropped if name.startswith("q")}
    return dropped | {name for name in names if name.split("_")[0] in sequences}
