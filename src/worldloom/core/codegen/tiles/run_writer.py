"""Writes the kernels of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from worldloom.core.codegen.coalescing import Coalescing
from worldloom.core.codegen.fusion import FusedEntry, KernelGroup, TileRun, note_changes
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.kernel_text import KernelText
from worldloom.core.codegen.tiles.held_columns import HeldTable, choose_columns, held_lines, held_tables, held_texts
from worldloom.core.codegen.tiles.tile_kernel import TileLimits, tile_lines, tile_spec, turn_function
from worldloom.core.model.row_list import RowList

if TYPE_CHECKING:
    from worldloom.core.codegen.kernel_writer import KernelWriter


class RunWriter:
    """Writes the kernels of runs with the functions of a :class:`KernelWriter`.

    Attributes:
        limits: What these kernels may use.
        all_parts: The parts of all phases.
        held_texts: The functions of held columns, which come before those of systems.
    """

    limits = TileLimits()
    all_parts: Sequence[FusedEntry] = ()

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer
        self.held_texts: list[str] = []

    def takes(self, group: KernelGroup) -> bool:
        """Whether the kernel of a group works by tiles: where its rows are listed by tile, or in a run."""
        in_order = self.writer.in_order(group)
        rows = self.writer.row_loops.row_list(group, in_order)
        if rows is not None or group.where is not None:
            return rows is not None and rows.tiled
        pooled = group.population is not None and group.population.pooled
        return group.nodes[0].system.together and not pooled and not in_order

    def kernel(self, phase: str, number: int, run: TileRun) -> KernelSpec:
        """The kernel of a run."""
        writer, name = self.writer, f"{phase}_{number}"
        note_changes(run.groups, writer.schedule.aliases)
        stages = [writer.kernel(phase, number + k, group, Coalescing()) for k, group in enumerate(run.groups)]
        rows = {s.name: writer.row_loops.row_list(g, False) for s, g in zip(stages, run.groups, strict=True)}
        lists = {stage: found for stage, found in rows.items() if found is not None}
        tables = self._held_tables(run, stages, lists)
        self.held_texts += held_texts(name, tables, self.limits.shared_bytes, writer.types)
        writer.texts.append(turn_function(name, stages))
        held = [column for table in tables for column in table.columns]
        spec = tile_spec(name, stages, held, self.limits.shared_bytes)
        lines = tile_lines(name, stages, lists, held_lines(name, tables))
        arguments = writer.columns.fields(spec.columns)
        text = KernelText(name, lines, arguments, [], errors=spec.takes_errors, registers=self._registers(run))
        return replace(spec, name=writer.write(text))

    def _registers(self, run: TileRun) -> int | None:
        """Registers per thread: the largest limit of its systems, or that of runs where one of them has none."""
        own = [self.writer.registers(group) for group in run.groups]
        given = [limit for limit in own if limit is not None]
        if len(given) == len(own):
            return max(given)
        return self.limits.registers if len(own) > 1 else None

    def _held_tables(self, run: TileRun, stages: Sequence[KernelSpec], lists: Mapping[str, RowList]) -> list[HeldTable]:
        """The columns that the kernel of a run keeps in shared memory; its functions are told."""
        if len(stages) == 1 or not self.limits.shared_bytes:
            return []
        used: dict[str, tuple[RowList, int]] = {}
        for stage in stages:
            rows = lists.get(stage.name)
            if rows is not None and stage.row_list is not None:
                used[rows.table] = rows, used.get(rows.table, (rows, 0))[1] | 1 << stage.row_list
        functions = [function for group in run.groups for function in group.functions]
        fields = {column: field for function in functions for column, field in function.target.columns.items()}
        chosen = choose_columns(run.groups, self.all_parts, fields)
        tables = held_tables({column: fields[column] for column in chosen}, used)
        if not tables or tables[-1].map_end > self.limits.shared_bytes // 2:
            return []
        held = frozenset(column for table in tables for column in table.columns)
        for function in functions:
            function.held = held & set(function.target.columns)
        return tables
