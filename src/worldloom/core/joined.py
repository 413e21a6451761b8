"""Kernels that become one: the threads of a world run one after the other, and wait for each other in between.

On a GPU every kernel of a graph costs about two microseconds, however little it does, and what it stores is fetched again by the next. All
that systems touch lies in their own world. So where the threads of a world fit into a warp or a block, they need not wait for those of
other worlds, which the end of a kernel makes them do: a barrier among themselves will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from worldloom.core.grouping import Group, Part
from worldloom.core.kernel_spec import KernelSpec
from worldloom.core.population_kernels import LANES
from worldloom.core.rewrite.kernel_target import barrier, column_name

MOST_THREADS = 256
"""The most that a world may need for a kernel that is joined with others: more rows do better with all threads of the device."""
MOST_SHARED = 2 * LANES
"""The same where several threads share a row: the other kernels would leave most of more than these idle."""


def runs(parts: Iterable[Part], threads_of: Callable[[Group], int]) -> list[list[Part]]:
    """The parts of a schedule, neighbours that can be one kernel together. ``threads_of`` gives the threads per world of a kernel."""
    found: list[list[Part]] = []
    for part in parts:
        if found and _fits(part, threads_of) and _fits(found[-1][-1], threads_of):
            found[-1].append(part)
        else:
            found.append([part])
    return found


def _fits(part: Part, threads_of: Callable[[Group], int]) -> bool:
    if not isinstance(part, Group) or (part.population is not None and part.population.pooled):
        return False
    return part.threads in (1, LANES) and threads_of(part) <= (MOST_THREADS if part.threads == 1 else MOST_SHARED)


def width(stages: list[KernelSpec]) -> int:
    """Threads per world of a joined kernel: a power of two that holds those of every stage, so that worlds lie evenly in warps."""
    return 1 << (max(stage.rows for stage in stages) - 1).bit_length()


def lines(stages: list[KernelSpec], threads: int) -> list[str]:
    """The body of a joined kernel, whose stages are functions of a thread's number and of all that a kernel takes."""
    found = [f"lane = thread % {threads}", f"place = thread / {threads}"]
    for number, stage in enumerate(stages):
        given = ["first", "rows", "offset", *(column_name(c) for c in stage.columns), *(["errors"] if stage.takes_errors else [])]
        whose = "place" if stage.rows == 1 else f"place * {stage.rows} + lane"
        if number:
            found.append(f"{barrier(max(threads, LANES))}()")
        found.append(f"if thread < rows and lane < {stage.rows}:")
        found.append(f"    {stage.name}({', '.join([whose, *given])})")
    return found


def joined(name: str, stages: list[KernelSpec], threads: int) -> KernelSpec:
    """The kernel of some stages."""
    together = replace(
        stages[0],
        name=name,
        rows=threads,
        columns=tuple(dict.fromkeys(c for stage in stages for c in stage.columns)),
        takes_errors=any(stage.takes_errors for stage in stages),
        labels=tuple(label for stage in stages for label in stage.labels),
        bytes_read=sum(stage.bytes_read for stage in stages),
        bytes_written=sum(stage.bytes_written for stage in stages),
        loads=tuple(dict.fromkeys(c for stage in stages for c in stage.loads)),
        stores=tuple(dict.fromkeys(c for stage in stages for c in stage.stores)),
        stages=tuple(stages),
    )
    return replace(together, threads=threads if threads > LANES else 1, whole_warps=threads <= LANES)
