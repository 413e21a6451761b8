"""The text of kernels: load what the systems need, call them, store what they changed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import warp as wp

from worldloom.core.codegen.compaction import WORLDS_PER_WARP, CompactionWriter
from worldloom.core.codegen.compaction_pooled import compaction_kernels
from worldloom.core.codegen.fusion import FusedEntry, KernelGroup
from worldloom.core.codegen.grid_writer import GridKernelWriter
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.stages import fuse_stages, stage_kernel, width
from worldloom.core.codegen.stages import lines as stage_lines
from worldloom.core.frontend.targets import accessors
from worldloom.core.frontend.targets.accessors import array_code
from worldloom.core.frontend.targets.kernel_names import (
    RAW_PREFIX,
    barrier,
    column_argument,
    column_in_memory,
    register_name,
)
from worldloom.core.frontend.targets.kernel_target import sanitize_action
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.columns import WORLD, ColumnKey, FaultSites
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.grid import PARTS
from worldloom.core.model.launch import LaunchNode, Mask
from worldloom.core.model.pairs import PairLoopWriter
from worldloom.core.model.population import ROW_WORLD, Population
from worldloom.core.schedule.schedule import FINISHED, CompactionNode, GridNode, HostNode, Schedule

MANY_ROWS = 512
"""From so many rows on, threads that reset a world take several of them."""
ROWS_PER_RESET_THREAD = 2
"""How many. With Tag's 1,000 players and a tenth of 2,000 worlds reset in a step, 2 took 10.8 us on an H200, 1 13.3, 4 12.3 and 8 15.9."""
_ROWS = "for thread in range(rows):"
_WORLD = "    world = first + thread"
"""Within a loop over the worlds of a shard."""


