"""Which systems become one kernel, and why the others do not."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from worldloom.core.frontend.system import KernelFunction, System
from worldloom.core.frontend.targets.kernel_names import column_in_memory
from worldloom.core.model.columns import WORLD, ColumnKey, FaultSites
from worldloom.core.model.launch import LaunchNode
from worldloom.core.model.pairs import Pair
from worldloom.core.model.population import Population, world_fields
from worldloom.core.schedule.schedule import CompactionNode, Entry, GridNode, HostNode, Schedule, SystemNode


@dataclass
class KernelGroup:
    """Systems that one kernel runs one after the other, each row in a thread of its own, or in several.

    ``reason`` says why one of them, called ``whose``, did not join an earlier kernel: the first, but for those that waited for it.
    """

    rows: int
    reason: str
    population: Population | None = None
    pair: Pair | None = None
    threads: int = 1
    nodes: list[SystemNode] = field(default_factory=list)
    functions: list[KernelFunction] = field(default_factory=list)
    whose: str = ""

    def add(self, node: SystemNode, function: KernelFunction) -> None:
        self.nodes.append(node)
        self.functions.append(function)
        self.whose = self.whose or node.label


class KernelFunctions:
    """The Warp functions of a schedule, each made once."""

    def __init__(
        self, schedule: Schedule, sites: FaultSites, types: dict[str, Any], exact: bool = False, cuda: bool = False
    ) -> None:
        self.schedule, self.sites, self.types, self.exact, self.cuda = schedule, sites, types, exact, cuda
        self.by_system: dict[tuple[System, str], KernelFunction] = {}
        self.names: dict[str, int] = {}

    def of(self, node: SystemNode) -> KernelFunction:
        key = (node.system, node.table)
        if key not in self.by_system:
            made = functools.partial(
                node.system.kernel_function, node.view, self.schedule.counts, self.sites, self.types, self.exact
            )
            function = made(node.system.threads if self.cuda else 1)
            if function.target.in_order and function.target.threads > 1:
                function = made(1)  # what must be added in order is not shared
            twins = self.names.setdefault(function.name, 0)
            self.names[function.name] += 1
            function.name += f"_{twins}" if twins else ""
            self.by_system[key] = function
        return self.by_system[key]


_FIRST = "it comes first"

FusedEntry = KernelGroup | HostNode | LaunchNode | CompactionNode | GridNode
"""What a schedule becomes: kernels, and what runs between them."""


def group(entries: list[Entry], schedule: Schedule, functions: KernelFunctions, fuse: bool) -> list[FusedEntry]:
    """Put systems into kernels so that every row sees what it would have seen with a kernel for each, in order.

    A system joins the latest kernel that it fits into, past kernels that it has nothing to do with. Callables stay where
    they are.
    """
    out: list[FusedEntry] = []
    for entry in entries:
        if not isinstance(entry, SystemNode):
            out.append(entry)
            continue
        function, rows, population = (
            functions.of(entry),
            schedule.counts[entry.table],
            schedule.counts.populations.get(entry.table),
        )
        home = _find_group(out, entry, function, rows, schedule) if fuse else "fusing is off"
        if isinstance(home, str):
            home = KernelGroup(
                rows, home, population, entry.view if isinstance(entry.view, Pair) else None, function.target.threads
            )
            out.append(home)
        home.add(entry, function)
    return _sink(out) if fuse else out


def _sink(parts: list[FusedEntry]) -> list[FusedEntry]:
    """The same kernels, but for those that may as well wait for a later one over the same rows, and become its first systems."""
    out = list(parts)
    place = len(out) - 1
    while place >= 0:
        early = out[place]
        later = _find_later_group(early, out[place + 1 :]) if isinstance(early, KernelGroup) else None
        if isinstance(early, KernelGroup) and later is not None:
            later.nodes[:0], later.functions[:0] = early.nodes, early.functions
            del out[place]
        place -= 1
    if out and isinstance(out[0], KernelGroup):
        out[0].reason = _FIRST
    return out


def _find_later_group(early: KernelGroup, behind: list[FusedEntry]) -> KernelGroup | None:
    """The first kernel that can take in the systems of ``early``, which then run after all that comes before it."""
    for part in behind:
        if isinstance(part, LaunchNode) and all(
            part.conflict(_reads(n, f), _writes(f)) is None for n, f in zip(early.nodes, early.functions, strict=True)
        ):
            continue
        if not isinstance(part, KernelGroup):
            return None
        alike = (
            part.rows == early.rows
            and part.nodes[0].table == early.nodes[0].table
            and early.pair is None
            and part.pair is None
        )
        systems = list(zip(part.nodes, part.functions, strict=True))
        if alike and all(_conflict(early, node, function) is None for node, function in systems):
            return part
        if any(_dependence(early, node, function) is not None for node, function in systems):
            return None
    return None


def _find_group(
    out: list[FusedEntry], node: SystemNode, function: KernelFunction, rows: int, schedule: Schedule
) -> KernelGroup | str:
    """The kernel that a system joins, or why there is none."""
    why = f"no kernel before it has a thread for every {node.what}" if out else _FIRST
    shares = rows == 1 and node.table not in schedule.counts.populations and node.system.pair is None
    for candidate in reversed(out):
        if isinstance(candidate, HostNode):
            return f"the callable {candidate.label} comes before it"
        if isinstance(candidate, LaunchNode):
            if conflict := candidate.conflict(_reads(node, function), _writes(function)):
                return (
                    f"it {conflict[0]} {_describe_column({conflict[1]}, node)}, and {candidate.label} comes before it"
                )
            continue
        if isinstance(candidate, CompactionNode):
            if found := compaction_columns(candidate.population, schedule) & (
                _reads(node, function) | _writes(function)
            ):
                return _after_compaction(candidate.population, found, node, function)
            continue
        if isinstance(candidate, GridNode):
            if candidate.touches(_reads(node, function), _writes(function)):
                return f"it must not run before the {candidate.label}"
            continue
        alike = candidate.rows == rows and (
            candidate.nodes[0].table == node.table
            or (shares and candidate.population is None and candidate.pair is None)
        )
        clash = _conflict(candidate, node, function) if alike else None
        if alike and clash is None:
            return candidate
        needs = _dependence(candidate, node, function)
        if needs is not None:
            return clash or f"it runs {_once_per(node)} and {needs} {_once_per(candidate.nodes[0])}"
        why = clash or why
    return why


def _after_compaction(population: Population, found: set[ColumnKey], node: SystemNode, function: KernelFunction) -> str:
    """Why a system comes after the settlement of a population; ``found`` are the columns that both use, which need not be the population's."""
    settlement = f"the settlement of {population.table} before it"
    if any(table != WORLD or name.startswith(f"{population.table}__") for table, name in found):
        return f"it looks at {population.table}, which must be settled before"
    if function.target.faults and found <= {*_FAULT_CONTEXT, _FAULT_FLAG}:
        return f"it can report a fault, and so can {settlement}"
    return f"it {'writes' if min(found) in _writes(function) else 'reads'} {_describe_column(found, node)}, and so does {settlement}"


