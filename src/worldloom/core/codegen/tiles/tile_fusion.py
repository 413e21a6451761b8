"""Fusion of adjacent systems with ``together=True`` into one kernel, which processes its worlds tile by tile.

A kernel of a graph ends when its last thread does, and a sequence of short kernels, such as the passes of a solver,
spends most of its time on that. A thread block that takes a *tile*, a few worlds, through the whole sequence waits for
its own threads alone. Rows come from lists by tile, so that most threads of a warp have work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from worldloom.core.codegen.fusion import FusedEntry, KernelGroup, TiledStages, are_independent
from worldloom.core.schedule.row_lists import RowListNode, WorldOrderNode


def fuse_tiles(parts: Iterable[FusedEntry], is_tiled: Callable[[KernelGroup], bool], join: bool) -> list[FusedEntry]:
    """Replace kernels that are tiled by stages of tiled kernels, with ``join`` adjacent ones by those of one kernel.

    Lists of rows that are written in between move before the kernel, where its stages do not change them. A kernel of
    one stage is tiled only if its rows are listed by tile.
    """
    fused: list[FusedEntry] = []
    for part in parts:
        stages = fused[-1] if fused and isinstance(fused[-1], TiledStages) else None
        if isinstance(part, KernelGroup) and is_tiled(part):
            if stages is not None and join and _together(part) and _together(stages.groups[0]):
                stages.groups.append(part)
            else:
                fused.append(TiledStages([part]))
        elif (
            stages is not None
            and isinstance(part, RowListNode)
            and not isinstance(part, WorldOrderNode)  # the stages of a kernel have one order
            and all(are_independent(part, group) for group in stages.groups)
        ):
            fused.insert(-1, part)
        else:
            fused.append(part)
    return [_without_tiles(part) if isinstance(part, TiledStages) else part for part in fused]


def _without_tiles(stages: TiledStages) -> FusedEntry:
    """The kernel of a single stage over all rows, which has a thread for each of them."""
    group = stages.groups[0]
    return group if len(stages.groups) == 1 and group.where is None else stages


def _together(group: KernelGroup) -> bool:
    return group.nodes[0].system.together
