"""The text of the kernels that settle a population whose rows are those of the whole batch.

Who stays is never in doubt: all who stay get rows first, then the new ones of world 0, of world 1, and so on, as long as there are
rows. The worlds lie side by side, so that one world's change moves the rows of all behind it.

On the CPU one kernel does it in place: it moves everybody to the front, and then, from the last to the first, to their new rows.
On CUDA there are five. ``count`` looks at every world and adds up 32 of them at a time; ``carry`` adds up the sums; ``move``, a warp
for each world, writes those who stay into spare columns; ``sort`` files the new ones by their worlds; ``finish``, a thread for each
row, brings back those who stay and lets in the new ones, each at its rank among the serial numbers of its world. Where nothing has
changed in the whole batch, the last three return at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from worldloom.core import scratch
from worldloom.core.fields import Field
from worldloom.core.population import DEAD, HOME, SERIAL, Population
from worldloom.core.population_kernels import LANES
from worldloom.core.rewrite import accessors
from worldloom.core.rewrite.kernel_target import Column, Sites
from worldloom.core.scratch import ACTIVE, CURSOR, MOVING, ROOM, STAGED, STATE, spare
from worldloom.core.settle import SettleText, element_index, element_loops

ITEMS = 16
"""Sums that one thread of ``carry`` adds up by itself."""


@dataclass(frozen=True)
class SettleKernel:
    """One of the kernels of a settlement, before it has a name.

    Attributes:
        lines: Its body.
        columns: The columns that it takes.
        rows: Threads for each world.
        total: Threads in all, where they are not counted by worlds.
        whole_warps: Whether the threads of a warp count together.
        closes: Whether it notes what did not fit, and so takes the buffer of faults and the alarm.
    """

    lines: list[str]
    columns: tuple[Column, ...]
    rows: int = 1
    total: int | None = None
    whole_warps: bool = False
    closes: bool = False


def settle_kernels(population: Population, fields: dict[str, Field], sites: Sites, types: dict[str, Any], cuda: bool) -> list[SettleKernel]:
    """The kernels of a settlement, in order."""

    def made(body: Callable[[PooledText], list[str]], **facts: Any) -> SettleKernel:
        text = PooledText(population, fields, sites, types)
        lines = body(text)
        return SettleKernel(lines, tuple(text.columns), **facts)

    if not cuda:
        return [made(PooledText.settle_cpu, closes=True)]
    batch = population.limit.batch
    return [
        made(PooledText.count, whole_warps=True),
        made(PooledText.carry, total=LANES),
        made(PooledText.move, rows=LANES, closes=True),
        made(PooledText.sort, total=batch),
        made(PooledText.finish, total=batch),
    ]


class PooledText(SettleText):
    """Writes the body of one of the kernels, and keeps the columns that it takes."""

    def __init__(self, population: Population, fields: dict[str, Field], sites: Sites, types: dict[str, Any]) -> None:
        super().__init__(population, fields, sites, types)
        self.notes = scratch.fields(population, fields)

    @property
    def batch(self) -> int:
        return int(self.population.limit.batch or 0)

    # -- the CPU -----------------------------------------------------------------------------------------------------

    def settle_cpu(self) -> list[str]:
        """The whole settlement. ``kept`` and ``filed`` count by world, and the rows in ``room`` are for new ones."""
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
            f"        if {self._get(DEAD, 'row')}: {self._put(DEAD, 'row', 'False')}",
            "        else:",
            "            if row != done:",
            *_indented(4, self._moves("done", "row")),
            "            done += 1",
            f"    {self._put_note('kept', 'done - before')}",
            f"    {self._put_note('filed', '0')}",
            "room -= done",
            f"if staged > {self.batch}:",
            "    room = wp.int32(0)",
            "    staged = wp.int32(0)",
            "next = wp.int32(0)",
            "for world in range(rows):",
            f"    born = {self._world('pending')}",
            f"    stay = {self._note('kept')}",
            f"    granted = wp.min(wp.min(born, {self.population.limit.per_world} - stay), room)",
            "    room -= granted",
            f"    {self._put_world('first', 'next')}",
            "    next += stay + granted",
            *_indented(1, self._close("stay + granted", "born - granted")),
            "for back in range(rows):",
            "    world = rows - 1 - back",
            f"    stay = {self._note('kept')}",
            f"    start = {self._world('first')}",
            "    done -= stay",
            "    for behind in range(stay):",
            "        slot = stay - 1 - behind",
            f"        {self._put(HOME, 'start + slot', 'world')}",
            "        if start != done:",
            *_indented(3, self._moves("start + slot", "done + slot")),
            "for k in range(staged):",
            f"    world = {self._new(HOME, 'k')}",
            f"    rank = {self._note('filed')}",
            f"    slot = {self._note('kept')} + rank",
            f"    {self._put_note('filed', 'rank + 1')}",
            f"    if slot < {self._world('count')}:",
            *_indented(2, self._enter("slot", "k")),
        ]

    # -- CUDA --------------------------------------------------------------------------------------------------------

    def count(self) -> list[str]:
        """A thread per world: how many stay, want in and were born; added up over the worlds of the warp."""
        return [
            "world = thread",
            f"lane = thread - thread / {LANES} * {LANES}",
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
            f"            if not {self._get(DEAD, 'start + slot')}: kept += 1",
            "    else: kept = there",
            f"    wanted = wp.min(born, {self.population.limit.per_world} - kept)",
            f"    {self._put_note('kept', 'kept')}",
            "    moves = leave or born > 0",
            "    if world + 1 < rows:",
            f"        if {self._world('first', 'world + 1')} != start + there: moves = wp.bool(True)",
            f"    if moves: {self._put_state(MOVING, '1')}",
            "kept_here = sum_up_to(kept, lane)",
            "wanted_here = sum_up_to(wanted, lane)",
            "born_here = sum_up_to(born, lane)",
            f"if world < rows: {self._put_note('before', 'wp.vec3i(kept_here - kept, wanted_here - wanted, born_here - born)')}",
            f"if lane == {LANES - 1}: {self._put_note('sums', 'wp.vec3i(kept_here, wanted_here, born_here)', f'thread / {LANES}')}",
        ]

    def carry(self) -> list[str]:
        """One warp: the sums of all worlds before each 32, and how many rows that leaves for new ones."""
        size, names = LANES * ITEMS, ("kept", "wanted", "born")
        return [
            "lane = thread",
            f"if {self._state(MOVING)} == 0:",
            f"    if lane == 0: {self._put_state(ACTIVE, '0')}",
            "    return",
            f"groups = {self._take(self.population.scratch_table, 'sums')}.shape[0]",
            *[f"{n} = wp.int32(0)" for n in names],
            f"for turn in range((groups + {size - 1}) / {size}):",
            f"    begin = (turn * {LANES} + lane) * {ITEMS}",
            f"    end = wp.min(begin + {ITEMS}, groups)",
            *[f"    own_{n} = wp.int32(0)" for n in names],
            "    for place in range(begin, end):",
            f"        here = {self._note('sums', 'place')}",
            *[f"        own_{n} += here[{i}]" for i, n in enumerate(names)],
            *[f"    upto_{n} = sum_up_to(own_{n}, lane)" for n in names],
            *[f"    at_{n} = {n} + upto_{n} - own_{n}" for n in names],
            "    for place in range(begin, end):",
            f"        here = {self._note('sums', 'place')}",
            f"        {self._put_note('sums', 'wp.vec3i(at_kept, at_wanted, at_born)', 'place')}",
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
        """A warp per world: those who stay go into the spare columns, at their new rows, and the world is closed."""
        return [
            f"if {self._state(ACTIVE)} == 0: return",
            f"world = thread / {LANES}",
            f"lane = thread - world * {LANES}",
            *self._sums_before(),
            "wanted_before = near[1] + far[1]",
            f"room = {self._state(ROOM)}",
            f"born = {self._world('pending')}",
            f"kept = {self._note('kept')}",
            f"granted = wp.max(wp.min(room - wanted_before, wp.min(born, {self.population.limit.per_world} - kept)), 0)",
            f"leave = {self._world('changed')}",
            f"old = {self._world('first')}",
            "new = near[0] + far[0] + wp.min(wanted_before, room)",
            f"count = {self._world('count')}",
            "copied = wp.int32(0)",
            "if leave or old != new:",
            f"    for turn in range((count + {LANES - 1}) / {LANES}):",
            f"        slot = turn * {LANES} + lane",
            "        stays = slot < count",
            "        if leave and stays:",
            f"            stays = not {self._get(DEAD, 'old + slot')}",
            f"            if not stays: {self._put(DEAD, 'old + slot', 'False')}",
            "        votes = warp_votes(stays)",
            "        if stays:",
            "            row = new + copied + votes_before(votes, lane)",
            f"            {self._put(HOME, 'row', 'world')}",
            *_indented(3, self._moves("row", "old + slot", into_spare=True)),
            "        copied += vote_count(votes)",
            "sync_warp()",
            "if lane == 0:",
            f"    {self._put_world('first', 'new')}",
            f"    {self._put_note('filed', '0')}",
            f"    {self._put_note('copied', 'copied')}",
            *_indented(1, self._close("kept + granted", "born - granted")),
        ]

    def sort(self) -> list[str]:
        """A thread per new entity: it enters itself on the list of its world."""
        return [
            f"if {self._state(ACTIVE)} == 0: return",
            f"if thread >= {self._state(STAGED)}: return",
            f"world = {self._new(HOME, 'thread')}",
            *self._sums_before(),
            f"place = near[2] + far[2] + wp.atomic_add({self._take(self.population.scratch_table, 'filed')}, world, 1)",
            f"if place < {self.batch}: {self._put_note('order', 'thread', 'place')}",  # it always is, but where this kernel is run over and over to time it
        ]

    def finish(self) -> list[str]:
        """A thread per row: who stays comes back from the spare columns, and the new entity of that number enters."""
        return [
            f"if {self._state(ACTIVE)} == 0: return",
            f"home = {self._get(HOME, 'thread')}",
            "if home >= 0:",
            f"    place = thread - {self._world('first', 'home')}",
            f"    if place >= 0 and place < {self._note('copied', 'home')}:",
            *_indented(2, self._moves("thread", "thread", out_of_spare=True)),
            f"if thread >= {self._state(STAGED)}: return",
            f"world = {self._new(HOME, 'thread')}",
            f"kept = {self._note('kept')}",
            f"granted = {self._world('count')} - kept",
            "if granted == 0: return",
            *self._sums_before(),
            "start = near[2] + far[2]",
            f"serial = {self._new(SERIAL, 'thread')}",
            "rank = wp.int32(0)",
            f"for other in range({self._note('filed')}):",
            f"    if {self._new(SERIAL, self._note('order', 'start + other'))} < serial: rank += 1",
            "if rank < granted:",
            *_indented(1, self._enter("kept + rank", "thread")),
        ]

    # -- parts -------------------------------------------------------------------------------------------------------

    def _sums_before(self) -> list[str]:
        """Who stays, wants in and was born in the worlds before ``world``: among the 32 of its warp, and before those."""
        return [f"near = {self._note('before')}", f"far = {self._note('sums', f'world / {LANES}')}"]

    def _moves(self, target: str, source: str, into_spare: bool = False, out_of_spare: bool = False) -> list[str]:
        """Every component of one row becomes that of another."""
        lines: list[str] = []
        for name, field in self._moving():
            value = self._note(spare(name), source) if out_of_spare else self._get(name, source)
            lines += element_loops(field.shape, [self._put_note(spare(name), value, target) if into_spare else self._put(name, target, value)])
        return lines

    def _enter(self, slot: str, new: str) -> list[str]:
        """A new entity takes its row."""
        return [f"entered = {self._world('first')} + {slot}", self._put(HOME, "entered", "world"), *self._fill("entered", new)]

    def _note(self, name: str, row: str = "world") -> str:
        """A value of the scratch memory; of an array component the element that :func:`element_loops` is at."""
        field = self.notes[name]
        return accessors.get_text(self._take(self.population.scratch_table, name), field, row, element_index(field))

    def _put_note(self, name: str, value: str, row: str = "world") -> str:
        field = self.notes[name]
        return accessors.put_text(self._take(self.population.scratch_table, name), field, row, value, element_index(field))

    def _state(self, place: int) -> str:
        return self._note(STATE.name, str(place))

    def _put_state(self, place: int, value: str) -> str:
        return self._put_note(STATE.name, value, str(place))


def _indented(depth: int, lines: list[str]) -> list[str]:
    return ["    " * depth + line for line in lines]
