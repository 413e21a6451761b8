"""The writer of tiled kernels."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from worldloom.core.codegen.fusion import FusedEntry, KernelGroup, TiledStages, note_changes
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.kernel_text import KernelText
from worldloom.core.codegen.shared_rows.coalescing import Coalescing
from worldloom.core.codegen.tiles import shared_columns
from worldloom.core.codegen.tiles.shared_columns import ListedRows, SharedTable
from worldloom.core.codegen.tiles.tiled_kernel import (
    SMALL_BATCH_LIMITS,
    sequence_function,
    tiled_lines,
    tiled_spec,
)
from worldloom.core.model.row_list import RowList

if TYPE_CHECKING:
    from worldloom.core.codegen.kernel_writer import KernelWriter


class TiledKernelWriter:
    """Writes tiled kernels with the functions of a :class:`KernelWriter`.

    Attributes:
        limits: Their resources.
        all_parts: The parts of all phases.
        shared_texts: The functions of columns in shared memory, which come before those of systems.
    """

    limits = SMALL_BATCH_LIMITS
    all_parts: Sequence[FusedEntry] = ()

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer
        self.shared_texts: list[str] = []

    def is_tiled(self, group: KernelGroup) -> bool:
        """Whether the kernel of a group can be tiled: its rows are listed by tile, or it runs together with others."""
        in_order = self.writer.in_order(group)
        rows = self.writer.row_loops.row_list(group, in_order)
        if rows is not None or group.where is not None:
            return rows is not None and rows.tiled
        return group.nodes[0].system.together and not group.pooled and not in_order

    def kernel(self, phase: str, number: int, tiled: TiledStages) -> KernelSpec:
        """The kernel of some stages."""
        writer, name = self.writer, f"{phase}_{number}"
        note_changes(tiled.groups, writer.schedule.aliases)
        stages = [writer.kernel(phase, number + k, group, Coalescing()) for k, group in enumerate(tiled.groups)]
        rows = {s.name: writer.row_loops.row_list(g, False) for s, g in zip(stages, tiled.groups, strict=True)}
        lists = {stage: listed for stage, listed in rows.items() if listed is not None}
        tables = self._shared_tables(tiled, stages, lists)
        size = shared_columns.total_bytes(tables, self.limits.shared_bytes)
        self.shared_texts += shared_columns.shared_texts(name, tables, size, writer.types)
        writer.texts.append(sequence_function(name, stages))
        shared = tuple(column for table in tables for column in table.columns)
        order = next((listed.order for listed in lists.values() if listed.order is not None), None)
        spec = tiled_spec(name, stages, self.limits, size, shared, order)
        count = writer.columns.bytes_per_world  # each column once: how often it is moved depends on the lists
        spec = replace(spec, bytes_read=sum(map(count, spec.loads)), bytes_written=sum(map(count, spec.stores)))
        concurrent = self._concurrent_stages(phase, tiled, stages)
        slots = shared_columns.slot_lines(name, tables)
        lines = tiled_lines(name, stages, lists, slots, self.limits.worlds, concurrent, order)
        arguments = writer.columns.fields(spec.columns)
        text = KernelText(name, lines, arguments, [], errors=spec.takes_errors, registers=self._registers(tiled))
        return replace(spec, name=writer.write(text))

    def _concurrent_stages(self, phase: str, tiled: TiledStages, stages: Sequence[KernelSpec]) -> set[str]:
        """Names of the stages of concurrent systems.

        Their promise is about the system that follows in the schedule. Fusion may have moved that, or joined it with
        others, which the promise does not cover: then the stage ends with a barrier wherever it occurs.
        """
        entries = self.writer.schedule.step if phase == "step" else self.writer.schedule.reset
        following = {id(entry): after for entry, after in itertools.pairwise(entries)}
        names, waiting = set[str](), set[str]()
        for stage, group, after in zip(stages, tiled.groups, [*tiled.groups[1:], None], strict=True):
            node = group.nodes[0]
            if node.system.concurrent:
                kept = after is not None and len(after.nodes) == 1 and after.nodes[0] is following.get(id(node))
                (names if kept else waiting).add(stage.name)
        return names - waiting

    def _registers(self, tiled: TiledStages) -> int | None:
        """Registers per thread: the largest limit of its systems, or that of tiled kernels where one has none."""
        own = [self.writer.registers(group) for group in tiled.groups]
        limits = [limit for limit in own if limit is not None]
        if len(limits) == len(own):
            return max(limits)
        return self.limits.registers if len(own) > 1 else None

    def _shared_tables(
        self, tiled: TiledStages, stages: Sequence[KernelSpec], lists: Mapping[str, RowList]
    ) -> list[SharedTable]:
        """The columns that the kernel keeps in shared memory; its functions access them there."""
        if len(stages) == 1 or not self.limits.shared_bytes:
            return []
        listed: dict[str, ListedRows] = {}
        for stage in stages:
            rows = lists.get(stage.name)
            if rows is not None and stage.row_list is not None:
                first, numbers = listed.get(rows.table, (rows, 0))
                if first is rows:  # rows of another list of the table stay in global memory
                    listed[rows.table] = rows, numbers | 1 << stage.row_list
        fields = {column: field for function in tiled.functions for column, field in function.target.columns.items()}
        chosen = shared_columns.choose_columns(tiled, self.all_parts, fields)
        tables = shared_columns.shared_tables({c: fields[c] for c in chosen}, listed, self.limits.worlds)
        if not tables or tables[-1].map_end > self.limits.shared_bytes // 2:
            return []
        shared = frozenset(column for table in tables for column in table.columns)
        for function in tiled.functions:
            function.shared = shared & set(function.target.columns)
        return tables
