"""The order of things: which system runs when, for which worlds, and which neighbours become one kernel."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from worldloom.core import lifecycle, scratch
from worldloom.core.entity import World
from worldloom.core.fields import Field
from worldloom.core.grid import Grid
from worldloom.core.lifecycle import TableView
from worldloom.core.pairs import Pair
from worldloom.core.population import Population, world_fields
from worldloom.core.registry import Definition, Step
from worldloom.core.rewrite.kernel_target import WORLD, Column, Rows, Sites
from worldloom.core.sharing import Sharing
from worldloom.core.system import KernelFunction, System

Autoreset = Literal["same_step", "next_step", "disabled"]
Mask = tuple[str, bool]
"""A truth value of the world, and what it must be for a system to run."""

FINISHED: Mask = ("finished", True)
CHOSEN: Mask = ("reset_mask", True)
FAULTY: Mask = ("faulty", True)
RESETTING: Mask = ("resetting", True)
STEPPING: Mask = ("resetting", False)


@dataclass(frozen=True)
class Node:
    """One system, run over one table or over the pairs of two, for all worlds or for those that ``mask`` picks.

    ``ordinal`` tells its random numbers from those of other systems and tables.
    """

    system: System
    view: TableView | Pair
    mask: Mask | None
    ordinal: int

    @property
    def table(self) -> str:
        return self.view.__name__

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables whose rows it runs over."""
        return self.view.tables if isinstance(self.view, Pair) else (self.table,)

    @property
    def what(self) -> str:
        """What it runs for, in words."""
        return f"pair of {' and '.join(dict.fromkeys(self.tables))}" if isinstance(self.view, Pair) else self.table

    @property
    def label(self) -> str:
        if isinstance(self.view, Pair):
            return f"{self.system.name}({self.view.label})"
        return self.system.name if self.table == WORLD or self.system.engine else f"{self.system.name}({self.table})"


@dataclass(frozen=True)
class HostNode:
    """A callable that is handed the simulation between two kernels."""

    call: Callable[[Any], None]

    @property
    def label(self) -> str:
        return getattr(self.call, "__name__", repr(self.call))


@dataclass(frozen=True)
class Settle:
    """Bring a population up to date: those that leave make room, and the new ones follow behind in the order they were spawned in."""

    population: Population

    @property
    def label(self) -> str:
        return f"settle {self.population.table}"

    @property
    def reason(self) -> str:
        """Why it has kernels of its own."""
        return f"it settles who comes and who leaves among all {self.population.table}"


@dataclass(frozen=True)
class BuildGrid:
    """Sort the entities of a kind into the cells of a grid, in all worlds or in those that ``mask`` picks."""

    grid: Grid
    mask: Mask | None

    @property
    def label(self) -> str:
        return self.grid.label

    def touches(self, reads: set[Column], writes: set[Column]) -> bool:
        """Whether something that reads and writes these columns must stay on its side of it."""
        table = self.grid.table
        mask: set[Column] = set() if self.mask is None else {(WORLD, self.mask[0])}
        source = {(table, self.grid.by), (WORLD, f"{table}__count"), (WORLD, f"{table}__first"), *mask}
        made = {(WORLD, name) for name in self.grid.fields}
        return bool(made & (reads | writes) or source & writes)


Entry = Node | HostNode | Settle | BuildGrid


@dataclass
class Schedule:
    """Everything that runs: ``step`` once per step, ``reset`` for the worlds whose ``reset_mask`` is set.

    ``scratch`` are the columns of memory that means nothing between two steps, by table and name.
    """

    tables: dict[str, TableView]
    counts: Rows
    step: list[Entry]
    reset: list[Entry]
    scratch: dict[str, dict[str, Field]] = field(default_factory=dict)
    sharing: Sharing = field(default_factory=dict)

    def field_of(self, column: Column) -> Field:
        """The field of one of the columns that kernels take."""
        table, name = column
        return self.scratch[table][name] if table in self.scratch else self.tables[table].fields[name]