def _dependence(group: KernelGroup, node: SystemNode, function: KernelFunction) -> str | None:
    """Why ``node`` may not just as well run before all of ``group``; None where it may."""
    reads, writes = _reads(node, function), _writes(function)
    for other, earlier in zip(group.nodes, group.functions, strict=True):
        if found := (_writes(earlier) & (reads | writes)) - _both_flag_faults(earlier, function):
            return f"{'reads' if min(found) in reads else 'writes'} {_describe_column(found, node)}, which {other.label} writes"
        if found := _reads(other, earlier) & writes:
            return f"writes {_describe_column(found, node)}, which {other.label} reads"
    return None


def _both_flag_faults(one: KernelFunction, two: KernelFunction) -> set[ColumnKey]:
    """The mark of a world at fault, where two systems only ever set it, so that their order does not matter."""
    only = [
        f.target.faults and _FAULT_FLAG not in {*f.target.inputs, *f.target.columns, *f.target.outputs}
        for f in (one, two)
    ]
    return {_FAULT_FLAG} if all(only) else set()


def _conflict(group: KernelGroup, node: SystemNode, function: KernelFunction) -> str | None:
    """Why ``node`` may not run in the kernel of ``group``, before other rows have finished what came earlier in it; None where it may.

    Rows of one kernel run in no order, so nothing that one row writes may be read or written by another row in the same
    kernel. Kinds with one entity per world share the world's thread.
    """
    target = function.target
    if target.threads > 1:
        return f"{target.threads} threads share each of its entities"
    if group.threads > 1:
        return f"{group.threads} threads share each entity of {group.nodes[0].label}"
    if target.in_order != group.functions[0].target.in_order:
        return "its rows run one after the other, to add real numbers in a fixed order"
    touched, written = (
        _reads(node, function) | set(target.outputs),
        set(target.outputs) | target.local_write | target.remote_write,
    )
    for earlier_node, earlier in zip(group.nodes, group.functions, strict=True):
        before, who = earlier.target, earlier_node.label
        if found := before.remote_write & touched:
            return f"it {'writes' if min(found) in written else 'reads'} {_describe_column(found, node)}, which {who} changes from other rows"
        if target.faults and set(before.outputs) & _FAULT_CONTEXT:
            return f"it can report a fault, and a fault tells the step and the episode, which {who} writes"
        if found := (set(before.outputs) | before.local_write) & (target.remote_read | target.remote_write):
            return f"it {'changes' if min(found) in target.remote_write else 'reads'} {_describe_column(found)}, which {who} writes"
        if found := before.remote_read & written:
            return f"it writes {_describe_column(found, node)}, which {who} reads from other rows"
        if found := _reads(earlier_node, earlier) & target.remote_write:
            return f"it changes {_describe_column(found)}, which {who} reads"
    return None


