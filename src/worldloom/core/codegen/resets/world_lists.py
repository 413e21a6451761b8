"""Lists of the worlds that begin an episode, whose kernels on a GPU work through them.

In most steps few worlds begin an episode. A kernel with a thread for every row of every world then starts millions of
threads that only find out that their world is not among them. Such kernels get a list of the worlds instead, which one
small kernel writes, and a fixed number of threads that work through its rows, however many they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.codegen.fusion import FusedEntry, KernelGroup, TiledStages, written_columns
from worldloom.core.codegen.kernel_spec import LIST_THREADS
from worldloom.core.codegen.row_loops import shares_warps
from worldloom.core.codegen.stages import common_mask, stage_width
from worldloom.core.kernels.world_list_kernels import LISTING_THREADS, list_worlds
from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.launch import Launch, LaunchNode
from worldloom.core.model.row_list import ROWS, SIZES, RowList
from worldloom.core.schedule.entries import HostNode
from worldloom.core.schedule.row_lists import RowListNode

if TYPE_CHECKING:
    from worldloom.core.runtime.table import Table

NO_LISTS = 2**31 - 1
"""The result of :func:`list_width` for batches without lists: no kernel has more threads per world."""
MAX_LIST_WIDTH = 1024
"""Batches in which kernels of up to so many threads per world need no list have none."""
MIN_SAVED_THREADS = 4
"""Threads that a list must save in a step, in units of ``LIST_THREADS``, to be worth its kernel. A million and a half
threads that return at once take about 15 us on an H200, and the list 4."""


@dataclass(frozen=True, eq=False)
class WorldListNode(RowListNode):
    """Lists the worlds of a mask. Only GPUs do."""

    def start(
        self,
        prepared: Mapping[int, Any],
        tables: Mapping[str, Table],
        worlds: tuple[int, int],
        device: wp.Device,
        stream: wp.Stream | None,
    ) -> None:
        assert self.rows is not None
        listed, threads = tables[self.rows.name], LISTING_THREADS if device.is_cuda else 1
        wp.launch(
            list_worlds,
            dim=threads,
            inputs=[worlds[1], tables[WORLD][self.rows.component].array],
            outputs=[listed[SIZES].array, listed[ROWS].array],
            device=device,
            stream=stream,
            record_tape=False,
            block_dim=threads,
        )

    def load(self, device: wp.Device) -> None:
        wp.force_load(device, [list_worlds.module], block_dim=LISTING_THREADS if device.is_cuda else 1)


def list_width(num_worlds: int) -> int:
    """Threads per world up to which a kernel for worlds that begin an episode starts threads for all worlds.

    Up to ``LIST_THREADS`` a GPU starts them at once. The result is a power of two, or :data:`NO_LISTS`.
    """
    width = 1 << max((LIST_THREADS // num_worlds).bit_length() - 1, 0)
    return width if width <= MAX_LIST_WIDTH else NO_LISTS


def with_world_lists(
    kernels: list[list[FusedEntry]],
    threads_of: Callable[[KernelGroup], int],
    width: int,
    lists: Mapping[ColumnKey, RowList],
) -> list[list[FusedEntry]]:
    """Give lists to the kernels that gain by them, and insert what writes a list before the first that takes it.

    Args:
        kernels: The parts of a schedule, in lists of those that one kernel runs.
        threads_of: Threads per world of a kernel.
        width: :func:`list_width` of the number of worlds.
        lists: The lists that a schedule may have, by table and component.
    """
    chosen = _choose(kernels, threads_of, width, lists)
    scheduled: list[list[FusedEntry]] = []
    written: set[ColumnKey] = set()
    for number, parts in enumerate(kernels):
        rows = chosen.get(number)
        if rows is not None:
            if rows.key not in written:
                scheduled.append([_node(rows)])
                written.add(rows.key)
            for part in parts:
                assert isinstance(part, KernelGroup)
                part.world_list = rows
        scheduled.append(parts)
        written = {key for key in written if not any(_changes(part, key) for part in parts)}
    return scheduled


def _choose(
    kernels: list[list[FusedEntry]],
    threads_of: Callable[[KernelGroup], int],
    width: int,
    lists: Mapping[ColumnKey, RowList],
) -> dict[int, RowList]:
    """The lists of the kernels, by number, that gain by them."""
    saved: dict[ColumnKey, dict[int, int]] = {}
    for number, parts in enumerate(kernels):
        rows = _list_of(parts, lists)
        threads = [threads_of(part) for part in parts if isinstance(part, KernelGroup)]
        if rows is not None and (whole := stage_width(threads) if len(threads) > 1 else threads[0]) > width:
            saved.setdefault(rows.key, {})[number] = whole - width
    worth = {key: found for key, found in saved.items() if sum(found.values()) > MIN_SAVED_THREADS * width}
    return {number: lists[key] for key, found in worth.items() for number in found}


def _list_of(parts: Sequence[FusedEntry], lists: Mapping[ColumnKey, RowList]) -> RowList | None:
    """The list that a kernel can work through; None where it runs for other worlds, or its threads need them all."""
    groups = [part for part in parts if isinstance(part, KernelGroup)]
    mask = common_mask(groups) if len(groups) == len(parts) else None
    if mask is None or not mask[1]:
        return None
    if len(groups) == 1:
        alone = groups[0]
        if alone.pooled or alone.pair is not None or alone.where is not None or shares_warps(alone):
            return None
    return lists.get((WORLD, mask[0]))


def _changes(part: FusedEntry, key: ColumnKey) -> bool:
    """Whether the list of a mask may be out of date after a part of a schedule."""
    if isinstance(part, (KernelGroup, TiledStages)):
        return any(key in written_columns(function) for function in part.functions)
    return isinstance(part, HostNode) or (isinstance(part, LaunchNode) and key in part.writes)


def _node(rows: RowList) -> WorldListNode:
    return WorldListNode(
        Launch(),
        f"list worlds by {rows.component}",
        None,
        frozenset({rows.key}),
        frozenset(map(rows.column, (ROWS, SIZES))),
        engine=True,
        rows=rows,
    )