def plan(definition: Definition, autoreset: Autoreset, checks: bool) -> Schedule:
    """The schedule of a definition. ``checks`` looks for actions out of range and numbers that are not finite."""
    tables = lifecycle.views(definition, keep_final=autoreset == "same_step")
    world = tables[WORLD].kind
    assert issubclass(world, World)
    entities = [tables[k.__name__] for k in definition.entities]
    every = [tables[WORLD], *entities]
    lasting = [v for v in every if v.__name__ not in definition.populations]
    populations = list(definition.populations.values())
    agents = [(v, *lifecycle.agent_flags(v, world)) for v in entities if "active" in v.fields]
    ordinals = _ordinals(definition)

    def engine(systems: Iterable[System | None], mask: Mask | None = None, views: list[TableView] | None = None) -> list[Entry]:
        found = list(systems)
        over = views or [tables[WORLD]] * len(found)
        return [Node(s, v, mask, 0) for s, v in zip(found, over, strict=True) if s is not None]

    def user(phase: str, steps: tuple[Step, ...], mask: Mask | None) -> list[Entry]:
        made: list[Entry] = []
        for place, entry in enumerate(steps):
            if not isinstance(entry, System):
                made.append(HostNode(entry))
                continue
            made += [Node(entry, _view(entry, name, tables), mask, ordinals[phase, place, name]) for name in _tables_of(definition, entry)]
        return made

    def begin(mask: Mask) -> list[Entry]:
        """A new episode for the worlds of ``mask``."""
        return [
            *engine([lifecycle.begin_episode(world)], mask),
            *engine([lifecycle.clear_state(v, world) for v in lasting], mask, lasting),
            *engine([lifecycle.clear_population(p, world) for p in populations], mask),
            *engine([back for *_, back in agents], mask, [v for v, *_ in agents]),
            *user("reset", definition.reset, mask),
        ]

    actions = [lifecycle.check_actions(v, world) if checks else (None, None) for v in every]
    numbers = [lifecycle.check_finite(v, world, observations=False) if checks else (None, None) for v in every]
    seen = [lifecycle.check_finite(v, world, observations=True) if checks else (None, None) for v in every]

    def check(pairs: list[tuple[System | None, System | None]], mask: Mask | None) -> list[Entry]:
        """Raise the flags of all tables, then find words for those that are up."""
        return [*engine([find for find, _ in pairs], mask, every), *engine([name for _, name in pairs], FAULTY, every)]

    def look() -> list[Entry]:
        """The observations of all worlds, and the end of those that are not finite."""
        found = check(seen, None)
        if found:
            found += [*engine([lifecycle.give_up(world)]), *engine([tell for _, _, tell, _ in agents], FAULTY, [v for v, *_ in agents])]
        return [*user("observe", definition.observe, None), *found]

    stepping = STEPPING if autoreset == "next_step" else None
    first = lifecycle.begin_step_or_reset(world) if autoreset == "next_step" else lifecycle.begin_step(world)
    step = [
        *engine([first]),
        *engine([lifecycle.clear_population(p, world) for p in populations if p.event]),
        *engine([lifecycle.clear_rewards(v, world) for v in every], None, every),
        *engine([clear for _, clear, *_ in agents], None, [v for v, *_ in agents]),
        *check(actions, stepping),
        *user("step", definition.step, stepping),
        *check(numbers, stepping),
        *engine([lifecycle.everyone_left(definition, tables)], stepping),
        *engine([lifecycle.advance(world)], stepping),
        *engine([tell for _, _, tell, _ in agents], stepping, [v for v, *_ in agents]),
    ]
    if autoreset == "next_step":
        step += [*begin(RESETTING), *engine([lifecycle.settle(world)], RESETTING), *look()]
    else:
        step += look()
    if autoreset == "same_step":
        kept = engine([lifecycle.keep_final(v, world) for v in lasting], FINISHED, lasting)
        step += [*kept, *begin(FINISHED), *user("observe", definition.observe, FINISHED)]
    reset = [
        *begin(CHOSEN),
        *engine([lifecycle.clear_rewards(v, world) for v in every], CHOSEN, every),
        *engine([clear for _, clear, *_ in agents], CHOSEN, [v for v, *_ in agents]),
        *user("observe", definition.observe, CHOSEN),
        *engine([lifecycle.forget(world)], CHOSEN),
    ]
    pairs = {s.pair.__name__: s.pair.most(definition.rows) for s in definition.systems if s.pair is not None}
    counts = Rows({WORLD: 1, **definition.rows, **{p.new_table: p.stage for p in populations}, **pairs}, definition.populations)
    notes = {p.scratch_table: scratch.fields(p, tables[p.table].fields) for p in populations if p.pooled}
    step, reset = (_with_grids(_settled(entries, definition), definition) for entries in (step, reset))
    return Schedule(tables, counts, step, reset, notes)


