"""Stages: several kernels joined into one, with barriers among the threads of a block in between.

On a GPU every kernel of a graph costs about two microseconds, and each loads again what the one before has stored.
Systems access only their own world. If the threads of a world fit into a warp or a block, a barrier among them replaces
the end of a kernel, which waits for the threads of all worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from worldloom.core.codegen.fusion import FusedEntry, KernelGroup
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.shared_rows.coalescing import collect_line, store_line
from worldloom.core.frontend.targets.kernel_names import collected_rows, column_argument
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import ColumnKey
from worldloom.core.model.launch import Mask
from worldloom.core.schedule.entries import FAULTY, FINISHED, RESET_REQUESTED, RESETTING

MAX_THREADS_PER_WORLD = 256
"""Largest number of threads per world of a joined kernel. Worlds with more rows are faster in separate kernels."""
MAX_SHARED_THREADS = 2 * WARP_SIZE
"""The same where several threads share a row. With more, most threads would be idle in the other stages."""
MIN_ROWS_BESIDE_SHARED = WARP_SIZE // 4
"""Rows per world that some stage with a thread per row needs beside stages whose rows several threads share. With
fewer, as in Hanabi, whose rules have one thread per game, nearly all of the warp is idle in it."""
RESIDENT_THREADS = 2**17
"""Threads of joined kernels that a GPU runs at once. A multiprocessor has 65,536 registers, and an H200 132
multiprocessors: with 64 registers per thread they run 135,168 threads. Joined kernels need as many as their largest
stage or more: 64 in TagGrid, 80 in TagContinuousDemo, 128 in the COVID-19 economy, 164 in Escape Room."""
MIN_UNEVEN_WIDTH = WARP_SIZE // 2
"""Threads per world up to which stages of any number of threads are joined in batches of any size. A block has eight
or more such worlds, whose narrow stages share a warp."""
MAX_WIDTH_RATIO = 2
"""Width of a wider kernel over the threads of its narrowest stage, at most, in batches that a GPU cannot run at
once."""
_RARE_MASKS = frozenset({FINISHED, RESETTING, RESET_REQUESTED, FAULTY})
"""Masks of few worlds of a step."""


def uneven_width(num_worlds: int) -> int:
    """Threads per world up to which a joined kernel may have stages with far fewer threads.

    Up to :data:`RESIDENT_THREADS` idle threads cost nothing, and a launch less is a gain. In a larger batch they occupy
    the places of threads of other worlds. The result is a power of two.
    """
    fitting = RESIDENT_THREADS // num_worlds
    return min(max(1 << max(fitting.bit_length() - 1, 0), MIN_UNEVEN_WIDTH), MAX_THREADS_PER_WORLD)


def fuse_stages(
    parts: Iterable[FusedEntry], threads_of: Callable[[KernelGroup], int], uneven: int = MAX_THREADS_PER_WORLD
) -> list[list[FusedEntry]]:
    """The parts of a schedule, in lists of adjacent ones that one kernel can run.

    ``threads_of`` gives the threads per world of a kernel. Kernels with more than ``uneven`` threads per world have
    stages of similar widths, or run for few worlds.
    """
    kernels: list[list[FusedEntry]] = []
    for part in parts:
        fits = kernels and _fits(part, threads_of) and _fits(kernels[-1][-1], threads_of)
        if fits and _occupies_warps([*kernels[-1], part]) and _is_even([*kernels[-1], part], threads_of, uneven):
            kernels[-1].append(part)
        else:
            kernels.append([part])
    return kernels


def _fits(part: FusedEntry, threads_of: Callable[[KernelGroup], int]) -> bool:
    if not isinstance(part, KernelGroup) or part.pooled:
        return False
    if any(node.system.separate or node.system.where is not None for node in part.nodes):
        return False
    limit = MAX_THREADS_PER_WORLD if part.threads == 1 else MAX_SHARED_THREADS
    return part.threads in (1, WARP_SIZE) and threads_of(part) <= limit


def _occupies_warps(parts: Iterable[FusedEntry]) -> bool:
    """Whether a kernel of these parts keeps enough threads busy in those with one thread per row."""
    groups = [part for part in parts if isinstance(part, KernelGroup)]
    rows = [group.rows for group in groups if group.threads == 1]
    shared = len(rows) < len(groups)
    return not shared or not rows or max(rows) >= MIN_ROWS_BESIDE_SHARED


def _is_even(parts: Iterable[FusedEntry], threads_of: Callable[[KernelGroup], int], uneven: int) -> bool:
    """Whether most threads of a kernel of these parts are busy in each of them, or few worlds run it.

    Up to ``uneven`` threads per world it does not matter.
    """
    groups = [part for part in parts if isinstance(part, KernelGroup)]
    threads = [threads_of(group) for group in groups]
    return stage_width(threads) <= max(uneven, MAX_WIDTH_RATIO * min(threads)) or common_mask(groups) in _RARE_MASKS


def common_mask(groups: Iterable[KernelGroup]) -> Mask | None:
    """The mask of all systems of some kernels; None where they have different ones."""
    masks = {node.mask for group in groups for node in group.nodes}
    return masks.pop() if len(masks) == 1 else None


def stage_width(threads: Iterable[int]) -> int:
    """Threads per world of a joined kernel whose stages have this many.

    It is a power of two that covers every stage, so that worlds align with warps.
    """
    return 1 << (max(threads) - 1).bit_length()


def stage_lines(
    stages: list[KernelSpec],
    threads: int,
    collected: dict[ColumnKey, int],
    block: int,
    leave: str = "",
    world_list: tuple[str, str] | None = None,
) -> list[str]:
    """The body of a joined kernel. Its stages are functions of the thread's index and of the parameters of a kernel.

    ``threads`` are those of a world, and ``collected`` the columns that blocks of ``block`` threads coalesce, with
    their rows per world. ``leave`` is the statement that ends the threads of a world for which no stage runs; only a
    block of one world can leave before its barriers. ``world_list`` names the size and the worlds of the list that the
    kernel works through instead of all worlds; it has no columns to coalesce.
    """
    if world_list is not None:
        head, index, takes_part = _rows_of_list(threads, *world_list)
        return [*head, *["    " + line for line in _calls(stages, index, takes_part, collected)]]
    head, index, takes_part = _rows_of_block(threads) if threads <= WARP_SIZE else _rows_of_world(threads)
    lines = list(head)
    if leave and threads > WARP_SIZE:
        lines += ["world = first + place", leave]
    lines += [collect_line(column, block, f"first * {n} + {index.format(n)}") for column, n in collected.items()]
    lines += _calls(stages, index, takes_part, collected)
    if collected:
        lines.append("sync_warp()")
    lines += [
        store_line(c, block, collected_rows(c), f"first * {n} + {index.format(n)}", takes_part.format(n), c)
        for c, n in collected.items()
    ]
    return lines


def _calls(stages: list[KernelSpec], index: str, takes_part: str, collected: Collection[ColumnKey]) -> list[str]:
    """The calls of the stages, with barriers in between; see :func:`_rows_of_world`."""
    lines: list[str] = []
    for number, stage in enumerate(stages):
        arguments = [
            "first",
            "rows",
            "offset",
            *(collected_rows(c) if c in collected else column_argument(c) for c in stage.columns),
            *(["errors"] if stage.takes_errors else []),
        ]
        if number:
            lines.append("sync_block()")
        lines.append(f"if {takes_part.format(stage.rows)}:")
        lines.append(f"    {stage.name}({', '.join([index.format(stage.rows), *arguments])})")
    return lines


def _rows_of_world(threads: int) -> tuple[list[str], str, str]:
    """A block is a world, and its first threads have the rows of a stage.

    Returns the first lines of the kernel, and for a stage of ``{}`` rows per world the index of a thread and whether it
    takes part.
    """
    lines = [f"lane = thread % {threads}", f"place = thread / {threads}"]
    return lines, "place * {} + lane", "thread < rows and lane < {}"


def _rows_of_block(threads: int) -> tuple[list[str], str, str]:
    """The first threads of a block have the rows of a stage of all worlds of the block. Returns as for a world.

    So all threads of a warp take part in a stage, or none. If every n-th did, the others would not join them again: a
    barrier of the warp does not do that, and the warp would run all later stages in pieces.
    """
    lines = [
        "inner = thread_in_block()",
        f"base = (thread - inner) / {threads}",
        f"worlds = wp.min(threads_per_block() / {threads}, rows / {threads} - base)",
    ]
    return lines, "base * {} + inner", "inner < worlds * {}"


def _rows_of_list(threads: int, size: str, worlds: str) -> tuple[list[str], str, str]:
    """As :func:`_rows_of_world` or :func:`_rows_of_block`, in a loop over a list of worlds. Blocks take turns.

    All threads of a block run the loop equally often. Worlds of two turns are different ones, which need no barrier.
    """
    if threads > WARP_SIZE:
        lines = [
            f"lane = thread % {threads}",
            f"turn = thread / {threads}",
            f"turns = rows / {threads}",
            f"for number in range(turn, {size}[0], turns):",
            f"    place = {worlds}[number] - first",
        ]
        return lines, "place * {0} + lane", "lane < {0}"
    lines = [
        "inner = thread_in_block()",
        f"turn = (thread - inner) / {threads}",
        f"turns = rows / {threads}",
        f"together = wp.min(threads_per_block() / {threads}, turns - turn)",
        f"listed = {size}[0]",
        "for base in range(turn, listed, turns):",
        "    worlds = wp.min(together, listed - base)",
    ]
    return lines, f"({worlds}[base + inner / {{0}}] - first) * {{0}} + inner % {{0}}", "inner < worlds * {0}"


def stage_kernel(name: str, stages: list[KernelSpec], threads: int, lists: Collection[ColumnKey] = ()) -> KernelSpec:
    """The description of the kernel of some stages; ``lists`` are the columns of the list that it works through."""
    spec = replace(
        stages[0],
        name=name,
        rows=threads,
        columns=tuple(dict.fromkeys([*(c for stage in stages for c in stage.columns), *lists])),
        world_list=bool(lists),
        takes_errors=any(stage.takes_errors for stage in stages),
        labels=tuple(label for stage in stages for label in stage.labels),
        bytes_read=sum(stage.bytes_read for stage in stages),
        bytes_written=sum(stage.bytes_written for stage in stages),
        loads=tuple(dict.fromkeys(c for stage in stages for c in stage.loads)),
        stores=tuple(dict.fromkeys(c for stage in stages for c in stage.stores)),
        stages=tuple(stages),
    )
    return replace(spec, threads=threads if threads > WARP_SIZE else 1, whole_warps=threads <= WARP_SIZE)