def _describe_column(columns: set[ColumnKey], own: SystemNode | None = None) -> str:
    """The first of some columns, as the user knows it; of the row of ``own``, or of any row."""
    table, name = min(columns)
    if table == WORLD:
        return f"'{name}' of the world"
    return f"its own '{name}'" if own is not None and own.table == table else f"'{name}' of any {table}"


def _once_per(node: SystemNode) -> str:
    return "once per world" if node.table == WORLD else f"for every {node.what}"


_FAULT_FLAG: ColumnKey = (WORLD, "broken")
_FAULT_CONTEXT: set[ColumnKey] = {(WORLD, "step"), (WORLD, "episode")}


def _reads(node: SystemNode, function: KernelFunction) -> set[ColumnKey]:
    """Every column that a system looks at, faults included."""
    target = function.target
    mask: set[ColumnKey] = set() if node.mask is None else {(WORLD, node.mask[0])}
    faults = _FAULT_CONTEXT if target.faults else set()
    places: set[ColumnKey] = {
        (WORLD, f"{table}__{n}")
        for table in node.tables
        if table in target.counts.populations
        for n in ("count", "first")
    }
    return {column_in_memory(c) for c in target.inputs} | set(target.columns) | mask | faults | places


def compaction_columns(population: Population, schedule: Schedule) -> set[ColumnKey]:
    """Every column that a settlement looks at or changes."""
    own = {
        (table, name) for table in (population.table, population.new_table) for name in schedule.tables[table].fields
    }
    kept = {(WORLD, name) for name in world_fields(population.table, population.pooled)}
    notes = {(population.scratch_table, name) for name in schedule.scratch.get(population.scratch_table, {})}
    return {*own, *kept, *notes, *_FAULT_CONTEXT, (WORLD, "broken")}


def _writes(function: KernelFunction) -> set[ColumnKey]:
    """Every column that a system changes, faults included."""
    target = function.target
    faults: set[ColumnKey] = {_FAULT_FLAG} if target.faults else set()
    return set(target.outputs) | target.local_write | target.remote_write | faults