def _settled(entries: list[Entry], definition: Definition) -> list[Entry]:
    """Put in the settlements: before whatever looks at a population that has changed, and at the end."""
    out: list[Entry] = []
    born: set[str] = set()
    left: set[str] = set()

    def settle(tables: Iterable[str]) -> None:
        for name, population in definition.populations.items():
            if name in tables and name in born | left:
                out.append(Settle(population))
                born.discard(name)
                left.discard(name)

    for entry in entries:
        if isinstance(entry, Node):
            access = entry.system.access
            cleared = {n for n in definition.populations if entry.system.engine and entry.system.name == f"clear_{n}"}
            judges = entry.system.engine and entry.system.name in _JUDGES
            settle(definition.populations if judges else {*entry.tables, *(k.__name__ for k in access.kinds), *cleared})
            spawned = {k.__name__ for k in access.spawns}
            settle(spawned & left)  # who has left makes room for the new ones
            born |= spawned
            left |= {entry.table if k is None else k.__name__ for k in access.despawns}
            born |= {n for n in cleared if definition.populations[n].pooled}  # the rows that it leaves behind are to be used again
        else:
            settle(definition.populations)
        out.append(entry)
    settle(definition.populations)
    return out


def _with_grids(entries: list[Entry], definition: Definition) -> list[Entry]:
    """Put in the grids: before a system that looks into one, unless it was made before and nothing it depends on has changed since.

    Nothing is known of what happened before the first entry: columns may be changed from outside.
    """
    out: list[Entry] = []
    made: dict[tuple[str, str], Mask | None] = {}
    for entry in entries:
        for kind, by in entry.system.access.near if isinstance(entry, Node) else ():
            assert isinstance(entry, Node)
            key = (kind.__name__, by)
            if key not in made or made[key] not in (None, entry.mask):
                out.append(BuildGrid(definition.grids[key], entry.mask))
                made[key] = entry.mask
        out.append(entry)
        made = {key: mask for key, mask in made.items() if not _outdates(entry, key, mask, definition)}
    return out


def _outdates(entry: Entry, key: tuple[str, str], mask: Mask | None, definition: Definition) -> bool:
    """Whether a grid, made for the worlds of ``mask``, may no longer be right after ``entry``."""
    if isinstance(entry, Settle):
        return entry.population.table == key[0]
    if not isinstance(entry, Node):
        return isinstance(entry, HostNode)
    access = entry.system.access
    written: set[Column] = {(entry.table, name) for name in access.own_write} | {(k.__name__, name) for k, name in access.other_write}
    written |= {(WORLD, name) for name in access.world_write}
    emptied = entry.system.engine and key[0] in definition.populations and entry.system.name == f"clear_{key[0]}"
    return emptied or key in written or (mask is not None and (WORLD, mask[0]) in written)


_JUDGES = ("end_step", "forget_episode")
"""The engine's systems that ask whether a world is at fault: who did not fit must be known by then."""


def _view(system: System, table: str, tables: dict[str, TableView]) -> TableView | Pair:
    return tables[table] if system.pair is None else Pair(*(tables[name] for name in system.pair.tables))


