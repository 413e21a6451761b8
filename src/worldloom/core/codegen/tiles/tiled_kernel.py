"""The text of tiled kernels: a loop over a sequence of stages, each of which a thread block runs for its tile."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.stages import stage_kernel
from worldloom.core.codegen.tiles.shared_columns import SHARED_BYTES
from worldloom.core.frontend.targets.kernel_names import column_argument
from worldloom.core.kernels.row_list_kernels import MAX_VALUES
from worldloom.core.model.columns import ColumnKey
from worldloom.core.model.row_list import SIZES, TILE_WORLDS, RowList

TILE_BLOCK = 64
"""Threads per block: a colour of the contacts of 32 worlds has up to 90 contacts in HideSeek, 60 in Escape Room."""
RESIDENT_TILES = 4 * 132
"""Tiles that an H200 processes at once without a limit of registers: four per multiprocessor."""
FEW_REGISTERS = 128
"""Registers per thread in larger batches, so that twice as many tiles are processed at once. The kernel of HideSeek's
solver takes 2,914 us with 65,536 worlds, and 3,360 without a limit and with shared memory."""


@dataclass(frozen=True)
class TileLimits:
    """Resources of tiled kernels.

    Attributes:
        shared_bytes: Largest size of the shared memory of a block.
        registers: Registers per thread; None for the compiler's choice.
    """

    shared_bytes: int = SHARED_BYTES
    registers: int | None = None


RESIDENT_LIMITS = TileLimits()
"""Where a GPU processes all tiles at once, shared memory and registers pay."""
LARGE_BATCH_LIMITS = TileLimits(0, FEW_REGISTERS)


def tile_limits(num_worlds: int) -> TileLimits:
    """The limits for a number of worlds."""
    return RESIDENT_LIMITS if num_worlds <= RESIDENT_TILES * TILE_WORLDS else LARGE_BATCH_LIMITS


def tiled_spec(
    name: str, stages: Sequence[KernelSpec], shared_bytes: int, shared_columns: tuple[ColumnKey, ...]
) -> KernelSpec:
    """The description of the kernel of some stages, with the bytes of all of them."""
    distinct = distinct_stages(stages)
    joined = stage_kernel(name, distinct, TILE_BLOCK // TILE_WORLDS)
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
        tile=TILE_WORLDS,
        sequence=len(stages),
        block=TILE_BLOCK,
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
    concurrent: Collection[str] = (),
) -> list[str]:
    """The body of the kernel.

    ``lists`` are the lists of rows, by the names of the stages that take them; other stages run for all rows. Stages
    are functions of the thread's index and of the parameters of a kernel. ``first_lines`` come before the first stage.
    A stage whose list is empty costs no barrier. Between one of ``concurrent`` and the next there is none; the last
    threads then take the first rows of lists, since the first ones are those with rows of other stages.
    """
    first_row = "width - 1 - inner" if concurrent else "inner"
    lines = [
        "inner = thread_in_block()",
        "width = threads_per_block()",
        "tile = (thread - inner) / width",
        f"base = tile * {TILE_WORLDS}",
        f"worlds = wp.min({TILE_WORLDS}, rows - base)",
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
            index = [f"base * {stage.rows} + number", "first", "rows"]
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
