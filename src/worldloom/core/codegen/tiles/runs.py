"""Runs: adjacent systems with ``together=True``, which one kernel takes its worlds through, tile by tile.

A kernel of a graph ends when its last thread does, and a sequence of short kernels, such as the passes of a solver,
spends most of its time on that. A block of threads that takes a *tile*, a few worlds, through the whole sequence waits
for its own threads alone. Rows come from lists by tile, so that most threads of a warp have work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from worldloom.core.codegen.fusion import FusedEntry, KernelGroup, TileRun, read_columns, written_columns
from worldloom.core.schedule.row_lists import RowListNode


def find_runs(parts: Iterable[FusedEntry], runs_by_tile: Callable[[KernelGroup], bool], join: bool) -> list[FusedEntry]:
    """Replace the kernels that ``runs_by_tile`` by runs, with ``join`` adjacent ones by one of them.

    Lists of rows that are written within a run come before it, where its systems do not change them.
    """
    found: list[FusedEntry] = []
    for part in parts:
        run = found[-1] if found and isinstance(found[-1], TileRun) else None
        if isinstance(part, KernelGroup) and runs_by_tile(part):
            if run is not None and join and _together(part) and _together(run.groups[0]):
                run.groups.append(part)
            else:
                found.append(TileRun([part]))
        elif run is not None and isinstance(part, RowListNode) and _is_independent(part, run):
            found.insert(-1, part)
        else:
            found.append(part)
    return found


def _together(group: KernelGroup) -> bool:
    return group.nodes[0].system.together


def _is_independent(node: RowListNode, run: TileRun) -> bool:
    """Whether a list can be written before a run."""
    return all(
        node.conflict(read_columns(n, f), written_columns(f)) is None
        for group in run.groups
        for n, f in zip(group.nodes, group.functions, strict=True)
    )
