"""The first lines of a kernel: which world and which row a thread works on, or the loops over rows."""

from __future__ import annotations

from worldloom.core.codegen.column_access import Arguments, ColumnAccess
from worldloom.core.codegen.fusion import KernelGroup
from worldloom.core.frontend.targets.kernel_names import column_argument
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import WORLD
from worldloom.core.model.pairs import PairLoopWriter
from worldloom.core.model.population import ROW_WORLD, Population
from worldloom.core.model.row_list import ROWS, SIZES, RowList

MANY_ROWS = 512
"""Number of rows per world from which a thread that resets a world takes several rows."""
ROWS_PER_RESET_THREAD = 2
"""Rows per thread of such a kernel. With Tag's 1,000 players and a tenth of 2,000 worlds reset in a step, 2 took
10.8 us on an H200, 1 13.3, 4 12.3 and 8 15.9."""

WORLDS_PER_SLOT = 4
"""Adjacent worlds whose rows with the same slot have adjacent warps: as many as a block has warps."""

EACH_WORLD = "for thread in range(rows):"
"""The loop over the worlds of a shard on the CPU."""
SET_WORLD = "    world = first + thread"
"""The first line inside :data:`EACH_WORLD`."""

_BEYOND_COUNT = "if slot >= "
"""The start of the line in which the threads of rows that are not in use return."""

Head = tuple[list[str], list[str]]
"""The lines that set ``world``, ``row`` and ``slot``, and the loops around them."""


