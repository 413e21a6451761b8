"""Fusion: which systems share a kernel, and why the others do not."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worldloom.core.frontend.system import System
from worldloom.core.frontend.targets.kernel_function import KernelFunction
from worldloom.core.frontend.targets.kernel_names import column_in_memory
from worldloom.core.model.columns import WORLD, ColumnKey, FaultSites
from worldloom.core.model.launch import LaunchNode
from worldloom.core.model.pairs import Pair
from worldloom.core.model.population import Population, world_fields
from worldloom.core.model.row_list import ROWS, RowList, list_table
from worldloom.core.schedule.entries import CompactionNode, Entry, GridNode, HostNode, Schedule, SystemNode


@dataclass
class KernelGroup:
    """Systems that one kernel runs in order, with one or several threads per row.

    ``reason`` is why the system ``whose`` was not fused into an earlier kernel. It is the first one, apart from systems
    of earlier kernels that were moved here. ``world_list`` lists the worlds whose rows the kernel works through; None
    for all worlds. ``beside``: whether it runs beside all kernels of the step after it that are not.
    """

    rows: int
    reason: str
    population: Population | None = None
    pair: Pair | None = None
    threads: int = 1
    nodes: list[SystemNode] = field(default_factory=list)
    functions: list[KernelFunction] = field(default_factory=list)
    whose: str = ""
    world_list: RowList | None = None
    beside: bool = False

    @property
    def pooled(self) -> bool:
        """Whether its rows are those of a population that all worlds share."""
        return self.population is not None and self.population.pooled

    @property
    def where(self) -> tuple[str, int] | None:
        """The component and the value of the condition of its only system, if it has one."""
        where = self.nodes[0].system.where if self.nodes else None
        return None if where is None else (where.component, self.nodes[0].value)

    def add(self, node: SystemNode, function: KernelFunction) -> None:
        self.nodes.append(node)
        self.functions.append(function)
        self.whose = self.whose or node.label


@dataclass(frozen=True)
class TiledStages:
    """The stages of a tiled kernel, in order, see :mod:`worldloom.core.codegen.tiles.tile_fusion`."""

    groups: list[KernelGroup]

    @property
    def functions(self) -> list[KernelFunction]:
        return [function for group in self.groups for function in group.functions]


class KernelFunctions:
    """The Warp functions of a schedule, each generated once."""

    def __init__(
        self, schedule: Schedule, sites: FaultSites, types: dict[str, Any], exact: bool = False, cuda: bool = False
    ) -> None:
        self.schedule, self.sites, self.types, self.exact, self.cuda = schedule, sites, types, exact, cuda
        self.by_system: dict[tuple[System, str], KernelFunction] = {}
        self.names: dict[str, int] = {}

    def of(self, node: SystemNode) -> KernelFunction:
        key = (node.system, node.table)
        if key not in self.by_system:
            generate = functools.partial(
                node.system.kernel_function,
                node.view,
                self.schedule.counts,
                self.sites,
                self.types,
                self.exact,
                self.schedule.narrow,
            )
            function = generate(node.system.threads if self.cuda else 1)
            if function.target.in_order and function.target.threads > 1:
                function = generate(1)  # sums in a fixed order are not shared among threads
            same_name = self.names.setdefault(function.name, 0)
            self.names[function.name] += 1
            function.name += f"_{same_name}" if same_name else ""
            self.by_system[key] = function
        return self.by_system[key]


_FIRST = "it comes first"

FusedEntry = KernelGroup | TiledStages | HostNode | LaunchNode | CompactionNode | GridNode
"""An entry of a schedule after fusion: a kernel of systems, or an entry that runs between them."""


def fuse_systems(entries: list[Entry], schedule: Schedule, functions: KernelFunctions, fuse: bool) -> list[FusedEntry]:
    """Group systems into kernels with the results of one kernel per system, in order.

    A system joins the latest kernel that it fits into, past kernels that it is independent of. Callables keep their
    positions.
    """
    parts: list[FusedEntry] = []
    for entry in entries:
        if not isinstance(entry, SystemNode):
            parts.append(entry)
            continue
        function, rows = functions.of(entry), schedule.counts[entry.table]
        group = _find_group(parts, entry, function, rows, schedule) if fuse else "fusing is off"
        if isinstance(group, str):
            population = schedule.counts.populations.get(entry.table)
            pair = entry.view if isinstance(entry.view, Pair) else None
            group = KernelGroup(rows, group, population, pair, function.target.threads)
            parts.append(group)
        group.add(entry, function)
    return _sink(parts) if fuse else parts


def _sink(parts: list[FusedEntry]) -> list[FusedEntry]:
    """Move the systems of a kernel to the start of a later kernel over the same rows, where their order allows it."""
    entries = list(parts)
    for index in reversed(range(len(entries))):
        early = entries[index]
        later = _find_later_group(early, entries[index + 1 :]) if isinstance(early, KernelGroup) else None
        if isinstance(early, KernelGroup) and later is not None:
            later.nodes[:0], later.functions[:0] = early.nodes, early.functions
            del entries[index]
    if entries and isinstance(entries[0], KernelGroup):
        entries[0].reason = _FIRST
    return entries


def _find_later_group(early: KernelGroup, later: list[FusedEntry]) -> KernelGroup | None:
    """The first of the ``later`` kernels that can run the systems of ``early``, after everything before it."""
    for part in later:
        if isinstance(part, LaunchNode) and are_independent(part, early):
            continue
        if not isinstance(part, KernelGroup):
            return None
        same_rows = (
            part.rows == early.rows
            and part.nodes[0].table == early.nodes[0].table
            and early.pair is None
            and part.pair is None
        )
        systems = list(zip(part.nodes, part.functions, strict=True))
        if same_rows and all(_conflict(early, node, function) is None for node, function in systems):
            return part
        if any(_dependence(early, node, function) is not None for node, function in systems):
            return None
    return None


def are_independent(launch: LaunchNode, group: KernelGroup) -> bool:
    """Whether a launch and a kernel of systems can run in any order."""
    systems = zip(group.nodes, group.functions, strict=True)
    return all(launch.conflict(read_columns(n, f), written_columns(f)) is None for n, f in systems)


def _find_group(
    parts: list[FusedEntry], node: SystemNode, function: KernelFunction, rows: int, schedule: Schedule
) -> KernelGroup | str:
    """The kernel that a system joins, or the reason why there is none."""
    reason = f"no kernel before it has a thread for every {node.what}" if parts else _FIRST
    reads, writes = read_columns(node, function), written_columns(function)
    one_per_world = rows == 1 and node.table not in schedule.counts.populations and node.system.pair is None
    for candidate in reversed(parts):
        if isinstance(candidate, HostNode):
            return f"the callable {candidate.label} comes before it"
        if isinstance(candidate, LaunchNode):
            if dependence := candidate.conflict(reads, writes):
                access, column = dependence
                return f"it {access} {_describe_column({column}, node)}, and {candidate.label} comes before it"
            continue
        if isinstance(candidate, CompactionNode):
            if common := compaction_columns(candidate.population, schedule) & (reads | writes):
                return _after_compaction(candidate.population, common, node, function)
            continue
        if isinstance(candidate, GridNode):
            if candidate.touches(reads, writes):
                return f"it must not run before the {candidate.label}"
            continue
        assert isinstance(candidate, KernelGroup), "tiles are fused later"
        same_rows = candidate.rows == rows and (
            candidate.nodes[0].table == node.table
            or (one_per_world and candidate.population is None and candidate.pair is None)
        )
        conflict = _conflict(candidate, node, function) if same_rows else None
        if same_rows and conflict is None:
            return candidate
        dependent = _dependence(candidate, node, function)
        if dependent is not None:
            return conflict or f"it runs {_once_per(node)} and {dependent} {_once_per(candidate.nodes[0])}"
        reason = conflict or reason
    return reason


def _after_compaction(
    population: Population, common: set[ColumnKey], node: SystemNode, function: KernelFunction
) -> str:
    """Why a system runs after the compaction of a population; ``common`` are the columns that both use."""
    compaction = f"the compaction of {population.table} before it"
    if any(table != WORLD or name.startswith(f"{population.table}__") for table, name in common):
        return f"it uses {population.table}, whose spawns and despawns must be applied before"
    if function.target.faults and common <= {*_FAULT_CONTEXT, _FAULT_FLAG}:
        return f"it can report a fault, and so can {compaction}"
    access = "writes" if min(common) in written_columns(function) else "reads"
    return f"it {access} {_describe_column(common, node)}, and so does {compaction}"


def _dependence(group: KernelGroup, node: SystemNode, function: KernelFunction) -> str | None:
    """Why ``node`` cannot run before all of ``group``; None if it can."""
    reads, writes = read_columns(node, function), written_columns(function)
    for other, earlier in zip(group.nodes, group.functions, strict=True):
        if common := (written_columns(earlier) & (reads | writes)) - _both_flag_faults(earlier, function):
            access = "reads" if min(common) in reads else "writes"
            return f"{access} {_describe_column(common, node)}, which {other.label} writes"
        if common := read_columns(other, earlier) & writes:
            return f"writes {_describe_column(common, node)}, which {other.label} reads"
    return None


def _both_flag_faults(one: KernelFunction, two: KernelFunction) -> set[ColumnKey]:
    """The flag of a world at fault, if both systems only set it: then their order does not matter."""
    only_set = [
        f.target.faults and _FAULT_FLAG not in {*f.target.inputs, *f.target.columns, *f.target.outputs}
        for f in (one, two)
    ]
    return {_FAULT_FLAG} if all(only_set) else set()


def _conflict(group: KernelGroup, node: SystemNode, function: KernelFunction) -> str | None:
    """Why ``node`` cannot run in the kernel of ``group``; None if it can.

    The rows of a kernel run in no fixed order, so no row may read or write what another row writes in the same kernel.
    Kinds with one entity per world share the world's thread.
    """
    target = function.target
    own = node.system.where and (node.system.where.component, node.value)
    for where in (own, group.where):
        if where is not None:
            return f"the entities whose '{where[0]}' is {where[1]} have a kernel of their own"
    if node.system.together != group.nodes[0].system.together:
        return "only one of the two has together=True"
    if node.system.concurrent or group.nodes[0].system.concurrent:
        return "one of the two has concurrent=True"
    if target.threads > 1:
        return f"{target.threads} threads share each of its entities"
    if group.threads > 1:
        return f"{group.threads} threads share each entity of {group.nodes[0].label}"
    if target.in_order != group.functions[0].target.in_order:
        return "its rows run one after the other, to add real numbers in a fixed order"
    used = read_columns(node, function) | set(target.outputs)
    written = set(target.outputs) | target.local_write | target.remote_write
    for earlier_node, earlier in zip(group.nodes, group.functions, strict=True):
        before, label = earlier.target, earlier_node.label
        if common := before.remote_write & used:
            access = "writes" if min(common) in written else "reads"
            return f"it {access} {_describe_column(common, node)}, which {label} changes from other rows"
        if target.faults and set(before.outputs) & _FAULT_CONTEXT:
            return f"it can report a fault, which contains the step and the episode, which {label} writes"
        if common := (set(before.outputs) | before.local_write) & (target.remote_read | target.remote_write):
            access = "changes" if min(common) in target.remote_write else "reads"
            return f"it {access} {_describe_column(common)}, which {label} writes"
        if common := before.remote_read & written:
            return f"it writes {_describe_column(common, node)}, which {label} reads from other rows"
        if common := read_columns(earlier_node, earlier) & target.remote_write:
            return f"it changes {_describe_column(common)}, which {label} reads"
    return None


def _describe_column(columns: set[ColumnKey], own: SystemNode | None = None) -> str:
    """The first of some columns in the user's terms; of the row of ``own``, or of any row."""
    table, name = min(columns)
    if table == WORLD:
        return f"'{name}' of the world"
    return f"its own '{name}'" if own is not None and own.table == table else f"'{name}' of any {table}"


