"""Kernels that become one: the threads of a world run one after the other, and wait for each other in between.

On a GPU every kernel of a graph costs about two microseconds, however little it does, and what it stores is fetched again by the next. All
that systems touch lies in their own world. So where the threads of a world fit into a warp or a block, they need not wait for those of
other worlds, which the end of a kernel makes them do: a barrier among themselves will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from worldloom.core.codegen.fusion import FusedEntry, KernelGroup
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.frontend.targets.kernel_names import barrier, column_argument
from worldloom.core.kernels.population_kernels import WARP_SIZE

MAX_THREADS_PER_WORLD = 256
"""The most that a world may need for a kernel that is joined with others: more rows do better with all threads of the device."""
MAX_SHARED_THREADS = 2 * WARP_SIZE
"""The same where several threads share a row: the other kernels would leave most of more than these idle."""


def fuse_stages(parts: Iterable[FusedEntry], threads_of: Callable[[KernelGroup], int]) -> list[list[FusedEntry]]:
    """The parts of a schedule, neighbours that can be one kernel together. ``threads_of`` gives the threads per world of a kernel."""
    found: list[list[FusedEntry]] = []
    for part in parts:
        if found and _fits(part, threads_of) and _fits(found[-1][-1], threads_of):
            found[-1].append(part)
        else:
            found.append([part])
    return found


def _fits(part: FusedEntry, threads_of: Callable[[KernelGroup], int]) -> bool:
    if not isinstance(part, KernelGroup) or (part.population is not None and part.population.pooled):
        return False
    return part.threads in (1, WARP_SIZE) and threads_of(part) <= (
        MAX_THREADS_PER_WORLD if part.threads == 1 else MAX_SHARED_THREADS
    )


def width(stages: list[KernelSpec]) -> int:
    """Threads per world of a joined kernel: a power of two that holds those of every stage, so that worlds lie evenly in warps."""
    return 1 << (max(stage.rows for stage in stages) - 1).bit_length()


def lines(stages: list[KernelSpec], threads: int) -> list[str]:
    """The body of a joined kernel, whose stages are functions of a thread's number and of all that a kernel takes."""
    found = [f"lane = thread % {threads}", f"place = thread / {threads}"]
    for number, stage in enumerate(stages):
        given = [
            "first",
            "rows",
            "offset",
            *(column_argument(c) for c in stage.columns),
            *(["errors"] if stage.takes_errors else []),
        ]
        whose = "place" if stage.rows == 1 else f"place * {stage.rows} + lane"
        if number:
            found.append(f"{barrier(max(threads, WARP_SIZE))}()")
        found.append(f"if thread < rows and lane < {stage.rows}:")
        found.append(f"    {stage.name}({', '.join([whose, *given])})")
    return found


def stage_kernel(name: str, stages: list[KernelSpec], threads: int) -> KernelSpec:
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
    return replace(together, threads=threads if threads > WARP_SIZE else 1, whole_warps=threads <= WARP_SIZE)
