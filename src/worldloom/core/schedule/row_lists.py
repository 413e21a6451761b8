"""Entries that list rows by the value of a component, before the systems that run for one value on CUDA."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.kernels.row_list_kernels import MAX_VALUES, WORLDS_PER_WARP, clear, list_rows
from worldloom.core.kernels.world_order_kernels import ORDERING_THREADS, count_worlds, num_blocks, place_worlds
from worldloom.core.model.columns import WORLD, ColumnKey, RowCounts
from worldloom.core.model.fields import Role
from worldloom.core.model.launch import Launch, LaunchNode
from worldloom.core.model.pairs import Pair
from worldloom.core.model.row_list import ROWS, SIZES, VALUES, RowList
from worldloom.core.model.spaces import Discrete
from worldloom.core.schedule.dependencies import changes_rows
from worldloom.core.schedule.entries import FINISHED, RESET_REQUESTED, RESETTING, Entry, SystemNode

if TYPE_CHECKING:
    from worldloom.core.runtime.table import Table


BLOCK = 128
"""Threads per block of the kernels of lists."""


@dataclass(frozen=True, eq=False)
class RowListNode(LaunchNode):
    """Writes the lists of one component. Only GPUs have them."""

    rows: RowList | None = None

    def start(
        self,
        prepared: Mapping[int, Any],
        tables: Mapping[str, Table],
        worlds: tuple[int, int],
        device: wp.Device,
        stream: wp.Stream | None,
    ) -> None:
        assert self.rows is not None
        listed, num_worlds = tables[self.rows.name], worlds[1]
        values = tables[self.rows.table][self.rows.component].array
        counts = values if self.rows.fixed else tables[WORLD][f"{self.rows.table}__count"].array
        order = self.rows.order
        sizes, rows = listed[SIZES].array, listed[ROWS].array
        wp.launch(
            clear, dim=len(sizes), outputs=[sizes], device=device, stream=stream, record_tape=False,
            block_dim=BLOCK if device.is_cuda else 1,
        )  # fmt: skip
        per_run, threads = (WORLDS_PER_WARP, WARP_SIZE) if device.is_cuda else (num_worlds, 1)
        wp.launch(
            list_rows,
            dim=(-(-num_worlds // per_run), threads),
            inputs=[
                num_worlds,
                per_run,
                len(rows) // (len(sizes) * self.rows.capacity),
                counts,
                self.rows.fixed,
                self.rows.capacity,
                values,
                self.rows.choices,
            ],
            outputs=[
                listed[VALUES].array,
                order is not None,
                values if order is None else tables[order[0]][order[1]].array,
                sizes,
                rows,
            ],
            device=device,
            stream=stream,
            record_tape=False,
            block_dim=BLOCK if device.is_cuda else 1,
        )

    def load(self, device: wp.Device) -> None:
        """Load its kernels, which cannot be loaded while a graph is recorded."""
        wp.force_load(device, [clear.module, list_rows.module], block_dim=BLOCK if device.is_cuda else 1)


@dataclass(frozen=True, eq=False)
class WorldOrderNode(RowListNode):
    """Orders the worlds of tiles by their workload. Only GPUs do."""

    def start(
        self,
        prepared: Mapping[int, Any],
        tables: Mapping[str, Table],
        worlds: tuple[int, int],
        device: wp.Device,
        stream: wp.Stream | None,
    ) -> None:
        assert self.rows is not None and self.rows.order is not None
        table, column = self.rows.order
        threads, blocks = (ORDERING_THREADS, num_blocks(worlds[1])) if device.is_cuda else (1, 1)
        for kernel in (count_worlds, place_worlds):
            wp.launch(
                kernel,
                dim=blocks * threads,
                inputs=[worlds[1], tables[WORLD][self.rows.workload].array],
                outputs=[tables[table][column].array],
                device=device,
                stream=stream,
                record_tape=False,
                block_dim=threads,
            )

    def load(self, device: wp.Device) -> None:
        threads = ORDERING_THREADS if device.is_cuda else 1
        wp.force_load(device, [count_worlds.module, place_worlds.module], block_dim=threads)


def find_lists(entries: Iterable[Entry], counts: RowCounts, workload: str = "") -> dict[ColumnKey, RowList]:
    """The lists of systems with a condition, and of worlds that begin an episode, by table and component.

    ``workload`` is the component of the world by which tiles are chosen, if there is one.
    """
    values: dict[ColumnKey, dict[int, None]] = {}
    tiled: set[ColumnKey] = set()
    choices: dict[ColumnKey, int] = {}
    for entry in entries:
        if isinstance(entry, SystemNode) and entry.system.where is not None and _can_list(entry, counts):
            key = entry.table, entry.system.where.component
            values.setdefault(key, {})[entry.value] = None
            tiled |= {key} if entry.system.together else set()
            choices[key] = _num_choices(entry)
    by_value = {
        key: RowList(
            *key,
            tuple(found)[:MAX_VALUES],
            counts[key[0]],
            fixed=key[0] not in counts.populations,
            tiled=key in tiled,
            workload=workload if key in tiled else "",
            choices=choices[key],
        )
        for key, found in values.items()
    }
    masks = [name for name, _ in (FINISHED, RESETTING, RESET_REQUESTED)]
    return {**by_value, **{(WORLD, name): RowList(WORLD, name, (1,), 1, fixed=True) for name in masks}}


def _num_choices(node: SystemNode) -> int:
    """The choices of the discrete action by which a system chooses entities; 0 where it is no action."""
    assert node.system.where is not None and not isinstance(node.view, Pair)
    field = node.view.fields[node.system.where.component]
    return field.space.n if field.role is Role.ACTION and isinstance(field.space, Discrete) else 0


def _can_list(node: SystemNode, counts: RowCounts) -> bool:
    """Whether rows of one world are adjacent, and there are several of them, each with one thread."""
    return counts.pooled(node.table) is None and counts[node.table] > 1 and node.system.threads == 1


def with_lists(
    entries: list[Entry], lists: Mapping[ColumnKey, RowList], takes_list: Callable[[SystemNode], bool]
) -> list[Entry]:
    """Insert lists: before each system that runs for one value and takes a list, unless they are up to date."""
    scheduled: list[Entry] = []
    written: set[ColumnKey] = set()
    for entry in entries:
        rows = _list_of(entry, lists)
        if rows is not None and rows.key not in written and isinstance(entry, SystemNode) and takes_list(entry):
            if rows.workload and (WORLD, rows.workload) not in written:
                scheduled.append(_order_node(rows))
                written = {key for key in written if key in lists and not lists[key].workload} | {
                    (WORLD, rows.workload)
                }
            scheduled.append(_node(rows))
            written.add(rows.key)
        scheduled.append(entry)
        written = {key for key in written if not changes_rows(entry, key)}
    return scheduled


def _list_of(entry: Entry, lists: Mapping[ColumnKey, RowList]) -> RowList | None:
    """The list that has the rows of a system; None where there is none."""
    if not isinstance(entry, SystemNode) or entry.system.where is None or entry.system.threads > 1:
        return None
    rows = lists.get((entry.table, entry.system.where.component))
    return rows if rows is not None and entry.value in rows.values else None


def _node(rows: RowList) -> RowListNode:
    reads = {rows.key} if rows.fixed else {rows.key, (WORLD, f"{rows.table}__count")}
    reads |= set() if rows.order is None else {rows.order}
    return RowListNode(
        Launch(),
        f"list {rows.table} by {rows.component}",
        None,
        frozenset(reads),
        frozenset(map(rows.column, rows.fields)),
        engine=True,
        rows=rows,
    )


def _order_node(rows: RowList) -> WorldOrderNode:
    assert rows.order is not None
    workload = frozenset({(WORLD, rows.workload)})
    label = f"order worlds by {rows.workload}"
    return WorldOrderNode(Launch(), label, None, workload, frozenset({rows.order}), engine=True, rows=rows)
