"""The order of things: which system runs when, and for which worlds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from worldloom.core.frontend.system import System
from worldloom.core.frontend.targets.kernel_names import column_in_memory
from worldloom.core.model import launch as launches
from worldloom.core.model import scratch_columns
from worldloom.core.model.columns import WORLD, ColumnKey, RowCounts
from worldloom.core.model.entity import World
from worldloom.core.model.fields import Field
from worldloom.core.model.grid import Grid
from worldloom.core.model.launch import Launch, LaunchNode, Mask
from worldloom.core.model.pairs import Pair
from worldloom.core.model.population import Population
from worldloom.core.registry.registry import Definition, PhaseEntry
from worldloom.core.schedule import lifecycle
from worldloom.core.schedule.aliasing import ColumnAliases
from worldloom.core.schedule.lifecycle import TableView

Autoreset = Literal["same_step", "next_step", "disabled"]

FINISHED: Mask = ("finished", True)
RESET_REQUESTED: Mask = ("reset_mask", True)
FAULTY: Mask = ("faulty", True)
RESETTING: Mask = ("resetting", True)
STEPPING: Mask = ("resetting", False)


@dataclass(frozen=True)
class SystemNode:
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
class CompactionNode:
    """Bring a population up to date: those that leave make room, and the new ones follow behind in the order they were spawned in.

    ``few`` tells that it is for worlds that begin an episode, and that their new entities lie in order already.
    """

    population: Population
    spawned_in_order: bool = False

    @property
    def label(self) -> str:
        return f"settle {self.population.table}"

    @property
    def reason(self) -> str:
        """Why it has kernels of its own."""
        return f"it settles who comes and who leaves among all {self.population.table}"


@dataclass(frozen=True)
class GridNode:
    """Sort the entities of a kind into the cells of a grid, in all worlds or in those that ``mask`` picks."""

    grid: Grid
    mask: Mask | None

    @property
    def label(self) -> str:
        return self.grid.label

    def touches(self, reads: set[ColumnKey], writes: set[ColumnKey]) -> bool:
        """Whether something that reads and writes these columns must stay on its side of it."""
        table = self.grid.table
        mask: set[ColumnKey] = set() if self.mask is None else {(WORLD, self.mask[0])}
        source = {(table, self.grid.by), (WORLD, f"{table}__count"), (WORLD, f"{table}__first"), *mask}
        made = {(WORLD, name) for name in self.grid.fields}
        return bool(made & (reads | writes) or source & writes)


Entry = SystemNode | HostNode | LaunchNode | CompactionNode | GridNode


@dataclass
class Schedule:
    """Everything that runs: ``step`` once per step, ``reset`` for the worlds whose ``reset_mask`` is set.

    ``scratch`` are the columns of memory that means nothing between two steps, by table and name.
    """

    tables: dict[str, TableView]
    counts: RowCounts
    step: list[Entry]
    reset: list[Entry]
    scratch: dict[str, dict[str, Field]] = field(default_factory=dict)
    aliases: ColumnAliases = field(default_factory=dict)

    def field_of(self, column: ColumnKey) -> Field:
        """The field of one of the columns that kernels take."""
        table, name = column_in_memory(column)
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

    def engine(
        systems: Iterable[System | None], mask: Mask | None = None, views: list[TableView] | None = None
    ) -> list[Entry]:
        found = list(systems)
        over = views or [tables[WORLD]] * len(found)
        return [SystemNode(s, v, mask, 0) for s, v in zip(found, over, strict=True) if s is not None]

    def user(phase: str, steps: tuple[PhaseEntry, ...], mask: Mask | None) -> list[Entry]:
        made: list[Entry] = []
        for place, entry in enumerate(steps):
            if isinstance(entry, Launch):
                made.append(launches.node(entry, mask, definition))
                continue
            if not isinstance(entry, System):
                made.append(HostNode(entry))
                continue
            made += [
                SystemNode(entry, _view(entry, name, tables), mask, ordinals[phase, place, name])
                for name in _tables_of(definition, entry)
            ]
        return made

    def begin(mask: Mask) -> list[Entry]:
        """A new episode for the worlds of ``mask``."""
        return [
            *engine([lifecycle.begin_episode(world)], mask),
            *(entry for v in lasting if (entry := lifecycle.clear_state_arrays(v, mask)) is not None),
            *engine([lifecycle.clear_state(v, world) for v in lasting], mask, lasting),
            *engine([lifecycle.clear_population(p, world) for p in populations], mask),
            *engine([back for *_, back in agents], mask, [v for v, *_ in agents]),
            *user("reset", definition.reset, mask),
        ]

    actions = [lifecycle.check_actions(v, world) if checks else (None, None) for v in every]
    wrote = functools.partial(_writers, definition)
    numbers = [lifecycle.check_finite(v, world, False, wrote) if checks else (None, None) for v in every]
    seen = [lifecycle.check_finite(v, world, True, wrote) if checks else (None, None) for v in every]

    def check(pairs: list[tuple[System | None, System | None]], mask: Mask | None) -> list[Entry]:
        """Raise the flags of all tables, then find words for those that are up."""
        return [*engine([find for find, _ in pairs], mask, every), *engine([name for _, name in pairs], FAULTY, every)]

    alone = [definition.rows.get(v.__name__, 1) == 1 and v.__name__ not in definition.populations for v in every]

    def check_at_once(pairs: list[tuple[System | None, System | None]], mask: Mask | None) -> list[Entry]:
        """Raise the flags of tables with one row per world, and name what is wrong in the others: a flag that many rows share would cost kernels."""
        return engine([find if one else name for (find, name), one in zip(pairs, alone, strict=True)], mask, every)

    def name_flagged(pairs: list[tuple[System | None, System | None]]) -> list[Entry]:
        """Put into words what raised a flag in :func:`check_at_once`."""
        return engine([name if one else None for (_, name), one in zip(pairs, alone, strict=True)], FAULTY, every)

    def look() -> list[Entry]:
        """The observations of all worlds, and the end of those that are not finite."""
        found = check(seen, None)
        if found:
            found += [
                *engine([lifecycle.truncate_bad_observations(world)]),
                *engine([tell for _, _, tell, _ in agents], FAULTY, [v for v, *_ in agents]),
            ]
        return [*user("observe", definition.observe, None), *found]

    stepping = STEPPING if autoreset == "next_step" else None
    first = lifecycle.begin_step_or_reset(world) if autoreset == "next_step" else lifecycle.begin_step(world)
    step = [
        *engine([first]),
        *engine([lifecycle.clear_population(p, world) for p in populations if p.event]),
        *engine([lifecycle.clear_rewards(v, world) for v in every], None, every),
        *engine([clear for _, clear, *_ in agents], None, [v for v, *_ in agents]),
        *check_at_once(actions, stepping),
        *user("step", definition.step, stepping),
        *check_at_once(numbers, stepping),
        *engine([lifecycle.end_without_agents(definition, tables)], stepping),
        *engine([lifecycle.truncate_at_fault(world)], stepping),
        *name_flagged(actions),
        *name_flagged(numbers),
        *engine([lifecycle.end_step(world)], stepping),
        *engine([tell for _, _, tell, _ in agents], stepping, [v for v, *_ in agents]),
    ]
    if autoreset == "next_step":
        step += [*begin(RESETTING), *engine([lifecycle.finish_reset(world)], RESETTING), *look()]
    else:
        step += look()
    if autoreset == "same_step":
        arrays = [entry for v in lasting if (entry := lifecycle.keep_final_arrays(v, FINISHED)) is not None]
        kept = engine([lifecycle.keep_final(v, world) for v in lasting], FINISHED, lasting)
        step += [*arrays, *kept, *begin(FINISHED), *user("observe", definition.observe, FINISHED)]
    reset = [
        *begin(RESET_REQUESTED),
        *engine([lifecycle.clear_rewards(v, world) for v in every], RESET_REQUESTED, every),
        *engine([clear for _, clear, *_ in agents], RESET_REQUESTED, [v for v, *_ in agents]),
        *user("observe", definition.observe, RESET_REQUESTED),
        *engine([lifecycle.clear_episode_flags(world)], RESET_REQUESTED),
    ]
    pairs = {s.pair.__name__: s.pair.most(definition.rows) for s in definition.systems if s.pair is not None}
    counts = RowCounts(
        {WORLD: 1, **definition.rows, **{p.new_table: p.spawn_capacity for p in populations}, **pairs},
        definition.populations,
    )
    notes = {p.scratch_table: scratch_columns.fields(p, tables[p.table].fields) for p in populations if p.pooled}
    step, reset = (_with_grids(_with_compactions(entries, definition), definition) for entries in (step, reset))
    return Schedule(tables, counts, step, reset, notes)


def _writers(definition: Definition, view: TableView, name: str) -> str:
    """The systems that write a component, each with its line, as faults name them; those of ``reset`` where no others do."""
    later, first = (*definition.step, *definition.observe), definition.reset
    return ", ".join(_written_by(definition, later, view, name) or _written_by(definition, first, view, name))


def _written_by(definition: Definition, entries: Iterable[PhaseEntry], view: TableView, name: str) -> list[str]:
    found: dict[str, None] = {}
    for entry in entries:
        if isinstance(entry, Launch):
            if (view.__name__, name) in launches.node(entry, None, definition).writes:
                found[f"launch '{launches.label_of(entry)}'"] = None
        elif isinstance(entry, System):
            access, own = entry.access, view.__name__ in _tables_of(definition, entry)
            lines = [access.own_write.get(name)] if own else []
            lines += [
                line
                for (kind, written), line in access.other_write.items()
                if written == name and issubclass(view.kind, kind)
            ]
            lines += [
                spawning.line
                for kind, spawning in access.spawns.items()
                if name in spawning.fields and kind is view.kind
            ]
            lines += [access.world_write.get(name)] if view.__name__ == WORLD else []
            found.update({f"{entry.place}:{line}": None for line in lines if line is not None})
    return list(found)


def _with_compactions(entries: list[Entry], definition: Definition) -> list[Entry]:
    """Put in the settlements: before whatever looks at a population that has changed, and at the end."""
    out: list[Entry] = []
    born: set[str] = set()
    left: set[str] = set()
    many: set[str] = set()

    def settle(tables: Iterable[str]) -> None:
        for name, population in definition.populations.items():
            if name in tables and name in born | left:
                out.append(CompactionNode(population, spawned_in_order=name not in left | many))
                for changed in (born, left, many):
                    changed.discard(name)

    for entry in entries:
        if isinstance(entry, SystemNode):
            access = entry.system.access
            cleared = {n for n in definition.populations if f"{n}__count" in access.own_write}
            judges = entry.system.engine and entry.system.name in _FAULT_READERS
            settle(definition.populations if judges else {*entry.tables, *(k.__name__ for k in access.kinds), *cleared})
            spawned = {k.__name__ for k in access.spawns}
            settle(spawned & left)  # who has left makes room for the new ones
            born |= spawned
            many |= spawned if entry.mask not in (FINISHED, RESETTING) or not entry.system.over_world else set()
            left |= {entry.table if k is None else k.__name__ for k in access.despawns}
            born |= {
                n for n in cleared if definition.populations[n].pooled
            }  # the rows that it leaves behind are to be used again
        elif isinstance(entry, LaunchNode):
            settle({table for table, _ in entry.columns})
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
        for grid in definition.grids_of(entry.system) if isinstance(entry, SystemNode) else ():
            assert isinstance(entry, SystemNode)
            if grid.key not in made or made[grid.key] not in (None, entry.mask):
                out.append(GridNode(grid, entry.mask))
                made[grid.key] = entry.mask
        out.append(entry)
        made = {key: mask for key, mask in made.items() if not _invalidates(entry, key, mask)}
    return out


def _invalidates(entry: Entry, key: tuple[str, str], mask: Mask | None) -> bool:
    """Whether a grid, made for the worlds of ``mask``, may no longer be right after ``entry``."""
    if isinstance(entry, CompactionNode):
        return entry.population.table == key[0]
    if not isinstance(entry, (SystemNode, LaunchNode)):
        return isinstance(entry, HostNode)
    written = set(entry.writes) if isinstance(entry, LaunchNode) else _written(entry)
    return (
        (WORLD, f"{key[0]}__count") in written or key in written or (mask is not None and (WORLD, mask[0]) in written)
    )


def _written(node: SystemNode) -> set[ColumnKey]:
    access = node.system.access
    own, other = (
        {(node.table, name) for name in access.own_write},
        {(k.__name__, name) for k, name in access.other_write},
    )
    return own | other | {(WORLD, name) for name in access.world_write}


_FAULT_READERS = ("judge_faults", "forget_episode")
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
