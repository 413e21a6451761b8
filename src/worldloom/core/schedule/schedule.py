"""The schedule of a world: which system runs when, and for which worlds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable

from worldloom.core.frontend.system import System
from worldloom.core.model import scratch_columns, sort_columns
from worldloom.core.model.columns import WORLD, RowCounts
from worldloom.core.model.entity import World
from worldloom.core.model.launch import Launch, Mask, label_of, launch_node
from worldloom.core.model.pairs import Pair
from worldloom.core.model.row_list import list_field
from worldloom.core.registry.alternatives import Alternatives
from worldloom.core.registry.definition import Definition, PhaseEntry
from worldloom.core.schedule import generated_systems, lifecycle
from worldloom.core.schedule.agent_systems import AgentSystems
from worldloom.core.schedule.dependencies import with_compactions, with_grids
from worldloom.core.schedule.entries import (
    FAULTY,
    FINISHED,
    RESET_REQUESTED,
    RESETTING,
    STEPPING,
    Autoreset,
    Entry,
    HostNode,
    Schedule,
    SystemNode,
)
from worldloom.core.schedule.generated_systems import Systems
from worldloom.core.schedule.lasting_agents import sharing_populations
from worldloom.core.schedule.lifecycle import agent_system, world_system
from worldloom.core.schedule.row_lists import find_lists
from worldloom.core.schedule.table_views import TableView, make_table_views


def plan(definition: Definition, autoreset: Autoreset, checks: bool, lasting: Collection[str] = ()) -> Schedule:
    """The schedule of a definition. ``checks`` adds checks of actions and of numbers that must stay finite.

    ``lasting`` are the populations of :func:`~worldloom.core.schedule.lasting_agents.lasting_agents`.
    """
    planner = _Planner(definition, autoreset, checks, lasting)
    tables, populations = planner.tables, planner.populations
    by_table = {p.table: p for p in populations}
    step, reset = (
        with_grids(with_compactions(entries, by_table, planner.collect_rewards), definition)
        for entries in (planner.step(), planner.reset())
    )
    staging = {p.new_table: p.spawn_capacity for p in populations}
    agent_rows = {p.agent_table: p.limit.per_world for p in populations if p.agents}
    pairs = {s.pair.__name__: s.pair.max_pairs(definition.rows) for s in definition.systems if s.pair is not None}
    counts = RowCounts({WORLD: 1, **definition.rows, **staging, **agent_rows, **pairs}, by_table)
    scratch = {p.scratch_table: scratch_columns.fields(p, tables[p.table].fields) for p in populations if p.pooled}
    scratch |= {p.scratch_table: sort_columns.fields() for p in populations if p.large}
    workload = next((name for name, field in definition.world.fields.items() if field.workload), "")
    lists = find_lists([*step, *reset], counts, workload)
    scratch |= {rows.name: rows.fields for rows in lists.values()}
    scratch |= {r.order[0]: {r.order[1]: list_field(r.order[1])} for r in lists.values() if r.order is not None}
    return Schedule(tables, counts, step, reset, scratch, lists, narrow=definition.narrow)


class _Planner:
    """Puts the systems of the user and of the engine in order.

    Attributes:
        every: The tables of the world, of all kinds, and of the agent rows of populations.
        fixed: Those of them with a fixed number of rows.
        agents: The tables of agents that end their episodes individually.
        agent_systems: The systems of populations of agents.
        collect_rewards: By population of agents, the system that copies rewards to agent rows.
        check_actions, check_numbers, check_observations: Systems for each of ``every``.
    """

    def __init__(self, definition: Definition, autoreset: Autoreset, checks: bool, lasting: Collection[str]) -> None:
        self.definition, self.autoreset = definition, autoreset
        self.tables = make_table_views(definition, keep_final=autoreset == "same_step")
        world = self.tables[WORLD].kind
        assert issubclass(world, World)
        self.world = world
        self.populations = list(sharing_populations(definition, lasting).values())
        agent_rows = {p.agent_table: p for p in self.populations if p.agents}
        self.every = [self.tables[name] for name in (WORLD, *definition.rows, *agent_rows)]
        self.fixed = [v for v in self.every if v.__name__ not in definition.populations]
        self.agent_rows = agent_rows
        self.agent_systems = [
            AgentSystems(self.tables[p.table], self.tables[name], p.limit.per_world, world)
            for name, p in agent_rows.items()
        ]
        self.collect_rewards = {
            systems.population.__name__: SystemNode(system, systems.rows, None, 0)
            for systems in self.agent_systems
            if (system := systems.collect_rewards()) is not None
        }
        self.publish_agents = [
            None if systems.population.__name__ in lasting else systems.publish() for systems in self.agent_systems
        ]
        self.assign_first_rows: list[System | None] = [
            systems.assign_rows(episode_begins=True) for systems in self.agent_systems
        ]
        self.ordinals = _ordinals(definition)
        self.agents = [view for view in self.every[1:] if "active" in view.fields]
        self.clear_agent_flags, self.end_agents = (
            [agent_system(function, view) for view in self.agents]
            for function in (lifecycle.clear_agent_flags, lifecycle.end_agent)
        )
        self.activate_agents = [
            agent_system(lifecycle.free_agent_row if v.__name__ in agent_rows else lifecycle.activate_agent, v)
            for v in self.agents
        ]
        writers = functools.partial(_writers, definition)
        self.check_actions = self._checks(checks, self._check_actions)
        self.check_numbers = self._checks(checks, lambda v: generated_systems.check_finite(v, world, False, writers))
        self.check_observations = self._checks(
            checks, lambda v: generated_systems.check_finite(v, world, True, writers)
        )

    def _checks(self, checks: bool, make: Callable[[TableView], Systems]) -> list[Systems]:
        return [make(view) if checks else (None, None) for view in self.every]

    def _check_actions(self, view: TableView) -> Systems:
        if view.__name__ in self.agent_rows:
            population = self.agent_rows[view.__name__].table
            return generated_systems.check_agent_actions(view, population, self.world)
        if any(view is systems.population for systems in self.agent_systems):
            return None, None  # its actions come from agent rows
        return generated_systems.check_actions(view, self.world)

    # -- phases ------------------------------------------------------------------------------------------------------

    def step(self) -> list[Entry]:
        next_step = self.autoreset == "next_step"
        stepping = STEPPING if next_step else None
        first = lifecycle.begin_step_or_reset if next_step else lifecycle.begin_step
        events = [p for p in self.populations if p.event]
        entries = [
            *self._over_world([world_system(first)]),
            *self._over_world([generated_systems.clear_population(p, self.world) for p in events]),
            *self._over(self.every, [generated_systems.clear_rewards(v, self.world) for v in self.every]),
            *self._over(self.agents, self.clear_agent_flags),
            *self._check_before_faults(self.check_actions, stepping),
            *[SystemNode(a.take_actions(), a.population, stepping, 0) for a in self.agent_systems],
            *self._user_phase("step", self.definition.step, stepping),
            *self._check_before_faults(self.check_numbers, stepping),
            *self._over_world([generated_systems.end_without_agents(self.definition, self.tables)], stepping),
            *self._over_world([world_system(lifecycle.truncate_at_fault)], stepping),
            *self._report_flags(self.check_actions),
            *self._report_flags(self.check_numbers),
            *self._over_world([world_system(lifecycle.end_step)], stepping),
            *[SystemNode(a.end_removed(), a.rows, stepping, 0) for a in self.agent_systems],
            *self._over_world([a.assign_rows(episode_begins=False) for a in self.agent_systems], stepping),
            *self._over(self.agents, self.end_agents, stepping),
        ]
        if next_step:
            entries += self._begin_episode(RESETTING)
            entries += self._over_world([world_system(lifecycle.finish_reset)], RESETTING)
        entries += self._observe()
        entries += self._publish(None)
        if self.autoreset == "same_step":
            entries += self._arrays(generated_systems.keep_final_arrays, FINISHED)
            entries += self._over(
                self.fixed, [generated_systems.keep_final(v, self.world) for v in self.fixed], FINISHED
            )
            entries += self._begin_episode(FINISHED)
            entries += self._user_phase("observe", self.definition.observe, FINISHED)
            entries += self._publish(FINISHED)
        return entries

    def reset(self) -> list[Entry]:
        mask = RESET_REQUESTED
        return [
            *self._begin_episode(mask),
            *self._over(self.every, [generated_systems.clear_rewards(v, self.world) for v in self.every], mask),
            *self._over(self.agents, self.clear_agent_flags, mask),
            *self._user_phase("observe", self.definition.observe, mask),
            *self._publish(mask),
            *self._over_world([world_system(lifecycle.clear_episode_flags)], mask),
        ]

    def _begin_episode(self, mask: Mask) -> list[Entry]:
        """A new episode for the worlds of ``mask``."""
        return [
            *self._over_world([world_system(lifecycle.begin_episode)], mask),
            *self._arrays(generated_systems.clear_state_arrays, mask),
            *self._over(self.fixed, [generated_systems.clear_state(v, self.world) for v in self.fixed], mask),
            *self._over_world([generated_systems.clear_population(p, self.world) for p in self.populations], mask),
            *self._over(self.agents, self.activate_agents, mask),
            *self._user_phase("reset", self.definition.reset, mask),
            *self._over_world(self.assign_first_rows, mask),
        ]

    def _observe(self) -> list[Entry]:
        """The observations of all worlds, and the end of episodes whose observations are not finite."""
        flags = self._over(self.every, [flag for flag, _ in self.check_observations])
        reports = self._over(self.every, [report for _, report in self.check_observations], FAULTY)
        checks = [*flags, *reports]
        if checks:
            checks += self._over_world([world_system(lifecycle.truncate_bad_observations)])
            checks += self._over(self.agents, self.end_agents, FAULTY)
        return [*self._user_phase("observe", self.definition.observe, None), *checks]

    def _publish(self, mask: Mask | None) -> list[Entry]:
        """Copy observations to the agent rows of populations that do not share their memory."""
        return self._over([systems.rows for systems in self.agent_systems], self.publish_agents, mask)

    # -- checks ------------------------------------------------------------------------------------------------------

    def _one_row(self, view: TableView) -> bool:
        name = view.__name__
        varies = name in self.definition.populations or name in self.agent_rows
        return not varies and self.definition.rows.get(name, 1) == 1

    def _check_before_faults(self, checks: list[Systems], mask: Mask | None) -> list[Entry]:
        """Set the flags of tables with one row per world, and report the faults of the others at once.

        A flag that several rows write would need kernels of its own.
        """
        systems = [
            flag if self._one_row(view) else report for view, (flag, report) in zip(self.every, checks, strict=True)
        ]
        return self._over(self.every, systems, mask)

    def _report_flags(self, checks: list[Systems]) -> list[Entry]:
        """Report the faults whose flags :meth:`_check_before_faults` has set."""
        systems = [
            report if self._one_row(view) else None for view, (_, report) in zip(self.every, checks, strict=True)
        ]
        return self._over(self.every, systems, FAULTY)

    # -- entries -----------------------------------------------------------------------------------------------------

    def _over(self, views: list[TableView], systems: Iterable[System | None], mask: Mask | None = None) -> list[Entry]:
        """One system of the engine for each of ``views``; None where a table needs none."""
        pairs = zip(views, systems, strict=True)
        return [SystemNode(system, view, mask, 0) for view, system in pairs if system is not None]

    def _over_world(self, systems: list[System | None], mask: Mask | None = None) -> list[Entry]:
        return self._over([self.tables[WORLD]] * len(systems), systems, mask)

    def _arrays(self, make: Callable[[TableView, Mask], Entry | None], mask: Mask) -> list[Entry]:
        entries = [make(view, mask) for view in self.fixed]
        return [entry for entry in entries if entry is not None]

    def _user_phase(self, phase: str, phase_entries: tuple[PhaseEntry, ...], mask: Mask | None) -> list[Entry]:
        """The entries of the user for a phase."""
        entries: list[Entry] = []
        for index, entry in enumerate(phase_entries):
            if isinstance(entry, Launch):
                entries.append(launch_node(entry, mask, self.definition))
            elif isinstance(entry, System):
                entries += [
                    SystemNode(
                        entry, self._view(entry, table), mask, self.ordinals.get((phase, index, table), 0) + turn, value
                    )
                    for turn, value in enumerate(entry.where.values if entry.where is not None else (0,))
                    for table in _tables_of(self.definition, entry)
                ]
            else:
                entries.append(HostNode(entry))
        return entries

    def _view(self, system: System, table: str) -> TableView | Pair:
        if system.pair is None:
            return self.tables[table]
        return Pair(*(self.tables[name] for name in system.pair.tables))


def _writers(definition: Definition, view: TableView, name: str) -> str:
    """The systems that write a component, with their lines; those of ``reset`` only where no others write it."""
    writers = _written_by(definition, (*definition.step, *definition.observe), view, name)
    return ", ".join(writers or _written_by(definition, definition.reset, view, name))


def _written_by(definition: Definition, entries: Iterable[PhaseEntry], view: TableView, name: str) -> list[str]:
    writers: dict[str, None] = {}
    for entry in entries:
        if isinstance(entry, Launch):
            if (view.__name__, name) in launch_node(entry, None, definition).writes:
                writers[f"launch '{label_of(entry)}'"] = None
        elif isinstance(entry, System):
            writers.update({f"{entry.place}:{line}": None for line in _write_lines(definition, entry, view, name)})
    return list(writers)


def _write_lines(definition: Definition, system: System, view: TableView, name: str) -> list[int]:
    """The lines at which a system writes a component."""
    access = system.access
    lines: list[int | None] = []
    if view.__name__ in _tables_of(definition, system):
        lines.append(access.own_write.get(name))
    for (kind, written), line in access.other_write.items():
        if written == name and issubclass(view.kind, kind):
            lines.append(line)
    for kind, spawning in access.spawns.items():
        if name in spawning.fields and kind is view.kind:
            lines.append(spawning.line)
    if view.__name__ == WORLD:
        lines.append(access.world_write.get(name))
    return [line for line in lines if line is not None]


def _tables_of(definition: Definition, system: System) -> list[str]:
    if system.pair is not None:
        return [system.pair.__name__]
    return [WORLD] if system.over_world else [k.__name__ for k in definition.kinds_of(system)]


def _turns(system: System) -> int:
    """How often a system runs in its place: once, or once for each of its values."""
    return 1 if system.where is None else len(system.where.values)


def _ordinals(definition: Definition) -> dict[tuple[str, int, str], int]:
    """A number for every system, position in its phase and table.

    It depends neither on the autoreset mode nor on the options of alternatives, whose systems need no numbers: those of
    the first option count.
    """
    phases = {"reset": definition.reset, "step": definition.step, "observe": definition.observe, **definition.written}
    ordinals: dict[tuple[str, int, str], int] = {}
    number = 0
    for phase, written in phases.items():
        index = 0
        for entry in written:
            if isinstance(entry, Alternatives):
                inner = [e for e in entry.entries(entry.default) if isinstance(e, System)]
                number += sum(_turns(system) * len(_tables_of(definition, system)) for system in inner)
                index += len(entry.entries(definition.options.get(entry.name, entry.default)))
                continue
            if isinstance(entry, System):
                for table in _tables_of(definition, entry):
                    ordinals[phase, index, table] = number + 1
                    number += _turns(entry)
            index += 1
    return ordinals
