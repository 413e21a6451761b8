"""The text of the kernels that compact a pooled population, whose worlds share one pool of rows.

Survivors are placed first, then the spawned entities of world 0, of world 1, and so on, while rows are free. The rows
of the worlds are contiguous, so a change in one world moves the rows of all worlds after it.

On the CPU one kernel works in place: it moves all survivors to the front, and then, from the last to the first, to
their new rows. On CUDA there are five kernels. ``count`` counts the entities of every world and sums over the worlds of
a warp. ``scan_sums`` computes the prefix sums of these sums. ``move``, with a warp for each world, writes the survivors
into spare columns. ``sort`` groups the spawned entities by world. ``finish``, with a thread for each row, moves the
survivors back and adds the spawned entities, each at its rank among the serial numbers of its world. If nothing has
changed in the whole batch, the last three return at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from worldloom.core.codegen.compaction import element_loops
from worldloom.core.codegen.compaction_kernel import CompactionKernel, ScratchWriter
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model import scratch_columns
from worldloom.core.model.columns import FaultSites
from worldloom.core.model.fields import Field
from worldloom.core.model.population import DESPAWNED, ROW_WORLD, SERIAL, Population
from worldloom.core.model.scratch_columns import ACTIVE, CURSOR, MOVING, ROOM, STAGED, STATE, spare

ITEMS = 16
"""Sums per thread of ``scan_sums``."""


def compaction_kernels(
    population: Population, fields: dict[str, Field], sites: FaultSites, types: dict[str, Any], cuda: bool
) -> list[CompactionKernel]:
    """The kernels of a compaction, in order."""

    def kernel(body: Callable[[PooledCompactionWriter], list[str]], **options: Any) -> CompactionKernel:
        writer = PooledCompactionWriter(population, fields, sites, types)
        lines = body(writer)
        return CompactionKernel(lines, tuple(writer.columns), **options)

    if not cuda:
        return [kernel(PooledCompactionWriter.compact_cpu, closes=True)]
    batch = population.limit.batch
    return [
        kernel(PooledCompactionWriter.count, whole_warps=True),
        kernel(PooledCompactionWriter.scan_sums, total=WARP_SIZE, whole_warps=True),
        kernel(PooledCompactionWriter.move, rows=WARP_SIZE, whole_warps=True, closes=True),
        kernel(PooledCompactionWriter.sort, total=batch),
        kernel(PooledCompactionWriter.finish, total=batch),
    ]


class PooledCompactionWriter(ScratchWriter):
    """Writes the body of one of the kernels."""

    def _scratch_fields(self) -> dict[str, Field]:
        return scratch_columns.fields(self.population, self.fields)

    @property
    def batch(self) -> int:
        return int(self.population.limit.batch or 0)

    # -- the CPU -----------------------------------------------------------------------------------------------------

    def compact_cpu(self) -> list[str]:
        """The whole compaction.

        ``kept`` and ``filed`` are counts per world, and ``room`` is the number of free rows.
        """
        return [
            f"staged = {self._state(CURSOR)}",
            self._put_state(CURSOR, "0"),
            f"room = wp.int32({self.batch})",
            "end = wp.int32(0)",
            "moving = wp.bool(staged > 0)",
            "for world in range(rows):",
            f"    if {self._world('changed')} or {self._world('first')} != end: moving = wp.bool(True)",
            f"    end += {self._world('count')}",
            "if not moving: return",
            "done = wp.int32(0)",
            "for world in range(rows):",
            "    before = done",
            f"    start = {self._world('first')}",
            f"    for slot in range({self._world('count')}):",
            "        row = start + slot",
            f"        if {self._get(DESPAWNED, 'row')}: {self._put(DESPAWNED, 'row', 'False')}",
            "        else:",
            "            if row != done:",
            *_indented(4, self._moves("done", "row")),
            "            done += 1",
            f"    {self._put_scratch('kept', 'done - before')}",
            f"    {self._put_scratch('filed', '0')}",
            "room -= done",
            f"if staged > {self.batch}:",
            "    room = wp.int32(0)",
            "    staged = wp.int32(0)",
            "next = wp.int32(0)",
            "for world in range(rows):",
            f"    born = {self._world('pending')}",
            f"    stay = {self._scratch('kept')}",
            f"    granted = wp.min(wp.min(born, {self.population.limit.per_world} - stay), room)",
            "    room -= granted",
            f"    {self._put_world('first', 'next')}",
            "    next += stay + granted",
            *_indented(1, self._finish_world("stay + granted", "born - granted")),
            "for back in range(rows):",
            "    world = rows - 1 - back",
            f"    stay = {self._scratch('kept')}",
            f"    start = {self._world('first')}",
            "    done -= stay",
            "    for behind in range(stay):",
            "        slot = stay - 1 - behind",
            f"        {self._put(ROW_WORLD, 'start + slot', 'world')}",
            "        if start != done:",
            *_indented(3, self._moves("start + slot", "done + slot")),
            "for k in range(staged):",
            f"    world = {self._new(ROW_WORLD, 'k')}",
            f"    rank = {self._scratch('filed')}",
            f"    slot = {self._scratch('kept')} + rank",
            f"    {self._put_scratch('filed', 'rank + 1')}",
            f"    if slot < {self._world('count')}:",
            *_indented(2, self._place_spawned("slot", "k")),
        ]

    # -- CUDA --------------------------------------------------------------------------------------------------------

    def count(self) -> list[str]:
        """A thread per world: counts of survivors and of spawned entities, and their sums over the warp."""
        before = "wp.vec3i(kept_here - kept, wanted_here - wanted, born_here - born)"
        sums = "wp.vec3i(kept_here, wanted_here, born_here)"
        return [
            "world = thread",
            f"lane = thread - thread / {WARP_SIZE} * {WARP_SIZE}",
            "kept = wp.int32(0)",
            "wanted = wp.int32(0)",
            "born = wp.int32(0)",
            "if world < rows:",
            f"    born = {self._world('pending')}",
            f"    leave = {self._world('changed')}",
            f"    start = {self._world('first')}",
            f"    there = {self._world('count')}",
            "    if leave:",
            "        for slot in range(there):",
            f"            if not {self._get(DESPAWNED, 'start + slot')}: kept += 1",
            "    else: kept = there",
            f"    wanted = wp.min(born, {self.population.limit.per_world} - kept)",
            f"    {self._put_scratch('kept', 'kept')}",
            "    moves = leave or born > 0",
            "    if world + 1 < rows:",
            f"        if {self._world('first', 'world + 1')} != start + there: moves = wp.bool(True)",
            f"    if moves: {self._put_state(MOVING, '1')}",
            "kept_here = sum_up_to(kept, lane)",
            "wanted_here = sum_up_to(wanted, lane)",
            "born_here = sum_up_to(born, lane)",
            f"if world < rows: {self._put_scratch('before', before)}",
            f"if lane == {WARP_SIZE - 1}: {self._put_scratch('sums', sums, f'thread / {WARP_SIZE}')}",
        ]

    def scan_sums(self) -> list[str]:
        """One warp: the prefix sums over the warps of worlds, and the number of free rows."""
        size, names = WARP_SIZE * ITEMS, ("kept", "wanted", "born")
        return [
            "lane = thread",
            f"if {self._state(MOVING)} == 0:",
            f"    if lane == 0: {self._put_state(ACTIVE, '0')}",
            "    return",
            f"groups = {self._argument(self.population.scratch_table, 'sums')}.shape[0]",
            *[f"{n} = wp.int32(0)" for n in names],
            f"for turn in range((groups + {size - 1}) / {size}):",
            f"    begin = (turn * {WARP_SIZE} + lane) * {ITEMS}",
            f"    end = wp.min(begin + {ITEMS}, groups)",
            *[f"    own_{n} = wp.int32(0)" for n in names],
            "    for place in range(begin, end):",
            f"        here = {self._scratch('sums', 'place')}",
            *[f"        own_{n} += here[{i}]" for i, n in enumerate(names)],
            *[f"    upto_{n} = sum_up_to(own_{n}, lane)" for n in names],
            *[f"    at_{n} = {n} + upto_{n} - own_{n}" for n in names],
            "    for place in range(begin, end):",
            f"        here = {self._scratch('sums', 'place')}",
            f"        {self._put_scratch('sums', 'wp.vec3i(at_kept, at_wanted, at_born)', 'place')}",
            *[f"        at_{n} += here[{i}]" for i, n in enumerate(names)],
            *[f"    {n} += of_last_lane(upto_{n})" for n in names],
            "if lane == 0:",
            f"    taken = {self._state(CURSOR)}",
            f"    room = {self.batch} - kept",
            f"    if taken > {self.batch}:",
            "        taken = wp.int32(0)",
            "        room = wp.int32(0)",
            f"    {self._put_state(CURSOR, '0')}",
            f"    {self._put_state(MOVING, '0')}",
            f"    {self._put_state(ACTIVE, '1')}",
            f"    {self._put_state(STAGED, 'taken')}",
            f"    {self._put_state(ROOM, 'room')}",
        ]

    def move(self) -> list[str]:
        """A warp per world: survivors go to their new rows in the spare columns; the world's counts are stored."""
        capacity = self.population.limit.per_world
        return [
            f"if {self._state(ACTIVE)} == 0: return",
            f"world = thread / {WARP_SIZE}",
            f"lane = thread - world * {WARP_SIZE}",
            *self._sums_before(),
            "wanted_before = near[1] + far[1]",
            f"room = {self._state(ROOM)}",
            f"born = {self._world('pending')}",
            f"kept = {self._scratch('kept')}",
            f"granted = wp.max(wp.min(room - wanted_before, wp.min(born, {capacity} - kept)), 0)",
            f"leave = {self._world('changed')}",
            f"old = {self._world('first')}",
            "new = near[0] + far[0] + wp.min(wanted_before, room)",
            f"count = {self._world('count')}",
            "copied = wp.int32(0)",
            "if leave or old != new:",
            f"    for turn in range((count + {WARP_SIZE - 1}) / {WARP_SIZE}):",
            f"        slot = turn * {WARP_SIZE} + lane",
            "        stays = slot < count",
            "        if leave and stays:",
            f"            stays = not {self._get(DESPAWNED, 'old + slot')}",
            f"            if not stays: {self._put(DESPAWNED, 'old + slot', 'False')}",
            "        votes = warp_votes(stays)",
            "        if stays:",
            "            row = new + copied + votes_before(votes, lane)",
            f"            {self._put(ROW_WORLD, 'row', 'world')}",
            *_indented(3, self._moves("row", "old + slot", into_spare=True)),
            "        copied += vote_count(votes)",
            "sync_warp()",
            "if lane == 0:",
            f"    {self._put_world('first', 'new')}",
            f"    {self._put_scratch('filed', '0')}",
            f"    {self._put_scratch('copied', 'copied')}",
            *_indented(1, self._finish_world("kept + granted", "born - granted")),
        ]

    def sort(self) -> list[str]:
        """A thread per spawned entity: it adds itself to the list of its world."""
        lines = [
            f"if {self._state(ACTIVE)} == 0: return",
            f"if thread >= {self._state(STAGED)}: return",
            f"world = {self._new(ROW_WORLD, 'thread')}",
            *self._sums_before(),
        ]
        filed = self._argument(self.population.scratch_table, "filed")
        return [
            *lines,
            f"place = near[2] + far[2] + wp.atomic_add({filed}, world, 1)",
            # The condition is false only if the kernel runs repeatedly, to be timed.
            f"if place < {self.batch}: {self._put_scratch('order', 'thread', 'place')}",
        ]

    def finish(self) -> list[str]:
        """A thread per row: survivors move back from the spare columns, and spawned entities are added."""
        return [
            f"if {self._state(ACTIVE)} == 0: return",
            f"home = {self._get(ROW_WORLD, 'thread')}",
            "if home >= 0:",
            f"    place = thread - {self._world('first', 'home')}",
            f"    if place >= 0 and place < {self._scratch('copied', 'home')}:",
            *_indented(2, self._moves("thread", "thread", out_of_spare=True)),
            f"if thread >= {self._state(STAGED)}: return",
            f"world = {self._new(ROW_WORLD, 'thread')}",
            f"kept = {self._scratch('kept')}",
            f"granted = {self._world('count')} - kept",
            "if granted == 0: return",
            *self._sums_before(),
            "start = near[2] + far[2]",
            f"serial = {self._new(SERIAL, 'thread')}",
            "rank = wp.int32(0)",
            f"for other in range({self._scratch('filed')}):",
            f"    if {self._new(SERIAL, self._scratch('order', 'start + other'))} < serial: rank += 1",
            "if rank < granted:",
            *_indented(1, self._place_spawned("kept + rank", "thread")),
        ]

    # -- parts -------------------------------------------------------------------------------------------------------

    def _sums_before(self) -> list[str]:
        """The sums over the worlds before ``world``: those of its warp (``near``), and those before (``far``)."""
        return [f"near = {self._scratch('before')}", f"far = {self._scratch('sums', f'world / {WARP_SIZE}')}"]

    def _moves(self, target: str, source: str, into_spare: bool = False, out_of_spare: bool = False) -> list[str]:
        """Copy every component of a row to another row."""
        lines: list[str] = []
        for name, field in self._moving():
            value = self._scratch(spare(name), source) if out_of_spare else self._get(name, source)
            lines += element_loops(
                field.shape,
                [self._put_scratch(spare(name), value, target) if into_spare else self._put(name, target, value)],
            )
        return lines

    def _place_spawned(self, slot: str, new: str) -> list[str]:
        """Write a spawned entity to its row."""
        return [
            f"entered = {self._world('first')} + {slot}",
            self._put(ROW_WORLD, "entered", "world"),
            *self._fill("entered", new),
        ]

    def _state(self, element: int) -> str:
        return self._scratch(STATE.name, str(element))

    def _put_state(self, element: int, value: str) -> str:
        return self._put_scratch(STATE.name, value, str(element))


def _indented(depth: int, lines: list[str]) -> list[str]:
    return ["    " * depth + line for line in lines]