def _once_per(node: SystemNode) -> str:
    return "once per world" if node.table == WORLD else f"for every {node.what}"


_FAULT_FLAG: ColumnKey = (WORLD, "broken")
_FAULT_CONTEXT: set[ColumnKey] = {(WORLD, "step"), (WORLD, "episode")}


def read_columns(node: SystemNode, function: KernelFunction) -> set[ColumnKey]:
    """Every column that a system reads, including those of faults."""
    target = function.target
    mask: set[ColumnKey] = set() if node.mask is None else {(WORLD, node.mask[0])}
    faults = _FAULT_CONTEXT if target.faults else set()
    row_columns: set[ColumnKey] = {
        (WORLD, f"{table}__{n}")
        for table in node.tables
        if table in target.counts.populations
        for n in ("count", "first")
    }
    where = node.system.where
    condition: set[ColumnKey] = set()
    if where is not None:
        condition = {(node.table, where.component), (list_table(node.table, where.component), ROWS)}
    return {column_in_memory(c) for c in target.inputs} | set(target.columns) | mask | faults | row_columns | condition


def compaction_columns(population: Population, schedule: Schedule) -> set[ColumnKey]:
    """Every column that a compaction reads or writes."""
    own = {
        (table, name) for table in (population.table, population.new_table) for name in schedule.tables[table].fields
    } - set(schedule.counts.aliased_columns.values())
    counts = {(WORLD, name) for name in world_fields(population.table, population.pooled)}
    scratch = {(population.scratch_table, name) for name in schedule.scratch.get(population.scratch_table, {})}
    return {*own, *counts, *scratch, *_FAULT_CONTEXT, _FAULT_FLAG}


def written_columns(function: KernelFunction) -> set[ColumnKey]:
    """Every column that a system writes, including those of faults."""
    target = function.target
    faults: set[ColumnKey] = {_FAULT_FLAG} if target.faults else set()
    return set(target.outputs) | target.local_write | target.remote_write | faults


def note_changes(groups: Iterable[KernelGroup], aliases: Mapping[ColumnKey, tuple[ColumnKey, int]]) -> None:
    """Tell the systems of one kernel which columns change while it runs; all others are loaded as constants.

    ``aliases`` are the columns that share the memory of others.
    """
    functions = [function for group in groups for function in group.functions]
    changing = {column for function in functions for column in written_columns(function)}
    for part, (whole, _) in aliases.items():
        if part in changing or whole in changing:
            changing |= {part, whole}
    for function in functions:
        function.changing = (function.changing or set()) | changing
