"""The text of tiled kernels: a loop over a sequence of stages, each of which a thread block runs for its tile."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.stages import stage_kernel
from worldloom.core.frontend.targets.kernel_names import column_argument
from worldloom.core.kernels.row_list_kernels import MAX_VALUES
from worldloom.core.model.columns import ColumnKey
from worldloom.core.model.row_list import SIZES, RowList

SHARED_PER_WORLD = 1750
"""Bytes of shared memory per world at most: what a multiprocessor of an H200 has, for 128 worlds."""
RESIDENT_WORLDS = 128 * 132
"""Worlds that an H200 processes at once without a limit of registers: 128 per multiprocessor."""
FEWEST_TILES = 120
"""Tiles of more than 32 worlds that a batch has at least: nearly one for each multiprocessor of an H200."""
FEW_REGISTERS = 168
"""Registers per thread in larger batches, so that a multiprocessor has three blocks of 128 threads at once."""


@dataclass(frozen=True)
class TileLimits:
    """Size and resources of tiles.

    Attributes:
        worlds: Worlds of a tile.
        threads_per_world: Threads of a block for each of them. The largest colour has up to three contacts per world in
            HideSeek, two in Escape Room.
        shared_bytes: Largest size of the shared memory of a block.
        registers: Registers per thread; None for the compiler's choice.
        by_workload: Whether the worlds of a tile have similar workloads, and are not adjacent. That pays where a GPU
            processes tiles one after the other, and excludes shared memory, whose slots are those of adjacent worlds.
    """

    worlds: int = 32
    threads_per_world: int = 2
    shared_bytes: int = 32 * SHARED_PER_WORLD
    registers: int | None = None
    by_workload: bool = False

    def __post_init__(self) -> None:
        assert not (self.by_workload and self.shared_bytes), "slots in shared memory are those of adjacent worlds"

    @property
    def block(self) -> int:
        """Threads of a block."""
        return self.worlds * self.threads_per_world


SMALL_BATCH_LIMITS = TileLimits()
LARGE_BATCH_LIMITS = TileLimits(32, 4, 0, FEW_REGISTERS, by_workload=True)


def tile_limits(num_worlds: int, shared_memory: int) -> TileLimits:
    """The limits for a number of worlds on a GPU whose blocks can have so many bytes of shared memory.

    Warps of a block run the same stage, and fetch its instructions once: the tiles of a multiprocessor, which run
    different stages, are few and large. Where a GPU processes all worlds at once, shared memory and registers pay.
    """
    if num_worlds > RESIDENT_WORLDS:
        return LARGE_BATCH_LIMITS
    worlds = next((size for size in (128, 64) if num_worlds >= size * FEWEST_TILES), 32)
    return TileLimits(worlds, shared_bytes=min(worlds * SHARED_PER_WORLD, shared_memory))


def tiled_spec(
    name: str,
    stages: Sequence[KernelSpec],
    limits: TileLimits,
    shared_bytes: int,
    shared_columns: tuple[ColumnKey, ...],
    order: ColumnKey | None = None,
) -> KernelSpec:
    """The description of the kernel of some stages, with the bytes of all of them; ``order`` is that of its worlds."""
    distinct = distinct_stages(stages)
    joined = stage_kernel(name, distinct, limits.threads_per_world)
    joined = joined if order is None else replace(joined, columns=(*joined.columns, order))
    reason = "it runs together with the system before it"
    return replace(
        joined,
        labels=tuple(dict.fromkeys(joined.labels)),
        stages=tuple(replace(stage, reason=reason) for stage in distinct) if len(stages) > 1 else (),
        loads=tuple(c for c in joined.loads if c not in shared_columns),
        stores=tuple(c for c in joined.stores if c not in shared_columns),
        row_list=None,
        long=False,
        whole_warps=False,
        tile=limits.worlds,
        sequence=len(stages),
        block=limits.block,
        shared_bytes=shared_bytes,
        shared_columns=shared_columns,
    )


def distinct_stages(stages: Sequence[KernelSpec]) -> list[KernelSpec]:
    """The stages without repetitions, in the order of their first occurrence."""
    distinct: dict[str, KernelSpec] = {}
    for stage in stages:
        distinct.setdefault(stage.name, stage)
    return list(distinct.values())


def sequence_function(name: str, stages: Sequence[KernelSpec]) -> str:
    """The text of the function that gives the numbers of the distinct stage and of its list at an index."""
    numbers = {stage.name: number for number, stage in enumerate(distinct_stages(stages))}
    codes = ", ".join(str(numbers[stage.name] * MAX_VALUES + (stage.row_list or 0)) for stage in stages)
    snippet = f"static const short codes[] = {{{codes}}}; return codes[index];"
    return f'@wp.func_native(snippet="{snippet}")\ndef sequence_of_{name}(index: wp.int32) -> wp.int32: ...\n'


def tiled_lines(
    name: str,
    stages: Sequence[KernelSpec],
    lists: Mapping[str, RowList],
    first_lines: Sequence[str],
    tile_worlds: int,
    concurrent: Collection[str] = (),
    order: ColumnKey | None = None,
) -> list[str]:
    """The body of the kernel, for tiles of so many worlds.

    ``lists`` are the lists of rows, by the names of the stages that take them; other stages run for all rows. Stages
    are functions of the thread's index and of the parameters of a kernel. ``first_lines`` come before the first stage.
    ``order`` is the column with the order of worlds in tiles.
    A stage whose list is empty costs no barrier. Between one of ``concurrent`` and the next there is none; the last
    threads then take the first rows of lists, since the first ones are those with rows of other stages.
    """
    first_row = "width - 1 - inner" if concurrent else "inner"
    lines = [
        "inner = thread_in_block()",
        "width = threads_per_block()",
        "tile = (thread - inner) / width",
        f"base = tile * {tile_worlds}",
        f"worlds = wp.min({tile_worlds}, rows - base)",
        *first_lines,
    ]
    for rows in {rows.name: rows for rows in lists.values()}.values():
        values = len(rows.values)
        lines.append(f"used_{rows.name} = used_lists({column_argument(rows.column(SIZES))}, tile * {values}, {values})")
    if concurrent:
        lines.append("open_stage = wp.int32(-1)")  # the index of a concurrent stage since the last barrier
    lines += [
        f"for index in range({len(stages)}):",
        f"    code = sequence_of_{name}(index)",
        f"    stage = code / {MAX_VALUES}",
        f"    value = code - stage * {MAX_VALUES}",
    ]
    for number, stage in enumerate(distinct_stages(stages)):
        own = lists.get(stage.name)
        arguments = ["offset", *map(column_argument, stage.columns), *(["errors"] if stage.takes_errors else [])]
        if own is not None:
            lines.append(f"    if stage == {number} and ((used_{own.name} >> value) & 1) == 1:")
            lines += _barrier_before(stage.name, concurrent)
            index = [first_row, f"tile * {len(own.values)} + value", "width"]
            lines.append(f"        {stage.name}({', '.join([*index, *arguments])})")
        else:
            lines.append(f"    if stage == {number}:")
            lines += _barrier_before(stage.name, concurrent)
            lines.append(f"        for number in range(inner, worlds * {stage.rows}, width):")
            index = [_row_index(stage.rows, order), "first", "rows"]
            lines.append(f"            {stage.name}({', '.join([*index, *arguments])})")
        if stage.name in concurrent:
            lines.append("        open_stage = index")
        else:
            lines.append("        sync_block()")
            lines += ["        open_stage = wp.int32(-1)"] if concurrent else []
    return lines


def _barrier_before(stage: str, concurrent: Collection[str]) -> list[str]:
    """The lines that end a concurrent stage before ``stage``, unless it is the next one in the sequence."""
    if not concurrent:
        return []
    beside = "" if stage in concurrent else " and index > open_stage + 1"
    return [f"        if open_stage >= 0{beside}:", "            sync_block()"]


def _row_index(rows: int, order: ColumnKey | None) -> str:
    """The index of the row ``number`` of a tile, of a table with so many rows per world."""
    if order is None:
        return f"base * {rows} + number"
    return f"{column_argument(order)}[base + number / {rows}] * {rows} + number % {rows}"
