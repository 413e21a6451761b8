"""Random systems over the world with several threads: shared loops in branches and loops that worlds leave apart."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from worldloom.testing.generator.statements import Maker, indented
from worldloom.testing.generator.systems import KindSpec, SystemGenerator
from worldloom.testing.reference.types import INT, Type

if TYPE_CHECKING:
    from worldloom.testing.generator.worlds import WorldGenerator

THREADS = (4, 8, 8, 16, 16, 32)
"""Threads per world: with less than 32, several worlds share a warp."""
_KEPT = re.compile(r"world\.|[vnit]\d|LIMIT|WIDE|BYTE|HALF")
"""What an iteration of a shared loop reads from around it: no components of entities, which others may change."""


def _assigns(line: str, target: str) -> bool:
    return line.lstrip().startswith(f"{target} ")


class WideGenerator(SystemGenerator):
    """Writes one system over the world whose threads share loops over entities."""

    def __init__(self, rng: random.Random, world: WorldGenerator, name: str) -> None:
        super().__init__(rng, world, None, "world", name)
        self.threads = rng.choice(THREADS)
        self.leaving = "return" if self.threads == 32 else ""  # other worlds of a warp go on
        self.sharing = False
        """Whether statements are those of an iteration of a shared loop."""
        self.left = rng.randint(6, 12)

    def text(self) -> str:
        """The system, after the functions of the world that it calls."""
        self.enter_world()
        lines: list[str] = []
        for make in self.rng.choices((self.loop_left_apart, self.shared, self.statement), (4, 3, 3), k=3):
            lines += make(2)
        options = [f"threads={self.threads}", *(["registers=64"] if self.chance(0.1) else [])]
        head = f"@wl.system({', '.join(options)})\ndef {self.name}(world: Field):"
        return "\n\n\n".join([*self.functions, "\n".join([head, *indented(lines)])])

    def statement(self, depth: int) -> list[str]:
        if self.sharing or depth <= 0 or self.left <= 1:
            return super().statement(depth)
        makers: list[Maker] = [super().statement, self.shared, self.loop_left_apart]
        return self.rng.choices(makers, (6, 2, 1))[0](depth)

    def looped(self, depth: int, extra: list[str] | None, draws: bool = True) -> list[str]:
        """The body of a loop; in most of them some worlds run a shared loop, and leave or go on."""
        lines = super().looped(depth, extra, draws)
        if self.sharing or not self.chance(0.6):
            return lines
        jump = [self.rng.choice(("break", "continue"))] if self.chance(0.8) else []
        taken = [f"if {self.apart()}:", *indented([*self.shared(depth - 1), *jump])]
        if self.chance(0.3):
            taken += ["else:", *indented(self.shared(depth - 1) if self.chance(0.5) else self.simple())]
        after = self.shared(depth - 1) if self.chance(0.4) else self.change() or self.simple()
        return [*lines, *taken, *after] if self.chance(0.6) else [*taken, *lines, *after]

    def loop_left_apart(self, depth: int) -> list[str]:
        """A plain loop with shared loops inside, which the worlds of a warp leave at different places."""
        return self.rng.choice((self.counted, self.bounded_while, self.over_rows))(depth)

    def apart(self) -> str:
        """A condition that differs between the worlds of a warp in most cases."""
        counter = self.rng.choice([n for n, _ in self.scope.bounded] or ["world.step"])
        known = (f"world.id % {self.rng.randint(2, 3)} == {self.rng.choice((counter, '0', '1'))}", "world.id == 1")
        return self.rng.choice((*known, *known, self.truth(1), self.truth(1)))

    # -- shared loops ------------------------------------------------------------------------------------------------

    def shared(self, depth: int) -> list[str]:
        """A loop over entities of a kind, each of which belongs to one iteration."""
        kinds = [k for k in self.world.kinds if all(other.base != k.name for other in self.world.kinds)]
        kind, turn, name = self.rng.choice(kinds), self.fresh("t"), self.fresh("o")
        count = f"world.count({kind.name})"
        turns = self.rng.choice((count, count, f"{count} - {count} // 2", f"{self.whole(INT, 1)} % ({count} + 1)"))
        outer, self.scope, frozen = self.scope, self.scope.copy(), set(self.frozen)
        self.frozen |= {n for n, _ in self.scope.locals}
        self._forget_rows()
        self.scope.read(INT, turn)
        self.frozen.add(turn)
        slot = turn if self.chance(0.7) else f"{count} - 1 - {turn}"
        lines = [f"{name} = world.at({kind.name}, {slot})", *self._iteration(kind, name)]
        stored = [(text, of) for text, of in self.scope.writes if any(_assigns(line, text) for line in lines)]
        self.scope, self.frozen = outer, frozen
        loop = [f"for {turn} in wl.share({turns}, disjoint=True):", *indented(lines)]
        return [*loop, *self._read_back(kind, [(text.removeprefix(f"{name}."), of) for text, of in stored])]

    def _read_back(self, kind: KindSpec, stored: list[tuple[str, Type]]) -> list[str]:
        """Right after a shared loop, read a component that another thread may have ``stored`` in it."""
        fitting = [(component, goal) for component, of in stored for goal, other in self.scope.writes if of == other]
        if kind.varies or not fitting or not self.chance(0.6):
            return []
        (component, goal), name = self.rng.choice(fitting), self.fresh()
        slot = f"{self.whole(INT, 1)} % world.count({kind.name})"
        return [f"{name} = world.at({kind.name}, {slot}).{component}", f"{goal} = {name}"]

    def _forget_rows(self) -> None:
        """Leave what no other iteration changes in the scope."""
        scope = self.scope
        scope.reads = {k: [t for t in texts if _KEPT.match(t)] for k, texts in scope.reads.items()}
        scope.arrays = [a for a in scope.arrays if _KEPT.match(a.text)]
        scope.writes, scope.array_writes, scope.refs, scope.ref_writes = [], [], [], []
        scope.adds, scope.rows, scope.locals = [], [], []

    def _iteration(self, kind: KindSpec, name: str) -> list[str]:
        self.enter(name, kind, own=False)
        self.scope.refs, self.scope.ref_writes = [], []
        around = self.loops, self.draws, self.leaving, self.counters
        self.sharing, self.loops, self.leaving, self.counters = True, 0, "", []
        lines = self.drawn() or [] if self.chance(0.3) else []
        self.draws = False
        for _ in range(self.rng.randint(1, 2)):
            lines += self.store() or self.new_local()
            if self.chance(0.4):
                lines += self.statement(1)
            if self.chance(0.2):
                lines += [f"if {self.truth(1)}:", "    continue"]
        if kind.varies and self.chance(0.15):
            lines += [f"if {self.truth(1)}:", f"    {name}.despawn()"]
        self.sharing, (self.loops, self.draws, self.leaving, self.counters) = False, around
        return lines

    # -- what iterations do without ----------------------------------------------------------------------------------

    def over_rows(self, depth: int, extra: list[str] | None = None) -> list[str]:
        return self.counted(depth, extra) if self.sharing else super().over_rows(depth, extra)

    def simple(self) -> list[str]:
        return self.plain() if self.sharing else super().simple()