class KernelWriter:
    """Writes kernels: load what the systems need, call them, store what they changed."""

    def __init__(
        self, schedule: Schedule, types: dict[str, Any], cuda: bool, sites: FaultSites, register_only: set[ColumnKey]
    ) -> None:
        self.schedule, self.types, self.cuda, self.sites, self.register_only = (
            schedule,
            types,
            cuda,
            sites,
            register_only,
        )
        self.texts: list[str] = []
        self.names_by_text: dict[str, str] = {}
        self.cached_columns: set[ColumnKey] = set()
        """Columns that systems read at every step, so that they are worth a place in the cache."""

    def field(self, column: ColumnKey) -> Field:
        return self.schedule.field_of(column)

    def note_reads(self, group: KernelGroup) -> None:
        """Note what a kernel of the step loads from memory, but for worlds whose episode is over."""
        blocks = [block for block in _blocks(group) if block[0] != FINISHED]
        shared, local = self._placement(blocks)
        loaded = {*self._loads(blocks, shared), *(c for found in local for c in found)}
        self.cached_columns |= {self.schedule.aliases.get(c, (c, 0))[0] for c in loaded}
        self.cached_columns |= {c for _, nodes in blocks for _, f in nodes for c in f.target.columns}

    def parts(self, phase: str, parts: list[FusedEntry], join: bool) -> list[KernelSpec | HostNode | LaunchNode]:
        """The kernels of some parts of a schedule, in order; ``join`` makes one kernel of neighbours where a world's threads are few."""
        found: list[KernelSpec | HostNode | LaunchNode] = []
        number = 0
        for run in fuse_stages(parts, self._threads) if join and self.cuda else [[part] for part in parts]:
            groups = [part for part in run if isinstance(part, KernelGroup)]
            if len(groups) > 1:
                found.append(self.stage_kernel(phase, number, groups))
            else:
                found += self.part(phase, number, run[0])
            number += len(run)
        return found

    def stage_kernel(self, phase: str, number: int, groups: list[KernelGroup]) -> KernelSpec:
        stages = [self.kernel(phase, number + place, group, as_stage=True) for place, group in enumerate(groups)]
        threads = width(stages)
        whole = stage_kernel(f"{phase}_{number}", stages, threads)
        name = self._write(
            whole.name,
            {c: self.field(c) for c in whole.columns},
            whole.takes_errors,
            False,
            stage_lines(stages, threads),
            [],
        )
        return replace(whole, name=name)

    def _in_order(self, group: KernelGroup) -> bool:
        """Whether one thread of CUDA runs all rows of a world, one after the other."""
        return self.cuda and group.rows > 1 and group.functions[0].target.in_order

    def _threads(self, group: KernelGroup) -> int:
        """Threads per world of a group's kernel; on the CPU the rows that its loop counts, which for pairs are the worlds."""
        return 1 if self._in_order(group) or (group.pair is not None and not self.cuda) else group.rows * group.threads

    def part(self, phase: str, number: int, part: FusedEntry) -> list[KernelSpec | HostNode | LaunchNode]:
        if isinstance(part, (HostNode, LaunchNode)):
            return [part]
        if isinstance(part, GridNode):
            return [self.grid(phase, number, part)]
        if isinstance(part, CompactionNode) and part.population.pooled:
            return [*self.pooled_compaction(phase, number, part)]
        return [
            self.compaction(phase, number, part)
            if isinstance(part, CompactionNode)
            else self.kernel(phase, number, part)
        ]

    def grid(self, phase: str, number: int, build: GridNode) -> KernelSpec:
        text = GridKernelWriter(
            build.grid, self.schedule.counts.populations.get(build.grid.table), build.mask, self.types
        )
        lines = text.body(self.cuda)
        if self.cuda and text.block_build_text not in self.texts:
            self.texts.append(text.block_build_text)
        name = self._write(f"{phase}_{number}", {c: self.field(c) for c in text.columns}, False, False, lines, [_ROWS])
        moved = (
            ([], [])
            if build.mask is not None
            else ([(build.grid.table, build.grid.by)], [(WORLD, build.grid.column(part)) for part in PARTS])
        )
        return self._spec(
            name,
            1,
            text.columns,
            False,
            False,
            [build.label],
            moved,
            "it sorts all entities of a world",
            whole_block=True,
        )

    def compaction(self, phase: str, number: int, settle: CompactionNode) -> KernelSpec:
        population = settle.population
        text = CompactionWriter(population, self.schedule.tables[population.table].fields, self.sites, self.types)
        lines = text.body(self.cuda, settle.spawned_in_order)
        alarm = population.limit.overflow == "error"
        name = self._write(
            f"{phase}_{number}", {c: self.field(c) for c in text.columns}, text.faults, alarm, lines, [_ROWS]
        )
        looked = [
            (WORLD, f"{population.table}__{n}") for n in ("pending", "changed")
        ]  # what moves beside depends on who comes and goes
        threads = WARP_SIZE // WORLDS_PER_WARP if self.cuda and not settle.spawned_in_order else 1
        spec = self._spec(name, threads, text.columns, text.faults, alarm, [settle.label], (looked, []), settle.reason)
        return replace(spec, whole_warps=threads > 1)

    def pooled_compaction(self, phase: str, number: int, settle: CompactionNode) -> list[KernelSpec]:
        population = settle.population
        faults, alarm = population.limit.overflow != "drop", population.limit.overflow == "error"
        specs: list[KernelSpec] = []
        for place, made in enumerate(
            compaction_kernels(
                population, self.schedule.tables[population.table].fields, self.sites, self.types, self.cuda
            )
        ):
            told = faults and made.closes, alarm and made.closes
            name = self._write(
                f"{phase}_{number}_{place}", {c: self.field(c) for c in made.columns}, *told, made.lines, []
            )
            looked = (
                [(WORLD, f"{population.table}__{n}") for n in ("pending", "changed", "count", "first")]
                if place == 0
                else []
            )
            spec = self._spec(
                name, made.rows, made.columns, *told, [settle.label], (looked, []), settle.reason, total=made.total
            )
            specs.append(replace(spec, whole_warps=made.whole_warps, first_of_entry=place == 0))
        return specs

    def kernel(self, phase: str, number: int, group: KernelGroup, as_stage: bool = False) -> KernelSpec:
        """The kernel of a group; ``as_stage`` makes it a function of its thread's number, for a joined kernel to call."""
        in_order = self._in_order(group)
        blocks = _blocks(group)
        columns: dict[ColumnKey, Field] = {}
        early = self._early_exit(blocks)
        walkers = 0 if as_stage or in_order or early != FINISHED else self._reset_threads(group)
        lines, loops = self._reset_loop(group.rows, walkers) if walkers else self._head(group, columns, in_order)
        once = "if lane == 0: " if group.threads > 1 else ""
        shared, local = self._placement(blocks)
        if early is not None:
            leave = f"if {'not ' if early[1] else ''}{self._load((WORLD, early[0]), columns)}: {'continue' if in_order or not self.cuda else 'return'}"
            if walkers:
                loops.insert(-1, leave)
            elif _WORLD in loops:  # all rows of a world at once
                loops.insert(loops.index(_WORLD) + 1, f"    {leave}")
            else:
                lines.append(leave)
        defined: set[ColumnKey] = set()
        for column in self._loads(blocks, shared):
            lines.append(f"{register_name(column)} = {self._load(column, columns, defined)}")
            defined.add(column)
        repeated = self._redundant_stores(blocks)
        for index, (mask, nodes) in enumerate(blocks):
            pad = ""
            if mask is not None and early is None:
                lines.append(f"if {'' if mask[1] else 'not '}{register_name((WORLD, mask[0]))}:")
                pad = "    "
            known = set(defined)
            for node, function in nodes:
                for column in function.target.inputs:
                    if column not in known and column in local[index]:
                        lines.append(f"{pad}{register_name(column)} = {self._load(column, columns, known)}")
                        known.add(column)
                lines.append(pad + function.call(node.ordinal))
                known |= set(function.target.outputs)
                columns.update(function.arrays)
            if group.threads > 1:  # nobody may still be loading what the first thread now stores
                lines.append(f"{pad}{barrier(group.threads)}()")
            changed = [c for c in local[index] if c not in repeated and any(c in f.target.outputs for _, f in nodes)]
            lines += [pad + once + self._store(column, columns) for column in changed]
            defined |= set() if mask is not None else known
        written = {c for _, nodes in blocks for _, f in nodes for c in f.target.outputs} - self.register_only - repeated
        lines += [once + self._store(column, columns) for column in shared if column in written]
        errors = any(f.target.faults for f in group.functions)
        if in_order or walkers:
            lines, loops = [*loops, *["    " * _depth(loops) + line for line in lines]], []
        name = self._write(f"{phase}_{number}", columns, errors, False, lines, loops, as_stage)
        threads, total = walkers or self._threads(group), None
        if group.population is not None and group.population.pooled:
            threads, total = 1, group.population.limit.batch if self.cuda and not in_order else None
            total = total if total is None else total * group.threads
        labels, moved = [n.label for n in group.nodes], self._memory_traffic(blocks, shared)
        spec = self._spec(
            name, threads, columns, errors, False, labels, moved, group.reason, threads=group.threads, total=total
        )
        return replace(spec, whose=group.whose)

    def _spec(
        self,
        name: str,
        rows: int,
        columns: Iterable[ColumnKey],
        errors: bool,
        alarm: bool,
        labels: Iterable[str],
        moved: tuple[list[ColumnKey], list[ColumnKey]],
        reason: str,
        whole_block: bool = False,
        threads: int = 1,
        total: int | None = None,
    ) -> KernelSpec:
        read, written = (sum(self._bytes(column) for column in found) for found in moved)
        loads, stores = (tuple(dict.fromkeys(found)) for found in moved)
        given = tuple(labels)
        return KernelSpec(
            name,
            rows,
            tuple(columns),
            errors,
            alarm,
            given,
            read,
            written,
            loads,
            stores,
            reason,
            whole_block,
            threads,
            total,
            whose=given[0],
        )

    def _write(
        self,
        name: str,
        columns: dict[ColumnKey, Field],
        errors: bool,
        alarm: bool,
        lines: list[str],
        loops: list[str],
        as_stage: bool = False,
    ) -> str:
        """Add the text of a kernel, or of a stage of one; the name of the one that does the same where there is one already.

        ``lines`` are run by every thread on CUDA, and on the CPU inside ``loops``.
        """
        head = [
            "first: wp.int32",
            "rows: wp.int32",
            "offset: wp.int32",
            *[f"{column_argument(c)}: {array_code(f, self.types)}" for c, f in columns.items()],
        ]
        head += ["errors: wp.array2d(dtype=wp.int32)"] if errors else []
        head += ["alarm: wp.array(dtype=wp.int32)"] if alarm else []
        thread, made = "thread_number()", "@wp.kernel(module=module, enable_backward=False)"
        if as_stage:
            name, head, thread, made = f"{name}_part", ["number: wp.int32", *head], "wp.int32(number)", "@wp.func"
        if self.cuda:
            body = "\n".join("    " + line for line in [f"thread = {thread}", *lines])
        else:
            body = "\n".join("    " + line for line in [*loops, *["    " * _depth(loops) + line for line in lines]])
        signature = f"({', '.join(head)}):\n{body}\n"
        if signature not in self.names_by_text:
            self.names_by_text[signature] = name
            self.texts.append(f"{made}\ndef {name}{signature}")
        return self.names_by_text[signature]

    def _head(self, group: KernelGroup, columns: dict[ColumnKey, Field], in_order: bool) -> tuple[list[str], list[str]]:
        """The lines that say which row it is, and the loops around them on the CPU, or of a thread that runs all rows of its world."""
        if group.pair is not None:
            text = PairLoopWriter(group.pair, self.schedule.counts, lambda name: self._load((WORLD, name), columns))
            return (text.threads(), []) if self.cuda and not in_order else text.loops(one_world=in_order)
        lanes = [f"lane = thread % {group.threads}", f"thread = thread / {group.threads}"] if group.threads > 1 else []
        if group.population is not None:
            lines, loops = self._population_head(group.population, columns, in_order)
        elif in_order:
            lines, loops = (
                [f"row = world * {group.rows} + slot"],
                ["world = first + thread", f"for slot in range({group.rows}):"],
            )
        elif group.rows == 1:
            lines, loops = ["world = first + thread", "row = world", "slot = wp.int32(0)"], [_ROWS]
        elif not self.cuda:
            lines, loops = (
                [f"row = world * {group.rows} + slot"],
                [f"for thread in range(rows / {group.rows}):", _WORLD, f"    for slot in range({group.rows}):"],
            )
        else:
            lines, loops = (
                [
                    f"row = first * {group.rows} + thread",
                    f"world = row / {group.rows}",
                    f"slot = row - world * {group.rows}",
                ],
                [],
            )
        return lanes + lines, loops

    def _reset_threads(self, group: KernelGroup) -> int:
        """Threads per world of a kernel for worlds whose episode is over, where each takes several rows; 0 for a thread per row.

        Most worlds have nothing to do in it, and the time goes into starting threads that find it out.
        """
        if (
            not self.cuda
            or group.rows < MANY_ROWS
            or group.threads > 1
            or group.population is not None
            or group.pair is not None
        ):
            return 0
        return -(-group.rows // (ROWS_PER_RESET_THREAD * WARP_SIZE)) * WARP_SIZE

    def _reset_loop(self, rows: int, walkers: int) -> tuple[list[str], list[str]]:
        """:meth:`_head` for threads that take several rows of their world, neighbours taking neighbouring ones."""
        loops = [
            f"lane = thread % {walkers}",
            f"world = first + thread / {walkers}",
            f"for slot in range(lane, {rows}, {walkers}):",
        ]
        return [f"row = world * {rows} + slot"], loops

    def _population_head(
        self, population: Population, columns: dict[ColumnKey, Field], in_order: bool
    ) -> tuple[list[str], list[str]]:
        """A thread for every row that there may be on CUDA; on the CPU a loop over those that there are."""
        most = population.limit.per_world
        count = f"wp.min({self._load((WORLD, f'{population.table}__count'), columns)}, {most})"
        if population.pooled:
            return self._pooled_head(population, count, columns, in_order)
        if in_order:
            return [f"row = world * {most} + slot"], ["world = first + thread", f"for slot in range({count}):"]
        if not self.cuda:
            loops = [f"for thread in range(rows / {most}):", _WORLD, f"    for slot in range({count}):"]
            return [f"row = world * {most} + slot"], loops
        lines = [f"row = first * {most} + thread", f"world = row / {most}", f"slot = row - world * {most}"]
        return [*lines, f"if slot >= {count}: return"], []

    def _redundant_stores(self, blocks: Blocks) -> set[ColumnKey]:
        """Of the columns that share memory, those that a kernel need not store.

        Where an observation is written last, it holds the components too; elsewhere they are stored alone, and it is not.
        """
        found: set[ColumnKey] = set()
        for whole in dict.fromkeys(home for home, _ in self.schedule.aliases.values()):
            parts = {part for part, (home, _) in self.schedule.aliases.items() if home == whole}
            behind: set[Mask | None] = set()
            for mask, nodes in blocks:
                for _, function in nodes:
                    outputs = set(function.target.outputs)
                    if parts & outputs:
                        behind.add(mask)
                    elif whole in outputs:
                        behind = set() if mask is None else behind - {mask}
            found |= {whole} if behind else parts
        return found

    def _pooled_head(
        self, population: Population, count: str, columns: dict[ColumnKey, Field], in_order: bool
    ) -> tuple[list[str], list[str]]:
        """A thread for every row of the batch on CUDA, which knows its world; on the CPU the rows of one world after the other."""
        start = self._load((WORLD, f"{population.table}__first"), columns)
        if in_order:
            return [f"row = {start} + slot"], ["world = first + thread", f"for slot in range({count}):"]
        if not self.cuda:
            return [f"row = {start} + slot"], [_ROWS, _WORLD, f"    for slot in range({count}):"]
        home = self._load((population.table, ROW_WORLD), columns)
        return [
            "row = thread",
            f"world = {home}",
            "if world < 0: return",
            f"slot = row - {start}",
            f"if slot < 0 or slot >= {count}: return",
        ], []

    def _load(self, column: ColumnKey, columns: dict[ColumnKey, Field], known: Collection[ColumnKey] = ()) -> str:
        """The value of this row in a column; ``known`` are those that the kernel holds already."""
        raw = (column[0], RAW_PREFIX + column[1])
        if raw in known:
            return ast.unparse(sanitize_action(ast.Name(register_name(raw), ast.Load()), self.field(column)))
        if column in self.schedule.aliases:
            whole, place = self.schedule.aliases[column]
            return f"{self._load(whole, columns)}[{place}]"
        held = column_in_memory(column)
        field, name = columns.setdefault(held, self.field(held)), column_argument(held)
        shared = (
            f"wp.min(world, {name}.shape[0] - 1)"  # a configuration holds one value for all worlds, or one for each
        )
        row = "row" if column[0] != WORLD else shared if field.role is Role.CONFIG else "world"
        get = (
            accessors.get_once if field.role is Role.ACTION and not field.shape else accessors.get
        )  # whoever acts next writes it anew
        value = get(ast.Name(name, ast.Load()), field, ast.parse(row, mode="eval").body)
        return ast.unparse(value if held != column else sanitize_action(value, field))

    def _store(self, column: ColumnKey, columns: dict[ColumnKey, Field]) -> str:
        if column in self.schedule.aliases:
            whole, place = self.schedule.aliases[column]
            field = columns.setdefault(whole, self.field(whole))
            return accessors.put_part_text(column_argument(whole), field, "row", place, register_name(column))
        field = columns.setdefault(column, self.field(column))
        put = (
            accessors.stream_text
            if self.cuda and column not in self.cached_columns and accessors.streams(field)
            else accessors.put_text
        )
        return put(column_argument(column), field, "world" if column[0] == WORLD else "row", register_name(column))

    def _early_exit(self, blocks: Blocks) -> Mask | None:
        """The mask that all systems of the kernel share: neighbours with one mask are one block."""
        return blocks[0][0] if len(blocks) == 1 else None

    def _placement(self, blocks: Blocks) -> tuple[list[ColumnKey], list[list[ColumnKey]]]:
        """Which columns live through the whole kernel, and which only inside one masked block."""
        touched: dict[ColumnKey, set[int]] = {}
        for index, (mask, nodes) in enumerate(blocks):
            for _, function in nodes:
                for column in (*function.target.inputs, *function.target.outputs):
                    touched.setdefault(column, set()).add(index)
            if mask is not None:
                touched.setdefault((WORLD, mask[0]), set()).add(-1)
        local: list[list[ColumnKey]] = [[] for _ in blocks]
        shared: list[ColumnKey] = []
        for column, places in touched.items():
            only = next(iter(places))
            if len(places) == 1 and only >= 0 and blocks[only][0] is not None:
                local[only].append(column)
            else:
                shared.append(column)
        return shared, local

    def _loads(self, blocks: Blocks, shared: list[ColumnKey]) -> list[ColumnKey]:
        """The shared columns that some system needs before any unmasked one has written them."""
        needed: list[ColumnKey] = []
        written: set[ColumnKey] = set()
        for mask, nodes in blocks:
            if mask is not None:
                needed += [c for c in [(WORLD, mask[0])] if c not in written and c not in needed]
            for _, function in nodes:
                wants = [*function.target.inputs, *(function.target.outputs if mask is not None else ())]
                needed += [c for c in wants if c in shared and c not in written and c not in needed]
                if mask is None:
                    written |= set(function.target.outputs)
        early = self._early_exit(blocks)
        needed.sort(
            key=lambda column: column == column_in_memory(column)
        )  # raw actions first: what systems see of them is made of these
        return [
            c
            for c in needed
            if early is None or c != (WORLD, early[0]) or any(c in f.target.inputs for _, n in blocks for _, f in n)
        ]

    def _memory_traffic(self, blocks: Blocks, shared: list[ColumnKey]) -> tuple[list[ColumnKey], list[ColumnKey]]:
        """The columns that one world loads and stores for sure at each launch, as often as it does; masked blocks count for nothing."""
        early = self._early_exit(blocks)
        if early is not None:
            return [(WORLD, early[0])], []
        loads = list(dict.fromkeys(map(column_in_memory, self._loads(blocks, shared))))
        written = (
            {c for _, nodes in blocks for _, f in nodes for c in f.target.outputs}
            - self.register_only
            - self._redundant_stores(blocks)
        )
        stores = [c for c in shared if c in written]
        if self.schedule.aliases:
            loads = list(dict.fromkeys(self.schedule.aliases.get(c, (c, 0))[0] for c in loads))
        for mask, nodes in blocks:
            if mask is None:
                for _, function in nodes:
                    target = function.target
                    loads += [c for c in target.columns if c not in target.local_write]
                    stores += sorted(target.local_write | target.remote_write)
        return loads, stores

    def _bytes(self, column: ColumnKey) -> int:
        """Bytes of one world's part of a column, however many of its threads look at it; configuration stays in the cache."""
        field = self.field(column)
        if field.role is Role.CONFIG:
            return 0
        each: int = wp.types.type_size_in_bytes(field.dtype)
        for n in field.shape:
            each *= n
        return each * self.schedule.counts.get(column[0], 1)


def _depth(loops: list[str]) -> int:
    return sum(line.endswith(":") for line in loops)


def register_only(parts: Iterable[FusedEntry], schedule: Schedule) -> set[ColumnKey]:
    """Transient columns that live and die in the registers of one kernel."""
    users: dict[ColumnKey, int] = {}
    for each in parts:
        if isinstance(each, LaunchNode):
            users.update(
                {column: users.get(column, 0) + 2 for column in each.columns}
            )  # its kernels find them in memory only
        if not isinstance(each, KernelGroup):
            continue
        masks = {(WORLD, n.mask[0]) for n in each.nodes if n.mask is not None}
        touched = masks.union(*[{*f.target.inputs, *f.target.outputs, *f.target.columns} for f in each.functions])
        for column in touched:
            users[column] = users.get(column, 0) + 1
    return {c for c, n in users.items() if n == 1 and schedule.field_of(c).transient}


Blocks = list[tuple[Mask | None, list[tuple[Any, Any]]]]


def _blocks(group: KernelGroup) -> Blocks:
    """Neighbouring systems with the same mask."""
    out: Blocks = []
    for node, function in zip(group.nodes, group.functions, strict=True):
        if not out or out[-1][0] != node.mask:
            out.append((node.mask, []))
        out[-1][1].append((node, function))
    return out
