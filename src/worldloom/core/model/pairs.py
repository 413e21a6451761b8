"""Pairs: systems over two entities of one world, run once for every pair of them.

Every possible pair has an index, which seeds its random numbers and identifies its spawns. For one kind it is
``j * (j - 1) / 2 + i`` for the entities ``i < j``, so that the pairs of the first n entities have the lowest indices.
For two kinds it is ``i * rows + j``, where ``rows`` is the capacity of the second kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from worldloom.core.model.columns import RowCounts
from worldloom.core.model.population import Population

MAX_PAIRS = 2**30
"""Largest number of pairs in one world: indices have 32 bits."""


class Pair:
    """What a pair system runs over: two kinds of entity, which may be the same, or their tables."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second
        self.tables: tuple[str, str] = (first.__name__, second.__name__)
        self.__name__ = "__with__".join(self.tables)

    @property
    def same(self) -> bool:
        """Whether both are of one kind, so that a pair is unordered."""
        return self.tables[0] == self.tables[1]

    @property
    def label(self) -> str:
        return ", ".join(self.tables)

    def max_pairs(self, rows: Mapping[str, int]) -> int:
        """The largest number of pairs in one world; at least 1, so that a kernel has a thread."""
        one, two = (rows[table] for table in self.tables)
        return max(1, one * (one - 1) // 2 if self.same else one * two)

    def places(self, one: int, two: int, rows: int) -> Iterator[tuple[int, int, int]]:
        """The index and the slots of every pair of ``one`` and ``two`` entities, in order; ``rows`` is as above."""
        if self.same:
            return ((j * (j - 1) // 2 + i, i, j) for j in range(one) for i in range(j))
        return ((i * rows + j, i, j) for i in range(one) for j in range(two))


class PairLoopWriter:
    """Writes the first lines of a kernel over pairs: the world, the two rows, and the index of the pair.

    Args:
        pair: The tables.
        rows: Rows per world of each table.
        world: Returns the code that loads a field of the world.
    """

    def __init__(self, pair: Pair, rows: RowCounts, world: Callable[[str], str]) -> None:
        self.pair, self.rows, self.world = pair, rows, world

    def threads(self) -> list[str]:
        """A thread for every possible pair."""
        pairs, second_rows = self.pair.max_pairs(self.rows), self.rows[self.pair.tables[1]]
        lines = [f"world = first + thread / {pairs}", f"slot = thread - (world - first) * {pairs}"]
        if self.pair.same:
            lines += ["place_b = later_of_pair(slot)", "place_a = slot - place_b * (place_b - 1) / 2"]
            lines.append(f"if place_b >= {self._count(1)}: return")
        else:
            lines += [f"place_a = slot / {second_rows}", f"place_b = slot - place_a * {second_rows}"]
            lines += [f"if place_{side} >= {self._count(n)}: return" for n, side in enumerate("ab") if self._varies(n)]
        return lines + self._rows()

    def loops(self, one_world: bool) -> tuple[list[str], list[str]]:
        """The lines inside the loops over the pairs, and the loops, over all worlds or in the world of a thread."""
        if self.pair.same:
            loops = [f"for place_b in range({self._count(1)}):", "    for place_a in range(place_b):"]
            number = "place_b * (place_b - 1) / 2 + place_a"
        else:
            loops = [f"for place_a in range({self._count(0)}):", f"    for place_b in range({self._count(1)}):"]
            number = f"place_a * {self.rows[self.pair.tables[1]]} + place_b"
        loops = ["world = first + thread", *loops]
        if not one_world:
            loops = ["for thread in range(rows):", *[f"    {line}" for line in loops]]
        return [f"slot = {number}", *self._rows()], loops

    def _rows(self) -> list[str]:
        return [f"row_{side} = {self._first(n)} + place_{side}" for n, side in enumerate("ab")]

    def _population(self, side: int) -> Population | None:
        return self.rows.populations.get(self.pair.tables[side])

    def _varies(self, side: int) -> bool:
        return self._population(side) is not None

    def _count(self, side: int) -> str:
        table = self.pair.tables[side]
        return self.world(f"{table}__count") if self._varies(side) else str(self.rows[table])

    def _first(self, side: int) -> str:
        table, population = self.pair.tables[side], self._population(side)
        return (
            self.world(f"{table}__first")
            if population is not None and population.pooled
            else f"world * {self.rows[table]}"
        )
