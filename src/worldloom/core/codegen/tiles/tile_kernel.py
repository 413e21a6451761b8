"""The kernel of a run: a loop over turns, in each of which the threads of a block run one system for their tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.tiles.held_columns import SHARED_BYTES
from worldloom.core.frontend.targets.kernel_names import column_argument
from worldloom.core.kernels.row_list_kernels import MAX_VALUES
from worldloom.core.model.columns import ColumnKey
from worldloom.core.model.row_list import SIZES, TILE_WORLDS, RowList

TILE_BLOCK = 64
"""Threads per block: a colour of the contacts of 32 worlds has up to 90 contacts in HideSeek, 60 in Escape Room."""
RESIDENT_TILES = 4 * 132
"""Tiles that an H200 works on at once with as many registers as their threads want: four per multiprocessor."""
FEW_REGISTERS = 128
"""Registers per thread of a run in larger batches, so that twice as many tiles are worked on at once. HideSeek takes
2,914 us with 65,536 worlds, 3,360 with all registers and shared memory; with 16,384 worlds 1,000 and 818."""


@dataclass(frozen=True)
class TileLimits:
    """What the kernel of a run may use.

    Attributes:
        shared_bytes: Shared memory of a block.
        registers: Registers of a thread; None for the compiler's choice.
    """

    shared_bytes: int = SHARED_BYTES
    registers: int | None = None


def tile_limits(num_worlds: int) -> TileLimits:
    """The limits for a number of worlds: shared memory and registers pay where a GPU works on all tiles at once."""
    resident = num_worlds <= RESIDENT_TILES * TILE_WORLDS
    return TileLimits() if resident else TileLimits(0, FEW_REGISTERS)


def tile_spec(name: str, stages: Sequence[KernelSpec], held: Sequence[ColumnKey], shared_bytes: int) -> KernelSpec:
    """The description of the kernel of some stages, which has columns in so much shared memory."""
    return replace(
        stages[0],
        name=name,
        rows=1,
        columns=tuple(dict.fromkeys(c for stage in stages for c in stage.columns)),
        takes_errors=any(stage.takes_errors for stage in stages),
        labels=tuple(dict.fromkeys(label for stage in stages for label in stage.labels)),
        bytes_read=sum(stage.bytes_read for stage in stages),
        bytes_written=sum(stage.bytes_written for stage in stages),
        loads=tuple(dict.fromkeys(c for stage in stages for c in stage.loads)),
        stores=tuple(dict.fromkeys(c for stage in stages for c in stage.stores)),
        stages=tuple(_distinct(stages)) if len(stages) > 1 else (),
        row_list=None,
        long=False,
        tile=TILE_WORLDS,
        block=TILE_BLOCK,
        shared_bytes=shared_bytes if held else 0,
        held=tuple(held),
    )


def turn_function(name: str, stages: Sequence[KernelSpec]) -> str:
    """The text of the function that gives the number of the stage of a turn, and of the list of its rows."""
    numbers = {stage.name: number for number, stage in enumerate(_distinct(stages))}
    turns = ", ".join(str(numbers[stage.name] * MAX_VALUES + (stage.row_list or 0)) for stage in stages)
    snippet = f"static const short turns[] = {{{turns}}}; return turns[turn];"
    return f'@wp.func_native(snippet="{snippet}")\ndef turn_of_{name}(turn: wp.int32) -> wp.int32: ...\n'


def tile_lines(
    name: str, stages: Sequence[KernelSpec], lists: Mapping[str, RowList], first_lines: Sequence[str]
) -> list[str]:
    """The body of the kernel.

    ``lists`` are the lists of rows, by the names of the stages that take them; other stages run for all rows. Stages
    are functions of the thread's index and of the parameters of a kernel. ``first_lines`` come before the first turn.
    Turns whose list is empty cost no barrier.
    """
    lines = [
        "inner = thread_in_block()",
        "width = threads_per_block()",
        "tile = (thread - inner) / width",
        f"base = tile * {TILE_WORLDS}",
        f"worlds = wp.min({TILE_WORLDS}, rows - base)",
        *first_lines,
    ]
    used = {rows.name: rows for rows in lists.values()}
    for rows in used.values():
        values = len(rows.values)
        lines.append(f"used_{rows.name} = used_lists({column_argument(rows.column(SIZES))}, tile * {values}, {values})")
    lines += [
        f"for turn in range({len(stages)}):",
        f"    turn_stage = turn_of_{name}(turn) / {MAX_VALUES}",
        f"    turn_list = turn_of_{name}(turn) - turn_stage * {MAX_VALUES}",
    ]
    for number, stage in enumerate(_distinct(stages)):
        own = lists.get(stage.name)
        arguments = ["offset", *map(column_argument, stage.columns), *(["errors"] if stage.takes_errors else [])]
        if own is not None:
            lines.append(f"    if turn_stage == {number} and ((used_{own.name} >> turn_list) & 1) == 1:")
            given = ["inner", f"tile * {len(own.values)} + turn_list", "width"]
            lines.append(f"        {stage.name}({', '.join([*given, *arguments])})")
        else:
            lines.append(f"    if turn_stage == {number}:")
            lines.append(f"        for number in range(inner, worlds * {stage.rows}, width):")
            given = [f"base * {stage.rows} + number", "first", "rows"]
            lines.append(f"            {stage.name}({', '.join([*given, *arguments])})")
        lines.append("        sync_block()")
    return lines


def _distinct(stages: Sequence[KernelSpec]) -> list[KernelSpec]:
    """The stages without repetitions."""
    return list({stage.name: stage for stage in stages}.values())
