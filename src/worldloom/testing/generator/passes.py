"""Random systems of sequences: each uses the transient components of its own entity, and reads those of others."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worldloom.testing.generator.statements import StatementGenerator, indented
from worldloom.testing.generator.systems import KindSpec
from worldloom.testing.reference.types import FLOAT, INT, Type

if TYPE_CHECKING:
    from worldloom.testing.generator.worlds import WorldGenerator

COLOURS = frozenset({0, 1, 2, -1})
"""All colours; -1 stands for numbers that are no colour."""
Components = list[tuple[str, Type]]


@dataclass
class Pass:
    """What a system of a sequence is to be.

    Attributes:
        kind: The kind of its entities.
        where: The option that selects some of them; "" for all.
        over_world: Whether it runs once per world, over all entities in a loop.
        plain: Whether it uses its own entity, and not through ``world.at``.
        together: Whether it may share a kernel with others.
        ready: The transient components that are written for all of its entities.
        missing: Those that it writes first.
        defined: The colours for which transient components were written before it.
        shows: Whether it stores transient components into other ones.
    """

    kind: KindSpec
    where: str
    over_world: bool
    plain: bool
    together: bool
    ready: Components
    missing: Components
    defined: dict[str, frozenset[int]]
    shows: bool


class PassGenerator(StatementGenerator):
    """Writes one system of a sequence. Entities store only into themselves, and read of others what none stores."""

    def __init__(self, rng: random.Random, world: WorldGenerator, spec: Pass) -> None:
        super().__init__(rng, world.mode, world.helpers)
        self.world, self.spec = world, spec
        self.row = "e" if spec.plain and not spec.over_world else "o"
        self.left = rng.randint(2, 5)
        self.draws = self.chance(0.3) and not spec.over_world
        self.leaving = ""
        plain = [(n, t) for n, t in spec.kind.fields if n[0] in "cdfmn" and n not in ("finite", "narrow")]
        self.stored = rng.sample(plain, min(len(plain), rng.randint(0, 2)))
        self.stored += [(n, t) for n, t in plain if n == "f0" and spec.shows and (n, t) not in self.stored]
        self.loaded = rng.sample(plain, min(len(plain), rng.randint(1, 4)))
        self.changed = [pair for pair in spec.ready if self.chance(0.6)]

    def text(self) -> str:
        """The decorator and the function, named ``NAME``."""
        spec, kind = self.spec, self.spec.kind
        through = not spec.plain and not spec.over_world
        options = [spec.where, "disjoint=True" if through else "", "together=True" if spec.together else ""]
        given = ", ".join(option for option in options if option)
        lines = [f"o = world.at({kind.name}, e.id)"] if through else []
        self._enter_world()
        body = self._body()
        lines += [f"for o in world.all({kind.name}):", *indented(body)] if spec.over_world else body
        head = "world: Field" if spec.over_world else f"e: {kind.name}, world: Field"
        decorator = f"@wl.system({given})" if given else "@wl.system"
        return "\n".join([decorator, f"def NAME({head}):", *indented(lines)])

    def _enter_world(self) -> None:
        """Some fields of the world: to read, or else to add whole numbers to."""
        fields = [f for f in self.world.fields if self.chance(0.15)]
        for name, of in fields:
            if of.scalar in ("int32", "int64") and not of.shape and self.chance(0.6):
                self.scope.adds.append((f"world.{name}", of, self.rng.choice(("add", "min", "max"))))
            else:
                self.scope.read(of, f"world.{name}")
        for text in ("world.step", "world.id", "LIMIT"):
            self.scope.read(INT, text)
        self.scope.read(FLOAT, "HALF")

    def _body(self) -> list[str]:
        spec, row = self.spec, self.row
        self.scope.read(INT, f"{row}.id")
        for name, of in dict.fromkeys((*self.loaded, *self.stored)):
            self.scope.read(of, f"{row}.{name}")
        for name, of in spec.ready:
            self.scope.read(of, f"{row}.{name}")
        lines: list[str] = []
        for name, of in spec.missing:
            lines += self._first(f"{row}.{name}", of)
            self.scope.read(of, f"{row}.{name}")
        self.scope.writes += [(f"{row}.{n}", t) for n, t in (*self.stored, *self.changed, *spec.missing)]
        if not spec.over_world and self.chance(0.35):
            lines += self._neighbour()
        for _ in range(self.rng.randint(1, 2)):
            lines += self.statement(2)
        lines += self.store() or []
        return lines + (self._shown() if spec.shows else [])

    def _first(self, target: str, of: Type) -> list[str]:
        """The first store into a transient component, whole or number by number."""
        if len(of.shape) == 1 and self.chance(0.4):
            name = self.fresh("k")
            outer, self.scope = self.scope, self.scope.copy()
            self.scope.read(INT, name)
            value = self.clamped(FLOAT, self.value(FLOAT, 1))
            self.scope = outer
            return [f"for {name} in range({of.shape[0]}):", f"    {target}[{name}] = {value}"]
        return [f"{target} = {self.clamped(of, self.value(of, 1, typed=False))}"]

    def _neighbour(self) -> list[str]:
        """Read another entity: components that no entity stores in this system, and for which its colour fits."""
        spec, kind = self.spec, self.spec.kind
        written = {text.rsplit(".", 1)[-1] for text, _ in self.scope.writes}
        fitting = [(n, t) for n, t in spec.ready if n not in written and spec.defined.get(n)]
        if kind.name in {k.base for k in self.world.kinds} or not fitting:
            return []
        name, of = self.rng.choice(fitting)
        colours = spec.defined[name]
        outer, self.scope = self.scope, self.scope.copy()
        self.scope.read(of, f"near.{name}")
        inner = [*(self.accumulate() or []), *(self.store() or ["pass"])]
        self.scope = outer
        if colours != COLOURS:
            test = " or ".join(f"near.{kind.colour} == {c}" for c in sorted(colours))
            inner = [f"if {test}:", *indented(inner)]
        place = f"({self.row}.id + {self.rng.choice((1, 1, 2))}) % world.count({kind.name})"
        return [f"near = world.at({kind.name}, {place})", *inner]

    def _shown(self) -> list[str]:
        """Store what the transient components hold where it is compared."""
        spec, row = self.spec, self.row
        parts = [
            f"{row}.{n}" if t == FLOAT else f"{row}.{n}[{self.rng.randrange(t.shape[0])}]"
            for n, t in (*spec.ready, *spec.missing)
            if t == FLOAT or t.shape
        ]
        sign = "+" if self.mode == "smooth" else "-"
        return [f"{row}.f0 = {self.clamped(FLOAT, f' {sign} '.join(parts))}"] if parts else []

    def from_vector(self, depth: int) -> str:
        """Also products of long vectors."""
        long = [texts for kind, texts in self.scope.reads.items() if kind.shape and kind.shape[0] > 4]
        if not long or self.chance(0.4):
            return super().from_vector(depth)
        texts = self.rng.choice(long)
        function = self.rng.choice(("dot", "length_sq"))
        return f"wl.{function}({', '.join(self.rng.choice(texts) for _ in range(2 if function == 'dot' else 1))})"
