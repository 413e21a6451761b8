"""Kernels of what the engine adds to a schedule: grids and compactions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from worldloom.core.codegen.blocks import MemoryTraffic
from worldloom.core.codegen.compaction import WORLDS_PER_WARP, CompactionWriter, reason_of_compaction
from worldloom.core.codegen.compaction_choice import several_kernels
from worldloom.core.codegen.compaction_kernel import CompactionKernel
from worldloom.core.codegen.grid_writer import GridKernelWriter
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.kernel_text import KernelText
from worldloom.core.codegen.resets.world_lists import NO_LISTS
from worldloom.core.codegen.row_loops import EACH_WORLD
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import WORLD
from worldloom.core.model.grid import PARTS
from worldloom.core.schedule.entries import CompactionNode, GridNode

if TYPE_CHECKING:
    from worldloom.core.codegen.kernel_writer import KernelWriter


class EngineKernelWriter:
    """Writes the kernels of grids and compactions with the columns and texts of a :class:`KernelWriter`."""

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer

    def grid(self, phase: str, number: int, node: GridNode) -> KernelSpec:
        """The kernel that builds a grid."""
        writer, grid = self.writer, node.grid
        population = writer.schedule.counts.populations.get(grid.table)
        grid_writer = GridKernelWriter(grid, population, node.mask, writer.types)
        lines = grid_writer.body(writer.cuda)
        if writer.cuda:
            writer.define(grid_writer.block_build_text)
        text = KernelText(f"{phase}_{number}", lines, writer.columns.fields(grid_writer.columns), [EACH_WORLD])
        built = [(WORLD, grid.column(part)) for part in PARTS]
        traffic: MemoryTraffic = ([], []) if node.mask is not None else ([(grid.table, grid.by)], built)
        spec = writer.spec(text, 1, [node.label], traffic, "it sorts all entities of a world")
        return replace(spec, whole_block=True)

    def compaction(self, phase: str, number: int, node: CompactionNode) -> list[KernelSpec]:
        """The kernels of a compaction: one, or several where worlds have many entities or share a pool."""
        writer = self.writer
        few_worlds = writer.list_width == NO_LISTS
        kernels = several_kernels(node, writer.schedule, writer.sites, writer.types, writer.cuda, few_worlds)
        if kernels:
            return self._several_kernels(phase, number, node, kernels)
        return [self._one_kernel(phase, number, node)]

    def _one_kernel(self, phase: str, number: int, node: CompactionNode) -> KernelSpec:
        writer, population = self.writer, node.population
        fields = writer.schedule.tables[population.table].fields
        compaction = CompactionWriter(population, fields, writer.sites, writer.types)
        lines = compaction.body(writer.cuda, node.spawned_in_order)
        arguments = writer.columns.fields(compaction.columns)
        alarm = population.limit.overflow == "error"
        text = KernelText(f"{phase}_{number}", lines, arguments, [EACH_WORLD], compaction.faults, alarm)
        threads = WARP_SIZE // WORLDS_PER_WARP if writer.cuda and not node.spawned_in_order else 1
        always_read = [(WORLD, f"{population.table}__{name}") for name in ("pending", "changed")]
        spec = writer.spec(text, threads, [node.label], (always_read, []), reason_of_compaction(population))
        return replace(spec, whole_warps=threads > 1)

    def _several_kernels(
        self, phase: str, number: int, node: CompactionNode, kernels: list[CompactionKernel]
    ) -> list[KernelSpec]:
        writer, population, overflow = self.writer, node.population, node.population.limit.overflow
        read = ("pending", "changed", *(["count", "first"] if population.pooled else []))
        always_read = [(WORLD, f"{population.table}__{name}") for name in read]
        specs: list[KernelSpec] = []
        for index, kernel in enumerate(kernels):
            errors, alarm = overflow != "drop" and kernel.closes, overflow == "error" and kernel.closes
            arguments = writer.columns.fields(kernel.columns)
            text = KernelText(f"{phase}_{number}_{index}", kernel.lines, arguments, [], errors, alarm)
            traffic: MemoryTraffic = (always_read if index == 0 else [], [])
            spec = writer.spec(
                text, kernel.rows, [node.label], traffic, reason_of_compaction(population), total=kernel.total
            )
            specs.append(replace(spec, whole_warps=kernel.whole_warps, first_of_entry=index == 0))
        return specs