class RowLoops:
    """Writes the head of a kernel: a thread per row on CUDA, loops over the rows of a shard on the CPU.

    ``in_order`` makes one CUDA thread run all rows of a world in order.
    """

    def __init__(self, columns: ColumnAccess) -> None:
        self.columns, self.cuda = columns, columns.cuda

    def head(
        self, group: KernelGroup, arguments: Arguments, in_order: bool, listed: bool = False, as_stage: bool = False
    ) -> Head:
        """The head of the kernel of a group; ``listed`` where it works through a list of worlds.

        ``as_stage``: it is a stage of a kernel, whose threads have the rows of their own worlds, in order.
        """
        if listed:
            return self._world_list_head(group, arguments)
        if group.pair is not None:
            counts = self.columns.schedule.counts
            pairs = PairLoopWriter(group.pair, counts, lambda name: self.columns.load((WORLD, name), arguments))
            return (pairs.threads(), []) if self.cuda and not in_order else pairs.loops(one_world=in_order)
        rows = self.row_list(group, in_order)
        if rows is not None:
            return self._listed_head(rows, arguments)
        lanes = [f"lane = thread % {group.threads}", f"thread = thread / {group.threads}"] if group.threads > 1 else []
        if shares_warps(group):  # threads without a world take part in the barriers of the warp
            lanes = [
                lanes[0],
                "present = wp.int32(0)",
                "if thread < rows: present = wp.int32(1)",
                f"thread = wp.min(thread, rows - 1) / {group.threads}",
            ]
        lines, loops = self._rows_head(group, arguments, in_order, group.threads == WARP_SIZE and not as_stage)
        return lanes + lines, loops

    def _rows_head(self, group: KernelGroup, arguments: Arguments, in_order: bool, by_slot: bool) -> Head:
        rows = group.rows
        if group.population is not None:
            return self._population_head(group.population, arguments, in_order, by_slot)
        if in_order:
            return [f"row = world * {rows} + slot"], ["world = first + thread", f"for slot in range({rows}):"]
        if rows == 1:
            return ["world = first + thread", "row = world", "slot = wp.int32(0)"], [EACH_WORLD]
        if self.cuda:
            return _row_of_thread(rows), []
        return _cpu_rows(rows, str(rows))

    def _population_head(self, population: Population, arguments: Arguments, in_order: bool, by_slot: bool) -> Head:
        """On CUDA a thread for each row of the capacity, on the CPU a loop over the rows in use.

        ``by_slot``: on CUDA a warp, beside those for the same slot of the next worlds.
        """
        capacity = population.limit.per_world
        count = f"wp.min({self.columns.load((WORLD, f'{population.table}__count'), arguments)}, {capacity})"
        if population.pooled:
            return self._pooled_head(population, count, arguments, in_order)
        if in_order:
            return [f"row = world * {capacity} + slot"], ["world = first + thread", f"for slot in range({count}):"]
        if not self.cuda:
            return _cpu_rows(capacity, count)
        lines = _row_of_warp(capacity) if by_slot else _row_of_thread(capacity)
        return [*lines, f"{_BEYOND_COUNT}{count}: return"], []

    def row_list(self, group: KernelGroup, in_order: bool) -> RowList | None:
        """The list of the rows that fulfil the condition of a group's system; None where there is none."""
        if not self.cuda or in_order or group.where is None or group.threads > 1:
            return None
        component, value = group.where
        rows = self.columns.schedule.lists.get((group.nodes[0].table, component))
        return rows if rows is not None and value in rows.values else None

    def _listed_head(self, rows: RowList, arguments: Arguments) -> Head:
        """A loop over every ``rows``-th row of the list number ``first``."""
        columns = [rows.column(name) for name in (SIZES, ROWS)]
        arguments.update({c: self.columns.field(c) for c in columns})
        sizes, listed = map(column_argument, columns)
        loops = [
            f"start = first * ({listed}.shape[0] / {sizes}.shape[0])",
            f"for number in range(thread, {sizes}[first], rows):",
        ]
        lines = [
            f"row = {listed}[start + number]",
            f"world = row / {rows.capacity}",
            f"slot = row - world * {rows.capacity}",
        ]
        return lines, loops

    def _world_list_head(self, group: KernelGroup, arguments: Arguments) -> Head:
        """A loop over the rows of the worlds of a list; the ``rows`` threads of all blocks take turns."""
        assert group.world_list is not None
        sizes, listed = world_list_arguments(group.world_list, self.columns, arguments)
        rows, threads = group.rows, group.threads
        turns = [f"lane = thread % {threads}"] if threads > 1 else []
        turns += [
            f"turn = thread / {threads}",
            f"turns = rows / {threads}",
            f"for number in range(turn, {sizes}[0] * {rows}, turns):",
        ]
        if rows == 1:
            lines = [f"world = {listed}[number]", "row = wp.int32(world)", "slot = wp.int32(0)"]
        else:
            lines = [f"world = {listed}[number / {rows}]", f"slot = number % {rows}", f"row = world * {rows} + slot"]
        if group.population is not None:
            count = self.columns.load((WORLD, f"{group.population.table}__count"), arguments)
            lines.append(f"{_BEYOND_COUNT}wp.min({count}, {rows}): continue")
        return lines, turns

    def condition(self, group: KernelGroup, arguments: Arguments, in_loop: bool) -> list[str]:
        """Skip the rows that do not fulfil the condition of a group's system."""
        if group.where is None:
            return []
        component, value = group.where
        loaded = self.columns.load((group.nodes[0].table, component), arguments)
        return [f"if {loaded} != {value}: {'continue' if in_loop or not self.cuda else 'return'}"]

    def _pooled_head(self, population: Population, count: str, arguments: Arguments, in_order: bool) -> Head:
        """On CUDA a thread for each row of the batch, which reads its world; on the CPU a loop over the rows in use."""
        start = self.columns.load((WORLD, f"{population.table}__first"), arguments)
        if in_order:
            return [f"row = {start} + slot"], ["world = first + thread", f"for slot in range({count}):"]
        if not self.cuda:
            return [f"row = {start} + slot"], [EACH_WORLD, SET_WORLD, f"    for slot in range({count}):"]
        world = self.columns.load((population.table, ROW_WORLD), arguments)
        return [
            "row = thread",
            f"world = {world}",
            "if world < 0: return",
            f"slot = row - {start}",
            f"if slot < 0 or slot >= {count}: return",
        ], []

    def reset_threads(self, group: KernelGroup) -> int:
        """Threads per world of a kernel for finished worlds with several rows per thread; 0 for a thread per row.

        Most worlds are not finished, so most of the time of such a kernel is the start of threads.
        """
        one_thread_per_row = group.threads == 1 and group.population is None and group.pair is None
        if not self.cuda or group.rows < MANY_ROWS or not one_thread_per_row:
            return 0
        return -(-group.rows // (ROWS_PER_RESET_THREAD * WARP_SIZE)) * WARP_SIZE

    def reset_head(self, rows: int, threads: int) -> Head:
        """The head of a kernel with :meth:`reset_threads`; adjacent threads take adjacent rows."""
        loops = [
            f"lane = thread % {threads}",
            f"world = first + thread / {threads}",
            f"for slot in range(lane, {rows}, {threads}):",
        ]
        return [f"row = world * {rows} + slot"], loops


def world_list_arguments(rows: RowList, columns: ColumnAccess, arguments: Arguments) -> tuple[str, str]:
    """The names of the size of a list of worlds and of its worlds, which become arguments of the kernel."""
    used = [rows.column(name) for name in (SIZES, ROWS)]
    arguments.update(columns.fields(used))
    sizes, listed = map(column_argument, used)
    return sizes, listed


def shares_warps(group: KernelGroup) -> bool:
    """Whether a warp has several worlds, whose threads go through the statements of a system together."""
    return 1 < group.threads < WARP_SIZE


def insert_exit(lines: list[str], leave: str, at_once: bool) -> None:
    """Let the threads of worlds that are left out return: before they load the number of rows in use.

    ``at_once`` where most worlds go on: one condition then waits for both loads. Compilers divide ``or`` into branches.
    """
    place = next((place for place, line in enumerate(lines) if line.startswith(_BEYOND_COUNT)), len(lines))
    end = ": return"
    if at_once and lines[place:] and leave.endswith(end) and lines[place].endswith(end):
        left_out, unused = (line.removeprefix("if ").removesuffix(end) for line in (leave, lines[place]))
        lines[place] = f"if wp.int32({left_out}) | wp.int32({unused}) != 0{end}"
    else:
        lines.insert(place, leave)


def depth(loops: list[str]) -> int:
    """The nesting depth of the lines inside ``loops``."""
    return sum(line.endswith(":") for line in loops)


def _row_of_thread(rows: int) -> list[str]:
    return [f"row = first * {rows} + thread", f"world = row / {rows}", f"slot = row - world * {rows}"]


def _row_of_warp(rows: int) -> list[str]:
    """As :func:`_row_of_thread`, for the number of a warp. The warps of a block take the same slot of adjacent worlds.

    A block ends when the last of its warps does, and rows that are not in use often have the same slots in all worlds:
    blocks for these slots end at once, and none of the others waits for warps without a row.
    """
    return [
        f"start = thread / {rows * WORLDS_PER_SLOT} * {WORLDS_PER_SLOT}",
        f"place = thread - start * {rows}",
        f"adjacent = wp.min(rows / {rows * WARP_SIZE} - start, {WORLDS_PER_SLOT})",
        "slot = place / adjacent",
        "world = first + start + place - slot * adjacent",
        f"row = world * {rows} + slot",
    ]


def _cpu_rows(rows: int, count: str) -> Head:
    """A loop over ``count`` rows of each world, of ``rows`` in memory."""
    loops = [f"for thread in range(rows / {rows}):", SET_WORLD, f"    for slot in range({count}):"]
    return [f"row = world * {rows} + slot"], loops
