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

from worldloom.core.fields import Field
from worldloom.core.population import DEAD, HOME, SERIAL, Population
from worldloom.core.population_kernels import LANES
from worldloom.core.rewrite.kernel_target import Column, Sites
from worldloom.core.scratch import ACTIVE, CURSOR, MOVING, ROOM, STAGED, STATE, spare
from worldloom.core.settle import SettleText, element_loops

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
        bytes_read, bytes_written: Bytes of columns per world that it moves even where nothing has changed.
    """

    lines: list[str]
    columns: tuple[Column, ...]
    rows: int = 1
    total: int | None = None
    whole_warps: bool = False
    closes: bool = False
    bytes_read: int = 0
    bytes_written: int = 0


def settle_kernels(population: Population, fields: dict[str, Field], sites: Sites, types: dict[str, Any], cuda: bool) -> list[SettleKernel]:
    """The kernels of a settlement, in order."""

    def made(body: Callable[[PooledText], list[str]], **facts: Any) -> SettleKernel:
        text = PooledText(population, fields, sites, types)
        lines = body(text)
        return SettleKernel(lines, tuple(text.columns), **facts)

    if not cuda:
        return [made(PooledText.settle_cpu, closes=True, bytes_read=13)]
    batch = population.limit.batch
    return [
        made(PooledText.count, whole_warps=True, bytes_read=17, bytes_written=16),
        made(PooledText.carry, total=LANES),
        made(PooledText.move, rows=LANES, closes=True),
        made(PooledText.sort, total=batch),
        made(PooledText.finish, total=batch),
    ]


class PooledText(SettleText):
    """Writes the body of one of the kernels, and keeps the columns that it takes."""

    @property
    def batch(self) -> int:
        return int(self.population.limit.batch or 0)

    # -- the CPU -----------------------------------------------------------------------------------------------------

    def settle_cpu(self) -> list[str]:
        """The whole settlement. ``kept`` and ``filed`` count by world, and the rows in ``room`` are for new ones."""
        kept, filed, first, count = self._note("kept"), self._note("filed"), self._world("first"), self._world("count")
        return [
            f"staged = {self._state(CURSOR)}",
            f"{self._state(CURSOR)} = 0",
            f"room = wp.int32({self.batch})",
            "end = wp.int32(0)",
            "moving = wp.bool(staged > 0)",
            "for world in range(rows):",
            f"    if wp.bool({self._world('changed')}[world]) or {first}[world] != end: moving = wp.bool(True)",
            f"    end += {count}[world]",
            "if not moving: return",
            "done = wp.int32(0)",
            "for world in range(rows):",
            "    before = done",
            f"    for slot in range({count}[world]):",
            f"        row = {first}[world] + slot",
            f"        if wp.bool({self._own(DEAD)}[row]): {self._own(DEAD)}[row] = False",
            "        else:",
            "            if row != done:",
            *_indented(4, self._moves("done", "row")),
            "            done += 1",
            f"    {kept}[world] = done - before",
            f"    {filed}[world] = 0",
            "room -= done",
            f"if staged > {self.batch}:",
            "    room = wp.int32(0)",
            "    staged = wp.int32(0)",
            "start = wp.int32(0)",
            "for world in range(rows):",
            f"    born = {self._world('pending')}[world]",
            f"    granted = wp.min(wp.min(born, {self.population.limit.per_world} - {kept}[world]), room)",
            "    room -= granted",
            f"    {first}[world] = start",
            f"    start += {kept}[world] + granted",
            *_indented(1, self._close(f"{kept}[world] + granted", "born - granted")),
            "for back in range(rows):",
            "    world = rows - 1 - back",
            f"    stay = {kept}[world]",
            f"    start = {first}[world]",
            "    done -= stay",
            "    for behind in range(stay):",
            "        slot = stay - 1 - behind",
            f"        {self._own(HOME)}[start + slot] = world",
            "        if start != done:",
            *_indented(3, self._moves("start + slot", "done + slot")),
            "for k in range(staged):",
            f"    world = {self._new(HOME)}[k]",
            f"    slot = {kept}[world] + {filed}[world]",
            f"    {filed}[world] = {filed}[world] + 1",
            f"    if slot < {count}[world]:",
            *_indented(2, self._enter(f"{first}[world] + slot", "k")),
        ]

    # -- CUDA --------------------------------------------------------------------------------------------------------

    def count(self) -> list[str]:
        """A thread per world: how many stay, want in and were born; added up over the worlds of the warp."""
        first, count = self._world("first"), self._world("count")
        return [
            "world = thread",
            f"lane = thread - thread / {LANES} * {LANES}",
            "kept = wp.int32(0)",
            "wanted = wp.int32(0)",
            "born = wp.int32(0)",
            "if world < rows:",
            f"    born = {self._world('pending')}[world]",
            f"    leave = wp.bool({self._world('changed')}[world])",
            f"    start = {first}[world]",
            f"    there = {count}[world]",
            "    if leave:",
            "        for slot in range(there):",
            f"            if not wp.bool({self._own(DEAD)}[start + slot]): kept += 1",
            "    else: kept = there",
            f"    wanted = wp.min(born, {self.population.limit.per_world} - kept)",
            f"    {self._note('kept')}[world] = kept",
            "    moves = leave or born > 0",
            "    if world + 1 < rows:",
            f"        if {first}[world + 1] != start + there: moves = wp.bool(True)",
            f"    if moves: {self._state(MOVING)} = 1",
            "kept_here = sum_up_to(kept, lane)",
            "wanted_here = sum_up_to(wanted, lane)",
            "born_here = sum_up_to(born, lane)",
            f"if world < rows: {self._note('before')}[world] = wp.vec3i(kept_here - kept, wanted_here - wanted, born_here - born)",
            f"if lane == {LANES - 1}: {self._note('sums')}[thread / {LANES}] = wp.vec3i(kept_here, wanted_here, born_here)",
        ]

    def carry(self) -> list[str]:
        """One warp: the sums of all worlds before each 32, and how many rows that leaves for new ones."""
        sums, size = self._note("sums"), LANES * ITEMS
        return [
            "lane = thread",
            f"if {self._state(MOVING)} == 0:",
            f"    if lane == 0: {self._state(ACTIVE)} = 0",
            "    return",
            f"groups = {sums}.shape[0]",
            "kept = wp.int32(0)",
            "wanted = wp.int32(0)",
            "born = wp.int32(0)",
            f"for turn in range((groups + {size - 1}) / {size}):",
            f"    begin = (turn * {LANES} + lane) * {ITEMS}",
            f"    end = wp.min(begin + {ITEMS}, groups)",
            "    own_kept = wp.int32(0)",
            "    own_wanted = wp.int32(0)",
            "    own_born = wp.int32(0)",
            "    for place in range(begin, end):",
            f"        here = {sums}[place]",
            *[f"        own_{n} += here[{i}]" for i, n in enumerate(("kept", "wanted", "born"))],
            *[f"    upto_{n} = sum_up_to(own_{n}, lane)" for n in ("kept", "wanted", "born")],
            *[f"    at_{n} = {n} + upto_{n} - own_{n}" for n in ("kept", "wanted", "born")],
            "    for place in range(begin, end):",
            f"        here = {sums}[place]",
            f"        {sums}[place] = wp.vec3i(at_kept, at_wanted, at_born)",
            *[f"        at_{n} += here[{i}]" for i, n in enumerate(("kept", "wanted", "born"))],
            *[f"    {n} += of_last_lane(upto_{n})" for n in ("kept", "wanted", "born")],
            "if lane == 0:",
            f"    taken = {self._state(CURSOR)}",
            f"    room = {self.batch} - kept",
            f"    if taken > {self.batch}:",
            "        taken = wp.int32(0)",
            "        room = wp.int32(0)",
            f"    {self._state(CURSOR)} = 0",
            f"    {self._state(MOVING)} = 0",
            f"    {self._state(ACTIVE)} = 1",
            f"    {self._state(STAGED)} = taken",
            f"    {self._state(ROOM)} = room",
        ]

    def move(self) -> list[str]:
        """A warp per world: those who stay go into the spare columns, at their new rows, and the world is closed."""
        first = self._world("first")
        return [
            f"if {self._state(ACTIVE)} == 0: return",
            f"world = thread / {LANES}",
            f"lane = thread - world * {LANES}",
            f"near = {self._note('before')}[world]",
            f"far = {self._note('sums')}[world / {LANES}]",
            "wanted_before = near[1] + far[1]",
            f"room = {self._state(ROOM)}",
            f"born = {self._world('pending')}[world]",
            f"kept = {self._note('kept')}[world]",
            f"granted = wp.max(wp.min(room - wanted_before, wp.min(born, {self.population.limit.per_world} - kept)), 0)",
            f"leave = wp.bool({self._world('changed')}[world])",
            f"old = {first}[world]",
            "new = near[0] + far[0] + wp.min(wanted_before, room)",
            f"count = {self._world('count')}[world]",
            "copied = wp.int32(0)",
            "if leave or old != new:",
            f"    for turn in range((count + {LANES - 1}) / {LANES}):",
            f"        slot = turn * {LANES} + lane",
            "        stays = slot < count",
            "        if leave and stays:",
            f"            stays = not wp.bool({self._own(DEAD)}[old + slot])",
            f"            if not stays: {self._own(DEAD)}[old + slot] = False",
            "        votes = warp_votes(stays)",
            "        if stays:",
            "            row = new + copied + votes_before(votes, lane)",
            f"            {self._own(HOME)}[row] = world",
            *_indented(3, self._moves("row", "old + slot", into_spare=True)),
            "        copied += vote_count(votes)",
            "sync_warp()",
            "if lane == 0:",
            f"    {first}[world] = new",
            f"    {self._note('filed')}[world] = 0",
            f"    {self._note('copied')}[world] = copied",
            *_indented(1, self._close("kept + granted", "born - granted")),
        ]

    def sort(self) -> list[str]:
        """A thread per new entity: it enters itself on the list of its world."""
        order = self._note("order")
        return [
            f"if {self._state(ACTIVE)} == 0: return",
            f"if thread >= {self._state(STAGED)}: return",
            f"world = {self._new(HOME)}[thread]",
            *self._list_start(),
            f"place = start + wp.atomic_add({self._note('filed')}, world, 1)",
            f"if place < {self.batch}: {order}[place] = thread",  # always so, but where this kernel alone is run over and over to time it
        ]

    def finish(self) -> list[str]:
        """A thread per row: who stays comes back from the spare columns, and the new entity of that number enters."""
        first, kept = self._world("first"), self._note("kept")
        return [
            f"if {self._state(ACTIVE)} == 0: return",
            f"home = {self._own(HOME)}[thread]",
            "if home >= 0:",
            f"    place = thread - {first}[home]",
            f"    if place >= 0 and place < {self._note('copied')}[home]:",
            *_indented(2, self._moves("thread", "thread", out_of_spare=True)),
            f"if thread >= {self._state(STAGED)}: return",
            f"world = {self._new(HOME)}[thread]",
            f"granted = {self._world('count')}[world] - {kept}[world]",
            "if granted == 0: return",
            *self._list_start(),
            f"serial = {self._new(SERIAL)}[thread]",
            "rank = wp.int32(0)",
            f"for other in range({self._note('filed')}[world]):",
            f"    if {self._new(SERIAL)}[{self._note('order')}[start + other]] < serial: rank += 1",
            "if rank < granted:",
            *_indented(1, self._enter(f"{first}[world] + {kept}[world] + rank", "thread")),
        ]

    # -- parts -------------------------------------------------------------------------------------------------------

    def _list_start(self) -> list[str]:
        """Where the list of the new entities of ``world`` begins."""
        return [f"near = {self._note('before')}[world]", f"far = {self._note('sums')}[world / {LANES}]", "start = near[2] + far[2]"]

    def _moves(self, target: str, source: str, into_spare: bool = False, out_of_spare: bool = False) -> list[str]:
        """Every component of one row becomes that of another."""
        lines: list[str] = []
        for name, field in self._moving():
            there = self._note(spare(name)) if into_spare else self._own(name)
            here = self._note(spare(name)) if out_of_spare else self._own(name)
            lines += element_loops(field.shape, [f"{there}[{target}{{}}] = {here}[{source}{{}}]"])
        return lines

    def _enter(self, row: str, new: str) -> list[str]:
        """A new entity takes its row."""
        return [f"entered = {row}", f"{self._own(HOME)}[entered] = world", *self._fill("entered", new)]

    def _note(self, name: str) -> str:
        return self._take(self.population.scratch_table, name)

    def _state(self, place: int) -> str:
        return f"{self._note(STATE.name)}[{place}]"


def _indented(depth: int, lines: list[str]) -> list[str]:
    return ["    " * depth + line for line in lines]
