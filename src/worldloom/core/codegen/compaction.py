"""The text of the kernels that compact a population: survivors are placed first, then spawned entities in spawn order.

Spawned entities beyond the capacity overflow: they are dropped and counted. Unless ``overflow="drop"``, they are also a
fault of their world.

On the CPU a loop goes over the rows of each world. On CUDA the 32 threads of a warp share a world: they read 32 rows at
a time, and each computes its new row from the votes of the threads before it. Large populations have several kernels,
see :mod:`worldloom.core.codegen.compaction_large`.
"""

from __future__ import annotations

import ast
from typing import Any

from worldloom.core.codegen.column_access import ColumnParameters
from worldloom.core.frontend.targets import accessors
from worldloom.core.frontend.targets.kernel_target import KernelTarget
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import FAULT_COLUMNS, WORLD, FaultSites, RowCounts
from worldloom.core.model.fields import Field
from worldloom.core.model.population import DESPAWNED, ROW_WORLD, SERIAL, Population

WORLDS_PER_WARP = 4
"""Worlds per warp on CUDA: most often none of them has changed."""
_UNLESS_ALL_STAY = ("if not changed: kept = count", "else:")
_COUNTERS = ("wl_e0", "wl_e1", "wl_e2")


class CompactionWriter(ColumnParameters):
    """Writes the body of the kernel of a compaction."""

    def __init__(
        self, population: Population, fields: dict[str, Field], sites: FaultSites, types: dict[str, Any]
    ) -> None:
        super().__init__()
        self.population, self.fields = population, fields
        self.target = KernelTarget("", RowCounts({}), False, "", sites, types)
        self.site = sites.add(population.overflow_message)
        self.faults = population.limit.overflow != "drop"

    def body(self, cuda: bool, spawned_in_order: bool) -> list[str]:
        """The lines for one world; on CUDA for a thread of a warp with several worlds, unless ``spawned_in_order``."""
        if not cuda or spawned_in_order:
            idle = (
                f"if {self._world('pending')} == 0 and not {self._world('changed')}: {'return' if cuda else 'continue'}"
            )
            return [
                "world = first + thread",
                idle,
                *self._head(),
                *_UNLESS_ALL_STAY,
                *self._compact_rows_cpu(),
                *self._append_spawned_cpu(),
            ]
        busy = [*self._head(), *_UNLESS_ALL_STAY, *self._compact_rows_cuda(), *self._append_spawned_cuda()]
        num_worlds = f"{self._argument(WORLD, f'{self.population.table}__count')}.shape[0]"
        return [
            f"lane = thread % {WARP_SIZE}",
            f"start = first + thread / {WARP_SIZE} * {WORLDS_PER_WARP}",
            "world = start + lane",
            "waits = wp.bool(False)",
            f"if lane < {WORLDS_PER_WARP} and world < {num_worlds}:",
            f"    waits = {self._world('pending')} > 0 or {self._world('changed')}",
            "waiting = warp_votes(waits)",
            f"for turn_of_world in range({WORLDS_PER_WARP}):",
            "    if (waiting >> wp.uint32(turn_of_world)) & wp.uint32(1) == wp.uint32(1):",
            "        world = start + turn_of_world",
            *[f"        {line}" for line in busy],
        ]

    # -- the parts ---------------------------------------------------------------------------------------------------

    def _head(self) -> list[str]:
        return [
            f"born = {self._world('pending')}",
            f"changed = {self._world('changed')}",
            f"base = world * {self.population.limit.per_world}",
            f"stage = world * {self.population.spawn_capacity}",
            f"count = wp.clamp({self._world('count')}, 0, {self.population.limit.per_world})",
            "kept = wp.int32(0)",
        ]

    def _compact_rows_cpu(self) -> list[str]:
        moves: list[str] = []
        for name, field in self._moving():
            moves += element_loops(field.shape, [self._put(name, "base + kept", self._get(name, "base + slot"))])
        return [
            "    for slot in range(count):",
            f"        if {self._get(DESPAWNED, 'base + slot')}:",
            f"            {self._put(DESPAWNED, 'base + slot', 'False')}",
            "        else:",
            "            if kept != slot:",
            *[f"                {m}" for m in moves],
            "            kept += 1",
            f"    {self._forget_first()}",
        ]

    def _forget_first(self) -> str:
        """Clear the mark of the first row: in an empty world a stale reference may have set it."""
        return self._put(DESPAWNED, "base", "False")

    def _compact_rows_cuda(self) -> list[str]:
        return [
            f"    for turn in range((count + {WARP_SIZE - 1}) / {WARP_SIZE}):",
            *[f"        {line}" for line in self._compact_turn(clears=True)],
            f"    if lane == 0: {self._forget_first()}",
        ]

    def _compact_turn(self, clears: bool) -> list[str]:
        """Move the survivors among the rows of one turn of a warp; ``clears`` also forgets the despawned ones."""
        # Where one of them moves, all threads read before any of them writes: the new row of one is the old row of
        # another. Often none does, since those that stay come first.
        reads = {n: f"held_{n} = {self._get(n, 'base + wp.min(slot, count - 1)')}" for n, _ in self._moving()}
        writes = {n: self._put(n, "base + place", f"held_{n}") for n, _ in self._moving()}
        plain = [n for n, field in self._moving() if not field.shape]
        lines = [
            f"slot = turn * {WARP_SIZE} + lane",
            "there = slot < count",
            "stays = wp.bool(False)",
            "if there:",
            f"    stays = not {self._get(DESPAWNED, 'base + slot')}",
            "votes = warp_votes(stays)",
            "place = kept + votes_before(votes, lane)",
            *([f"if there and not stays: {self._put(DESPAWNED, 'base + slot', 'False')}"] if clears else []),
            "moves = stays and place != slot",
        ]
        moved = [*[reads[n] for n in plain], "sync_warp()", "if moves:", *[f"    {writes[n]}" for n in plain]]
        for name, field in self._moving():
            if field.shape:
                moved += element_loops(field.shape, [reads[name], "sync_warp()", f"if moves: {writes[name]}"])
        return [
            *lines,
            "if warp_votes(moves) != wp.uint32(0):",
            *[f"    {line}" for line in moved],
            "kept += vote_count(votes)",
            "sync_warp()",
        ]

    def _append_spawned_cpu(self) -> list[str]:
        return [
            "before = kept",
            f"for k in range(wp.min(born, {self.population.spawn_capacity})):",
            f"    if kept < {self.population.limit.per_world}:",
            *[f"        {line}" for line in self._fill("base + kept", "stage + k")],
            "        kept += 1",
            *self._finish_world("kept", "born - (kept - before)"),
        ]

    def _append_spawned_cuda(self) -> list[str]:
        most = self.population.limit.per_world
        return [
            f"taken = wp.min(born, {self.population.spawn_capacity})",
            f"for turn in range((taken + {WARP_SIZE - 1}) / {WARP_SIZE}):",
            f"    k = turn * {WARP_SIZE} + lane",
            *[f"    {line}" for line in self._load_spawned()],
            "    rank = wp.int32(k)",
            f"    disorder = vote_count(warp_votes(k < taken and before > new_{SERIAL}))",
            "    if k < taken:",
            f"        if disorder > 0 or taken > {WARP_SIZE}:",
            "            rank = wp.int32(0)",
            "            for other in range(taken):",
            f"                if {self._new(SERIAL, 'stage + other')} < new_{SERIAL}: rank += 1",
            f"        if kept + rank < {most}:",
            *[f"            {line}" for line in self._fill("base + kept + rank", None)],
            f"filled = wp.min(kept + taken, {most})",
            "sync_warp()",
            "if lane == 0:",
            *[f"    {line}" for line in self._finish_world("filled", "born - (filled - kept)")],
        ]

    def _load_spawned(self) -> list[str]:
        """Load the spawned entity of this thread, and the serial number before it."""
        lines = ["at = stage + wp.min(k, taken - 1)", f"before = {self._new(SERIAL, 'wp.max(at - 1, stage)')}"]
        return lines + [f"new_{name} = {self._new(name, 'at')}" for name in (SERIAL, *self.population.spawn_fields)]

    def _fill(self, row: str, new: str | None) -> list[str]:
        """Write a spawned entity: the values of its system, from the row ``new`` or loaded already, and defaults."""
        lines: list[str] = []
        for name, field in self._moving():
            if name in (SERIAL, *self.population.spawn_fields):
                lines.append(self._put(name, row, f"new_{name}" if new is None else self._new(name, new)))
            else:
                lines += element_loops(field.shape, [self._put(name, row, ast.unparse(self.target.default(field)))])
        return lines

    def _finish_world(self, count: str, lost: str) -> list[str]:
        """Store the number of entities, and report those that did not fit."""
        lines = [
            self._put_world("count", count),
            self._put_world("pending", "0"),
            self._put_world("changed", "False"),
            f"lost = {lost}",
            "if lost > 0:",
            f"    {self._put_world('dropped', self._world('dropped') + ' + lost')}",
        ]
        if self.faults:
            columns = ", ".join(self._argument(*c) for c in FAULT_COLUMNS)
            lines.append(f"    report_fault(errors, {columns}, world, offset, {self.site}, lost)")
        if self.population.limit.overflow == "error":
            lines.append("    alarm[0] = 1")
        return lines

    # -- columns -----------------------------------------------------------------------------------------------------

    def _get(self, name: str, row: str) -> str:
        """A value of the population's table; of an array component the element of :func:`element_loops`."""
        return accessors.get_text(
            self._argument(self.population.table, name), self.fields[name], row, element_index(self.fields[name])
        )

    def _put(self, name: str, row: str, value: str) -> str:
        return accessors.put_text(
            self._argument(self.population.table, name), self.fields[name], row, value, element_index(self.fields[name])
        )

    def _new(self, name: str, row: str) -> str:
        return accessors.get_text(self._argument(self.population.new_table, name), self.fields[name], row)

    def _world(self, name: str, world: str = "world") -> str:
        return accessors.get_text(
            self._argument(WORLD, f"{self.population.table}__{name}"), self.population.field(name), world
        )

    def _put_world(self, name: str, value: str) -> str:
        return accessors.put_text(
            self._argument(WORLD, f"{self.population.table}__{name}"), self.population.field(name), "world", value
        )

    def _moving(self) -> list[tuple[str, Field]]:
        """Every column that moves with an entity: not those of its agent row, where it stays."""
        stay = {ROW_WORLD, *self.population.in_agent_rows}
        return [(name, f) for name, f in self.fields.items() if name not in stay and not f.transient]


def element_index(field: Field) -> str:
    """The index of the element in the loops of :func:`element_loops`."""
    return ", ".join(_COUNTERS[: len(field.shape)])


def element_loops(shape: tuple[int, ...], lines: list[str]) -> list[str]:
    """``lines`` for every element of an array component."""
    heads = [
        f"{'    ' * d}for {n} in range({size}):" for d, (n, size) in enumerate(zip(_COUNTERS, shape, strict=False))
    ]
    return [*heads, *["    " * len(shape) + line for line in lines]]


def reason_of_compaction(population: Population) -> str:
    """Why a compaction has kernels of its own."""
    return f"it applies the spawns and despawns of all {population.table}"