def _tables_of(definition: Definition, system: System) -> list[str]:
    if system.pair is not None:
        return [system.pair.__name__]
    return [WORLD] if system.over_world else [k.__name__ for k in definition.kinds_of(system)]


def _ordinals(definition: Definition) -> dict[tuple[str, int, str], int]:
    """A number for every system, place in the schedule and table, the same whatever the autoreset."""
    phases = (("reset", definition.reset), ("step", definition.step), ("observe", definition.observe))
    keys = [
        (phase, place, table)
        for phase, entries in phases
        for place, entry in enumerate(entries)
        if isinstance(entry, System)
        for table in _tables_of(definition, entry)
    ]
    return {key: number for number, key in enumerate(keys, start=1)}


@dataclass
class Group:
    """Systems that one kernel runs one after the other, each row in a thread of its own, or in several.

    ``reason`` says why the first of them did not join an earlier kernel.
    """

    rows: int
    reason: str
    population: Population | None = None
    pair: Pair | None = None
    threads: int = 1
    nodes: list[Node] = field(default_factory=list)
    functions: list[KernelFunction] = field(default_factory=list)

    def add(self, node: Node, function: KernelFunction) -> None:
        self.nodes.append(node)
        self.functions.append(function)


class Functions:
    """The Warp functions of a schedule, each made once."""

    def __init__(self, schedule: Schedule, sites: Sites, types: dict[str, Any], exact: bool = False, cuda: bool = False) -> None:
        self.schedule, self.sites, self.types, self.exact, self.cuda = schedule, sites, types, exact, cuda
        self.made: dict[tuple[System, str], KernelFunction] = {}
        self.names: dict[str, int] = {}

    def of(self, node: Node) -> KernelFunction:
        key = (node.system, node.table)
        if key not in self.made:
            made = functools.partial(node.system.kernel_function, node.view, self.schedule.counts, self.sites, self.types, self.exact)
            function = made(node.system.threads if self.cuda else 1)
            if function.target.in_order and function.target.threads > 1:
                function = made(1)  # what must be added in order is not shared
            twins = self.names.setdefault(function.name, 0)
            self.names[function.name] += 1
            function.name += f"_{twins}" if twins else ""
            self.made[key] = function
        return self.made[key]


Part = Group | HostNode | Settle | BuildGrid
"""What a schedule becomes: kernels, and what runs between them."""


def group(entries: list[Entry], schedule: Schedule, functions: Functions, fuse: bool) -> list[Part]:
    """Put systems into kernels so that every row sees what it would have seen with a kernel for each, in order.

    A system joins the latest kernel that it fits into, past kernels that it has nothing to do with. Callables stay where
    they are.
    """
    out: list[Part] = []
    for entry in entries:
        if not isinstance(entry, Node):
            out.append(entry)
            continue
        function, rows, population = functions.of(entry), schedule.counts[entry.table], schedule.counts.populations.get(entry.table)
        home = _home(out, entry, function, rows, schedule) if fuse else "fusing is off"
        if isinstance(home, str):
            home = Group(rows, home, population, entry.view if isinstance(entry.view, Pair) else None, function.target.threads)
            out.append(home)
        home.add(entry, function)
    return out


def _home(out: list[Part], node: Node, function: KernelFunction, rows: int, schedule: Schedule) -> Group | str:
    """The kernel that a system joins, or why there is none."""
    why = f"no kernel before it has a thread for every {node.what}" if out else "it comes first"
    shares = rows == 1 and node.table not in schedule.counts.populations and node.system.pair is None
    for candidate in reversed(out):
        if isinstance(candidate, HostNode):
            return f"the callable {candidate.label} comes before it"
        if isinstance(candidate, Settle):
            if settle_columns(candidate.population, schedule) & (_reads(node, function) | _writes(function)):
                return f"it looks at {candidate.population.table}, which must be settled before"
            continue
        if isinstance(candidate, BuildGrid):
            if candidate.touches(_reads(node, function), _writes(function)):
                return f"it must not run before the {candidate.label}"
            continue
        alike = candidate.rows == rows and (candidate.nodes[0].table == node.table or (shares and candidate.population is None and candidate.pair is None))
        clash = _clash(candidate, node, function) if alike else None
        if alike and clash is None:
            return candidate
        needs = _dependence(candidate, node, function)
        if needs is not None:
            return clash or f"it runs {_once_per(node)} and {needs} {_once_per(candidate.nodes[0])}"
        why = clash or why
    return why


