"""The text of kernels: load the columns that the systems need, call the systems, store what they changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from worldloom.core.codegen.blocks import (
    Block,
    MemoryTraffic,
    blocks_of,
    columns_to_load,
    early_exit,
    functions_of,
    in_branch,
    memory_traffic,
    redundant_stores,
    seldom_changed,
    split_by_lifetime,
    stored_columns,
)
from worldloom.core.codegen.column_access import Arguments, ColumnAccess
from worldloom.core.codegen.engine_kernels import EngineKernelWriter
from worldloom.core.codegen.fusion import FusedEntry, KernelGroup, TiledStages, note_changes
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.kernel_text import KernelText
from worldloom.core.codegen.resets.beside_resets import with_observations_beside
from worldloom.core.codegen.resets.world_lists import NO_LISTS, with_world_lists
from worldloom.core.codegen.row_loops import (
    SET_WORLD,
    RowLoops,
    depth,
    insert_exit,
    shares_warps,
    world_list_arguments,
)
from worldloom.core.codegen.shared_rows import coalescing
from worldloom.core.codegen.shared_rows.coalescing import Coalescing
from worldloom.core.codegen.shared_rows.warp_rows import WarpRow, choose_rows, end_lines, start_lines, with_warp_rows
from worldloom.core.codegen.stages import (
    MAX_THREADS_PER_WORLD,
    common_mask,
    fuse_stages,
    stage_kernel,
    stage_lines,
    stage_width,
)
from worldloom.core.codegen.tiles.tile_fusion import fuse_tiles
from worldloom.core.codegen.tiles.tiled_writer import TiledKernelWriter
from worldloom.core.frontend.targets.accessors import array_code
from worldloom.core.frontend.targets.kernel_names import (
    barrier,
    collected_rows,
    column_argument,
    kept_name,
    register_name,
)
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import WORLD, ColumnKey, FaultSites
from worldloom.core.model.fields import Role
from worldloom.core.model.launch import LaunchNode, Mask
from worldloom.core.schedule.entries import FINISHED, GridNode, HostNode, Schedule


class KernelWriter:
    """Writes the kernels of a schedule.

    Attributes:
        texts: The functions and kernels written so far.
        register_only: Columns that stay in the registers of one kernel.
        runs: Writes the kernels of runs.
        list_width: Threads per world from which kernels for few worlds take a list, see :func:`with_world_lists`.
    """

    list_width = NO_LISTS

    def __init__(
        self, schedule: Schedule, types: dict[str, Any], cuda: bool, sites: FaultSites, register_only: set[ColumnKey]
    ) -> None:
        self.schedule, self.types, self.cuda, self.sites = schedule, types, cuda, sites
        self.register_only = register_only
        self.columns = ColumnAccess(schedule, cuda)
        self.row_loops = RowLoops(self.columns)
        self.tiles, self.engine = TiledKernelWriter(self), EngineKernelWriter(self)
        self.texts: list[str] = []
        self.names_by_text: dict[str, str] = {}

    def note_reads(self, group: KernelGroup) -> None:
        """Keep in the cache what a kernel of the step loads, except for finished worlds."""
        blocks = [block for block in blocks_of(group) if block[0] != FINISHED]
        shared, local = split_by_lifetime(blocks)
        loaded = {*columns_to_load(blocks, shared), *(column for columns in local for column in columns)}
        self.columns.cached |= {self.schedule.aliases.get(c, (c, 0))[0] for c in loaded}
        self.columns.cached |= {c for function in functions_of(blocks) for c in function.target.columns}

    # -- parts of a schedule -----------------------------------------------------------------------------------------

    def parts(
        self, phase: str, parts: list[FusedEntry], join: bool, uneven: int = MAX_THREADS_PER_WORLD
    ) -> list[KernelSpec | HostNode | LaunchNode]:
        """The kernels of a phase, in order.

        ``join`` makes adjacent kernels with few threads per world stages of one kernel, see :func:`fuse_stages` for
        ``uneven``.
        """
        specs: list[KernelSpec | HostNode | LaunchNode] = []
        number = 0
        found = fuse_tiles(parts, self.tiles.is_tiled, join) if self.cuda else parts
        joined = fuse_stages(found, self._threads, uneven) if join and self.cuda else [[part] for part in found]
        if join and self.cuda:
            if phase == "step":
                joined = with_observations_beside(joined, self.schedule)
            joined = with_world_lists(joined, self._threads, self.list_width, self.schedule.lists)
        for stages in joined:
            groups = [part for part in stages if isinstance(part, KernelGroup)]
            if self.cuda:
                note_changes(groups, self.schedule.aliases)
            if len(groups) > 1:
                specs.append(self.stage_kernel(phase, number, groups))
            else:
                specs += self.part(phase, number, stages[0])
            number += sum(len(part.groups) if isinstance(part, TiledStages) else 1 for part in stages)
        return specs

    def part(self, phase: str, number: int, part: FusedEntry) -> list[KernelSpec | HostNode | LaunchNode]:
        if isinstance(part, (HostNode, LaunchNode)):
            return [part]
        if isinstance(part, GridNode):
            return [self.engine.grid(phase, number, part)]
        if isinstance(part, KernelGroup):
            return [self.kernel(phase, number, part)]
        if isinstance(part, TiledStages):
            return [self.tiles.kernel(phase, number, part)]
        return [*self.engine.compaction(phase, number, part)]

    def stage_kernel(self, phase: str, number: int, groups: list[KernelGroup]) -> KernelSpec:
        """One kernel whose stages are the kernels of ``groups``."""
        threads = stage_width(map(self._threads, groups))
        collected = self._collected(groups, threads)
        stages = [self.kernel(phase, number + index, group, collected) for index, group in enumerate(groups)]
        listed: Arguments = {}
        worlds = groups[0].world_list
        names = None if worlds is None else world_list_arguments(worlds, self.columns, listed)
        spec = stage_kernel(f"{phase}_{number}", stages, threads, listed)
        rows = {column: self.schedule.counts[column[0]] for column in collected.columns}
        arguments = self.columns.fields(spec.columns)
        mask = common_mask(groups)
        leave = "" if mask is None else self._exit_line(mask, arguments, in_order=False)
        lines = stage_lines(stages, threads, rows, collected.block, leave, names)
        name = self.write(KernelText(spec.name, lines, arguments, [], errors=spec.takes_errors))
        return collected.added_to(replace(spec, name=name, beside=groups[0].beside))

    # -- kernels of systems ------------------------------------------------------------------------------------------

    def kernel(self, phase: str, number: int, group: KernelGroup, stage_of: Coalescing | None = None) -> KernelSpec:
        """The kernel of a group.

        ``stage_of`` makes it a function of the thread's index, for a kernel of stages that coalesces these columns.
        """
        in_order, as_stage = self.in_order(group), stage_of is not None
        rows = self.row_loops.row_list(group, in_order)
        listed = group.world_list is not None and not as_stage
        if stage_of is None:
            collected = Coalescing() if group.where is not None else self._collected([group], 1)
        else:
            collected = stage_of
        blocks = blocks_of(group)
        arguments: Arguments = {}
        exit_mask = early_exit(blocks)
        several_rows = not as_stage and not in_order and exit_mask == FINISHED and group.where is None and not listed
        reset_threads = self.row_loops.reset_threads(group) if several_rows else 0
        if reset_threads:
            lines, loops = self.row_loops.reset_head(group.rows, reset_threads)
        else:
            lines, loops = self.row_loops.head(group, arguments, in_order, listed, as_stage)
        if exit_mask is not None and not listed:
            leave = self._exit_line(exit_mask, arguments, in_order or rows is not None)
            if shares_warps(group):
                leave = leave.replace("return", "present = wp.int32(0)")
            if reset_threads:
                loops.insert(-1, leave)
            elif SET_WORLD in loops:  # skips all rows of a world at once
                loops.insert(loops.index(SET_WORLD) + 1, f"    {leave}")
            else:
                insert_exit(lines, leave, at_once=self.cuda and not exit_mask[1])
        lines += self.row_loops.condition(group, arguments, in_order) if rows is None else []
        columns, block = (() if as_stage else collected.columns), collected.block
        warp_rows = [] if as_stage else self._warp_rows(group)
        lines += [coalescing.collect_line(c, block, "row") for c in columns]
        body = self._body(group, blocks, arguments, collected, as_stage, warp_rows)
        lines += [*start_lines(warp_rows), *body, *end_lines(warp_rows)]
        lines += [f"{barrier(WARP_SIZE)}()"] if columns else []
        lines += [coalescing.store_line(c, block, collected_rows(c), "row", "True", c) for c in columns]
        if in_order or reset_threads or listed or rows is not None:
            lines, loops = [*loops, *["    " * depth(loops) + line for line in lines]], []
        errors = any(function.target.faults for function in group.functions)
        text = KernelText(f"{phase}_{number}", lines, arguments, loops, errors, registers=self.registers(group))
        threads, total = reset_threads or self._threads(group), None
        if group.population is not None and group.population.pooled:
            threads, total = 1, group.population.limit.batch if self.cuda and not in_order else None
            total = total if total is None else total * group.threads
        # nearly all worlds go on
        counted: list[Block] = [(None, nodes) for _, nodes in blocks] if group.beside else blocks
        labels, traffic = (
            [node.label for node in group.nodes],
            ([], []) if listed else memory_traffic(counted, self.register_only, self.schedule.aliases),
        )
        spec = self.spec(text, threads, labels, traffic, group.reason, total, as_stage)
        warps = shares_warps(group)
        spec = replace(
            spec, threads=group.threads, whose=group.whose, whole_warps=warps, world_list=listed, beside=group.beside
        )
        if rows is not None and group.where is not None:
            long = any(node.system.disjoint for node in group.nodes)
            spec = replace(spec, row_list=rows.values.index(group.where[1]), long=long)
        return spec if as_stage else with_warp_rows(collected.added_to(spec), warp_rows)

    def _collected(self, groups: list[KernelGroup], width: int) -> Coalescing:
        """The columns that a kernel coalesces, with ``width`` threads per world. Their functions are written."""
        if not self.cuda:
            return Coalescing()
        collected = coalescing.choose_columns(groups, width, self.schedule)
        for column in collected.columns:
            self.define(coalescing.definitions(column, self.columns.field(column), collected.block, self.types))
        return collected

    def _warp_rows(self, group: KernelGroup) -> list[WarpRow]:
        """The arrays whose rows the warps of a kernel keep in shared memory. Their functions are written."""
        rows = choose_rows(group, self.schedule, self.tiles.all_parts) if self.cuda else []
        for row in rows:
            self.define(*row.definitions(self.types))
        return rows

    def define(self, *texts: str) -> None:
        """Write the functions that several kernels may call, each once."""
        self.texts += [text for text in texts if text not in self.texts]

    def registers(self, group: KernelGroup) -> int | None:
        """Registers per thread at most; None where one of its systems does not limit them."""
        limits = [node.system.registers for node in group.nodes if node.system.registers is not None]
        return max(limits) if len(limits) == len(group.nodes) else None

    def in_order(self, group: KernelGroup) -> bool:
        """Whether one CUDA thread runs all rows of a world in order."""
        return self.cuda and group.rows > 1 and group.functions[0].target.in_order

    def _threads(self, group: KernelGroup) -> int:
        """Threads per world of a group's kernel; on the CPU iterations of its loop, which for pairs are the worlds."""
        return 1 if self.in_order(group) or (group.pair is not None and not self.cuda) else group.rows * group.threads

    def _exit_line(self, mask: Mask, arguments: Arguments, in_order: bool) -> str:
        """Skip the worlds that ``mask`` leaves out."""
        skipped = f"{'not ' if mask[1] else ''}{self.columns.load((WORLD, mask[0]), arguments)}"
        return f"if {skipped}: {'continue' if in_order or not self.cuda else 'return'}"

    def _body(
        self,
        group: KernelGroup,
        blocks: list[Block],
        arguments: Arguments,
        collected: Coalescing,
        as_stage: bool,
        warp_rows: Iterable[WarpRow],
    ) -> list[str]:
        """Loads, calls of the systems and stores of one row."""
        shared, local = split_by_lifetime(blocks)
        rows = {c: column_argument(c) if as_stage else collected_rows(c) for c in collected.columns}
        rows.update({row.column: collected_rows(row.column) for row in warp_rows})
        rows.update({final: rows[column] for final, column in collected.finals.items()})
        lines: list[str] = []
        loaded: set[ColumnKey] = set()
        for column in columns_to_load(blocks, shared):
            lines.append(f"{register_name(column)} = {self.columns.load(column, arguments, loaded)}")
            loaded.add(column)
        stored = stored_columns(blocks, self.register_only, self.schedule.aliases)
        kept = self._kept(group, blocks, loaded & stored) if not as_stage else []
        lines += [f"{kept_name(column)} = {register_name(column)}" for column in kept]
        first_thread = "if lane == 0: " if group.threads > 1 else ""
        if shares_warps(group):
            first_thread = "if lane == 0 and present > 0: "
        redundant = redundant_stores(blocks, self.schedule.aliases)
        for (mask, nodes), own in zip(blocks, local, strict=True):
            branch = ""
            if mask is not None and early_exit(blocks) is None:
                branch = f"{'' if mask[1] else 'not '}{register_name((WORLD, mask[0]))}"
            masked: list[str] = []
            known = set(loaded)
            for node, function in nodes:
                for column in function.target.inputs:
                    if column not in known and column in own:
                        masked.append(f"{register_name(column)} = {self.columns.load(column, arguments, known)}")
                        known.add(column)
                masked.append(function.call(node.ordinal, rows))
                known |= set(function.target.outputs)
                arguments.update(function.arrays)
                finals = [c for c in function.target.columns if c in collected.finals]
                if finals:  # outside the branch, so that all threads of a warp take part
                    lines += in_branch(branch, masked)
                    masked = []
                for final in finals:
                    source, written = collected.finals[final], branch or "True"
                    lines.append(coalescing.store_line(source, collected.block, rows[final], "row", written, final))
            if group.threads > 1:  # all threads have loaded before the first one stores
                masked.append(f"{barrier(group.threads)}()")
            written_columns = {c for _, function in nodes for c in function.target.outputs} - redundant
            masked += [first_thread + self.columns.store(c, arguments) for c in own if c in written_columns]
            lines += in_branch(branch, masked)
            loaded |= set() if mask is not None else known
        changed = {c: self.columns.changed_test(c) if c in kept else first_thread for c in shared}
        return lines + [changed[c] + self.columns.store(c, arguments) for c in shared if c in stored]

    def _kept(self, group: KernelGroup, blocks: list[Block], loaded: set[ColumnKey]) -> list[ColumnKey]:
        """The columns that a kernel stores only where their bits have changed."""
        if not self.cuda or group.threads > 1:
            return []
        shared = self.schedule.counts.aliased_columns
        shared_memory = {*self.schedule.aliases, *shared, *shared.values()}
        found = [c for c in seldom_changed(blocks, sorted(loaded)) if c not in shared_memory]
        return [c for c in found if self.columns.field(c).role is not Role.ACTION]  # loaded numbers are in their range

    # -- text --------------------------------------------------------------------------------------------------------

    def spec(
        self,
        text: KernelText,
        rows: int,
        labels: Iterable[str],
        traffic: MemoryTraffic,
        reason: str,
        total: int | None = None,
        as_stage: bool = False,
    ) -> KernelSpec:
        """Write a kernel, and describe it."""
        bytes_read, bytes_written = (sum(map(self.columns.bytes_per_world, columns)) for columns in traffic)
        loads, stores = (tuple(dict.fromkeys(columns)) for columns in traffic)
        systems = tuple(labels)
        return KernelSpec(
            self.write(text, as_stage),
            rows,
            tuple(text.arguments),
            text.errors,
            text.alarm,
            systems,
            bytes_read,
            bytes_written,
            loads,
            stores,
            reason,
            total=total,
            whose=systems[0],
        )

    def write(self, kernel: KernelText, as_stage: bool = False) -> str:
        """Add the text of a kernel or of a stage, and return its name. Equal texts are added once."""
        parameters = [
            "first: wp.int32",
            "rows: wp.int32",
            "offset: wp.int32",
            *[f"{column_argument(c)}: {array_code(f, self.types)}" for c, f in kernel.arguments.items()],
        ]
        parameters += ["errors: wp.array2d(dtype=wp.int32)"] if kernel.errors else []
        parameters += ["alarm: wp.array(dtype=wp.int32)"] if kernel.alarm else []
        name, thread = kernel.name, "thread_number()"
        limit = f", cuda_max_registers={kernel.registers}" if self.cuda and kernel.registers is not None else ""
        decorator = f'@wp.kernel(module=modules["{name}"], enable_backward=False{limit})'
        if as_stage:
            parameters = ["number: wp.int32", *parameters]
            name, thread, decorator = f"{name}_part", "wp.int32(number)", "@wp.func"
        if self.cuda:
            lines = [f"thread = {thread}", *kernel.lines]
        else:
            lines = [*kernel.loops, *["    " * depth(kernel.loops) + line for line in kernel.lines]]
        body = "\n".join("    " + line for line in lines)
        signature = f"({', '.join(parameters)}):\n{body}\n"
        if signature not in self.names_by_text:
            self.names_by_text[signature] = name
            self.texts.append(f"{decorator}\ndef {name}{signature}")
        return self.names_by_text[signature]
