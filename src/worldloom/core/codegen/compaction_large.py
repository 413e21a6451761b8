"""The text of the kernels that compact a large population on CUDA, where many warps share a world.

``sort_tiles``, with a thread for each spawned entity, sorts tiles of them by serial number. Each ``merge`` joins
``WAYS`` sorted runs: a thread finds the new place of its number by bisection of the other runs. ``survey``, with a
thread for each row, counts the survivors of worlds with despawned entities, and finds the rows in which some must move.
``move``, with a warp for each world, moves them; where all survivors come first, it has nothing to do. ``fill``, with a
thread for each row, adds the spawned entities in sorted order, and ``finish`` stores the numbers of each world and
reports what did not fit. In worlds without changes, the threads of all kernels return at once.

The work of a world is at most linear in its rows, and n log(n)^2 in the number n of spawned entities.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from worldloom.core.codegen.compaction_kernel import CompactionKernel, ScratchWriter
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model import sort_columns
from worldloom.core.model.columns import FaultSites
from worldloom.core.model.fields import Field
from worldloom.core.model.population import DESPAWNED, SERIAL, Population
from worldloom.core.model.sort_columns import END, FREE, KEPT, ORDER, SERIALS

TILE = 256
"""Spawned entities whose numbers a thread compares with its own, one by one, before the merges."""
WAYS = 4
"""Runs that a merge joins into one."""


def compaction_kernels(
    population: Population, fields: dict[str, Field], sites: FaultSites, types: dict[str, Any]
) -> list[CompactionKernel]:
    """The kernels of a compaction, in order."""

    def kernel(body: Callable[[LargeCompactionWriter], list[str]], rows: int, **options: Any) -> CompactionKernel:
        writer = LargeCompactionWriter(population, fields, sites, types)
        lines = body(writer)
        return CompactionKernel(lines, tuple(writer.columns), rows, **options)

    capacity, staged = population.limit.per_world, population.spawn_capacity
    return [
        kernel(LargeCompactionWriter.sort_tiles, staged),
        kernel(LargeCompactionWriter.survey, whole_warps(capacity), whole_warps=True),
        *[
            kernel(partial(LargeCompactionWriter.merge, number=number), staged)
            for number in range(len(run_lengths(staged)))
        ],
        kernel(LargeCompactionWriter.move, WARP_SIZE, whole_warps=True),
        kernel(LargeCompactionWriter.fill, max(capacity, staged)),
        kernel(LargeCompactionWriter.finish, 1, closes=True),
    ]


def whole_warps(threads: int) -> int:
    """``threads``, rounded up to whole warps."""
    return -(-threads // WARP_SIZE) * WARP_SIZE


def run_lengths(staged: int) -> list[int]:
    """The lengths of the sorted runs that each merge joins, if a world spawns ``staged`` entities."""
    lengths: list[int] = []
    while TILE * WAYS ** len(lengths) < staged:
        lengths.append(TILE * WAYS ** len(lengths))
    return lengths


class LargeCompactionWriter(ScratchWriter):
    """Writes the body of one of the kernels."""

    def _scratch_fields(self) -> dict[str, Field]:
        return sort_columns.fields()

    # -- the spawned entities in order -------------------------------------------------------------------------------

    def sort_tiles(self) -> list[str]:
        """A thread per staging row: its rank in its tile. Equal numbers keep their order, so that ranks differ."""
        return [
            *self._places(self.population.spawn_capacity),
            "if k == 0:",
            *[f"    {self._put_scratch(name, '0')}" for name in (KEPT, FREE, END)],
            *self._staged(),
            "if k >= taken: return",
            f"serial = {self._new(SERIAL, 'stage + k')}",
            f"start = k / {TILE} * {TILE}",
            "rank = wp.int32(0)",
            f"for other in range(start, wp.min(start + {TILE}, taken)):",
            f"    number = {self._new(SERIAL, 'stage + other')}",
            "    if number < serial or (number == serial and other < k): rank += 1",
            "place = stage + start + rank",
            self._put_scratch(SERIALS[0], "serial", "place"),
            self._put_scratch(ORDER[0], "k", "place"),
        ]

    def merge(self, number: int) -> list[str]:
        """A thread per staging row: its place after the merge. Nothing is left to do where one run has all numbers."""
        length = run_lengths(self.population.spawn_capacity)[number]
        source, target = number % 2, (number + 1) % 2
        serials = self._argument(self.population.scratch_table, SERIALS[source])
        return [
            *self._places(self.population.spawn_capacity),
            *self._staged(),
            f"if k >= taken or taken <= {length}: return",
            f"serial = {self._scratch(SERIALS[source], 'stage + k')}",
            f"run = k / {length}",
            f"start = run / {WAYS} * {WAYS}",
            f"rank = k - run * {length}",
            f"for other in range(start, start + {WAYS}):",
            f"    if other != run and other * {length} < taken:",
            "        bound = wp.where(other < run, serial + wp.int64(1), serial)",
            f"        begin = stage + other * {length}",
            f"        end = stage + wp.min(other * {length} + {length}, taken)",
            f"        rank += count_below({serials}, begin, end, bound)",
            f"place = stage + start * {length} + rank",
            self._put_scratch(SERIALS[target], "serial", "place"),
            self._put_scratch(ORDER[target], self._scratch(ORDER[source], "stage + k"), "place"),
        ]

    # -- survivors ---------------------------------------------------------------------------------------------------

    def survey(self) -> list[str]:
        """A thread per row, the rows of a world in whole warps: survivors, and the rows where despawned ones begin."""
        capacity = self.population.limit.per_world
        return [
            *self._places(whole_warps(capacity)),
            f"if not {self._world('changed')}: return",
            f"lane = thread % {WARP_SIZE}",
            f"count = {self._count()}",
            "stays = wp.bool(False)",
            "leaves = wp.bool(False)",
            "if k < count:",
            f"    leaves = {self._get(DESPAWNED, f'world * {capacity} + k')}",
            "    stays = not leaves",
            "staying = warp_votes(stays)",
            "leaving = warp_votes(leaves)",
            "before = votes_before(staying, lane)",
            f"if leaves and votes_before(leaving, lane) == 0: {self._meet('max', FREE, f'{capacity} - k')}",
            "if stays and before == vote_count(staying) - 1:",
            f"    {self._meet('add', KEPT, 'before + 1')}",
            f"    {self._meet('max', END, 'k + 1')}",
        ]

    def move(self) -> list[str]:
        """A warp per world: survivors move up from the first despawned entity on, to the last survivor."""
        capacity = self.population.limit.per_world
        return [
            f"world = first + thread / {WARP_SIZE}",
            f"lane = thread % {WARP_SIZE}",
            f"if not {self._world('changed')}: return",
            f"count = {self._count()}",
            f"start = {capacity} - {self._scratch(FREE)}",
            f"end = wp.min({self._scratch(END)}, count)",
            "if start >= end: return",
            f"base = world * {capacity}",
            f"kept = start / {WARP_SIZE} * {WARP_SIZE}",
            f"for turn in range(start / {WARP_SIZE}, (end + {WARP_SIZE - 1}) / {WARP_SIZE}):",
            *[f"    {line}" for line in self._compact_turn(clears=False)],
        ]

    # -- the new rows ------------------------------------------------------------------------------------------------

    def fill(self) -> list[str]:
        """A thread per row: it forgets a despawned entity, and writes a spawned one."""
        capacity, staged = self.population.limit.per_world, self.population.spawn_capacity
        lengths = run_lengths(staged)
        return [
            *self._places(max(capacity, staged)),
            *self._staged(),
            f"changed = {self._world('changed')}",
            "if taken == 0 and not changed: return",
            f"base = world * {capacity}",
            *self._survivors(),
            f"if changed and k < wp.max(count, 1): {self._put(DESPAWNED, 'base + k', 'False')}",
            f"if k >= taken or kept + k >= {capacity}: return",
            "merges = wp.int32(0)",
            *[f"if taken > {length}: merges += 1" for length in lengths],
            f"source = {self._scratch(ORDER[0], 'stage + k')}",
            *([f"if merges % 2 == 1: source = {self._scratch(ORDER[1], 'stage + k')}"] if lengths else []),
            *self._fill("base + kept + k", "stage + source"),
        ]

    def finish(self) -> list[str]:
        """A thread per world: its numbers, and the report of what did not fit."""
        return [
            "world = first + thread",
            f"born = {self._world('pending')}",
            f"changed = {self._world('changed')}",
            "if born == 0 and not changed: return",
            *self._survivors(),
            f"taken = wp.min(born, {self.population.spawn_capacity})",
            f"filled = wp.min(kept + taken, {self.population.limit.per_world})",
            *self._finish_world("filled", "born - (filled - kept)"),
        ]

    # -- parts -------------------------------------------------------------------------------------------------------

    def _places(self, width: int) -> list[str]:
        """The world and the index in it of a thread, with ``width`` threads per world."""
        return [f"world = first + thread / {width}", f"k = thread % {width}"]

    def _staged(self) -> list[str]:
        """The number of staged entities, and the first staging row."""
        staged = self.population.spawn_capacity
        return [f"taken = wp.min({self._world('pending')}, {staged})", f"stage = world * {staged}"]

    def _count(self) -> str:
        return f"wp.clamp({self._world('count')}, 0, {self.population.limit.per_world})"

    def _survivors(self) -> list[str]:
        """The number of survivors; a repeated ``survey``, as when kernels are timed, would count them again."""
        return [
            f"count = {self._count()}",
            "kept = wp.int32(count)",
            f"if changed: kept = wp.min({self._scratch(KEPT)}, count)",
        ]

    def _meet(self, operator: str, name: str, value: str) -> str:
        """An atomic operation on a number of the world."""
        return f"wp.atomic_{operator}({self._argument(self.population.scratch_table, name)}, world, {value})"