def _dependence(group: Group, node: Node, function: KernelFunction) -> str | None:
    """Why ``node`` may not just as well run before all of ``group``; None where it may."""
    reads, writes = _reads(node, function), _writes(function)
    for other, earlier in zip(group.nodes, group.functions, strict=True):
        if found := _writes(earlier) & (reads | writes):
            return f"{'reads' if min(found) in reads else 'writes'} {_words(found, node)}, which {other.label} writes"
        if found := _reads(other, earlier) & writes:
            return f"writes {_words(found, node)}, which {other.label} reads"
    return None


def _clash(group: Group, node: Node, function: KernelFunction) -> str | None:
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
    touched, written = _reads(node, function) | set(target.outputs), set(target.outputs) | target.local_write | target.remote_write
    for earlier_node, earlier in zip(group.nodes, group.functions, strict=True):
        before, who = earlier.target, earlier_node.label
        if found := before.remote_write & touched:
            return f"it {'writes' if min(found) in written else 'reads'} {_words(found, node)}, which {who} changes from other rows"
        if target.faults and set(before.outputs) & _TOLD:
            return f"it can report a fault, and a fault tells the step and the episode, which {who} writes"
        if found := (set(before.outputs) | before.local_write) & (target.remote_read | target.remote_write):
            return f"it {'changes' if min(found) in target.remote_write else 'reads'} {_words(found)}, which {who} writes"
        if found := before.remote_read & written:
            return f"it writes {_words(found, node)}, which {who} reads from other rows"
        if found := _reads(earlier_node, earlier) & target.remote_write:
            return f"it changes {_words(found)}, which {who} reads"
    return None


def _words(columns: set[Column], own: Node | None = None) -> str:
    """The first of some columns, as the user knows it; of the row of ``own``, or of any row."""
    table, name = min(columns)
    if table == WORLD:
        return f"'{name}' of the world"
    return f"its own '{name}'" if own is not None and own.table == table else f"'{name}' of any {table}"


def _once_per(node: Node) -> str:
    return "once per world" if node.table == WORLD else f"for every {node.what}"


_TOLD: set[Column] = {(WORLD, "step"), (WORLD, "episode")}


def _reads(node: Node, function: KernelFunction) -> set[Column]:
    """Every column that a system looks at, faults included."""
    target = function.target
    mask: set[Column] = set() if node.mask is None else {(WORLD, node.mask[0])}
    faults = _TOLD if target.faults else set()
    places: set[Column] = {(WORLD, f"{table}__{n}") for table in node.tables if table in target.counts.populations for n in ("count", "first")}
    return set(target.inputs) | set(target.columns) | mask | faults | places


def settle_columns(population: Population, schedule: Schedule) -> set[Column]:
    """Every column that a settlement looks at or changes."""
    own = {(table, name) for table in (population.table, population.new_table) for name in schedule.tables[table].fields}
    kept = {(WORLD, name) for name in world_fields(population.table, population.pooled)}
    notes = {(population.scratch_table, name) for name in schedule.scratch.get(population.scratch_table, {})}
    return {*own, *kept, *notes, *_TOLD, (WORLD, "broken")}


def _writes(function: KernelFunction) -> set[Column]:
    """Every column that a system changes, faults included."""
    target = function.target
    faults: set[Column] = {(WORLD, "broken")} if target.faults else set()
    return set(target.outputs) | target.local_write | target.remote_write | faults
