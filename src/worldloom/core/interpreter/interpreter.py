"""The interpreter: systems run in plain Python, row by row, so that breakpoints and print work in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from worldloom.core.frontend.system import System
from worldloom.core.interpreter import launches
from worldloom.core.interpreter.compaction import compact_pooled
from worldloom.core.interpreter.promises import Promises
from worldloom.core.interpreter.rows import Row, raw, row_class
from worldloom.core.kernels.guards import Alarm
from worldloom.core.kernels.random import STREAM_SHIFT, Key
from worldloom.core.model.columns import WORLD
from worldloom.core.model.dtypes import is_composite, shape_of
from worldloom.core.model.fields import SEED_HIGH, Field
from worldloom.core.model.grid import nearest_slots, slots_within, sort_into_cells
from worldloom.core.model.launch import LaunchNode
from worldloom.core.model.pairs import Pair
from worldloom.core.model.population import DESPAWNED, ROW_WORLD, SERIAL, Population, serial_number, spawns_per_run
from worldloom.core.runtime.table import Table
from worldloom.core.schedule.entries import CompactionNode, Entry, GridNode, HostNode, Schedule, SystemNode
from worldloom.core.schedule.table_views import TableView

_ZERO_32 = np.int32(0)


def _default(field: Field) -> Any:
    """The default of a component as a flat array, or as one number."""
    if not is_composite(field.dtype):
        return field.default
    return np.broadcast_to(np.asarray(field.default), shape_of(field.dtype)).ravel()


class Interpreter:
    """Runs the systems of a schedule on the tables of a simulation. Systems call it by the name ``wl_runtime``."""

    def __init__(
        self,
        schedule: Schedule,
        tables: dict[str, Table],
        num_worlds: int,
        offset: int,
        fault: Callable[[str, int, int, int, int], None],
        alarm: Alarm,
        exact: bool = False,
    ) -> None:
        self.exact = exact
        self.schedule, self.tables, self.num_worlds, self.offset = schedule, tables, num_worlds, offset
        self._report = fault
        self._functions: dict[tuple[System, str], Callable[..., None]] = {}
        self._rows = {name: row_class(table) for name, table in tables.items()}
        self._fixed = {name: np.int32(count) for name, count in schedule.counts.items()}
        self._alarm = alarm
        self._world = self._stream = self._slot = self._spawn_count = 0
        self._spawned = dict.fromkeys(schedule.counts.populations, 0)
        """Number of entities spawned since the last compaction, for each pooled population."""
        self._node: SystemNode
        self.promises = Promises(self._refuse)

    # -- called by systems -------------------------------------------------------------------------------------------

    @property
    def world_id(self) -> np.int32:
        index: np.int32 = _ZERO_32 + (self._world + self.offset)
        return index

    def count(self, table: str) -> np.int32:
        if table in self.schedule.counts.populations:
            count = self.tables[WORLD][f"{table}__count"].values[self._world]
            return np.int32(min(max(count, 0), self.schedule.counts[table]))  # users may write into the column
        return self._fixed[table]

    def rows(self, table: str) -> Iterator[Row]:
        return self._rows_at(table, range(self.count(table)))

    def near(self, table: str, by: str, point: Any, radius: Any) -> Iterator[Row]:
        return self._rows_at(table, slots_within(*self._grid(table, by), np.asarray(point), np.float32(radius)))

    def nearest(self, table: str, by: str, point: Any, k: int) -> Iterator[Row]:
        first, count = self._first(table), int(self.count(table))
        positions = self.tables[table][by].values[first : first + count]
        return self._rows_at(table, nearest_slots(positions, np.asarray(point), k))

    def _rows_at(self, table: str, slots: Iterable[int]) -> Iterator[Row]:
        new_row, first = self._rows[table], self._first(table)
        return (new_row(first + slot, slot) for slot in slots)

    def _grid(self, table: str, by: str) -> tuple[Any, Any]:
        """The entities of the current world in the order of their cells, and their positions."""
        world, count = self.tables[WORLD], int(self.count(table))
        slots, places = (world[f"{table}__{by}__{part}"].values[self._world][:count] for part in ("slots", "places"))
        return slots, places

    def _first(self, table: str) -> int:
        """The first row of the current world in a table."""
        if self.schedule.counts.pooled(table) is not None:
            return int(self.tables[WORLD][f"{table}__first"].values[self._world])
        return self._world * self.schedule.counts[table]

    def random(self, function: str, draw: int, *arguments: Any) -> Any:
        world = self.tables[WORLD]
        seed, episode, step = (int(world[n].values[self._world]) for n in ("seed", "episode", "step"))
        high = world[SEED_HIGH].values
        seed |= int(high[min(self._world, len(high) - 1)]) << 32
        key = Key(seed, self._world + self.offset, episode, step, self._stream)
        return getattr(key, function)(int(draw), *arguments)

    def raw(self, row: Row, name: str) -> Any:
        return raw(row, name)

    def end(self, row: Row, what: str) -> None:
        setattr(row, what, True)
        if "active" in row._columns:
            row.active = False  # type: ignore[attr-defined]

    def fault(self, message: str, value: Any) -> None:
        world = self.tables[WORLD]
        world["broken"].values[self._world] = True
        step, episode = (int(world[n].values[self._world]) for n in ("step", "episode"))
        self._report(message, self._world + self.offset, episode, step, int(value))

    def check_index(self, index: Any, size: int, message: str) -> int:
        slot = int(index) + size if index < 0 else int(index)
        if not 0 <= slot < size:
            self.fault(message, index)
            return 0
        return slot

    def follow(self, table: str, slot: Any, message: str) -> Row:
        """The entity of a reference, which holds a serial number for populations and a slot otherwise."""
        population = table in self.schedule.counts.populations
        return self.at(table, self._find(table, int(slot)) if population else int(slot), message)

    def at(self, table: str, position: Any, message: str) -> Row:
        """The entity at a slot; the first one, and a fault, where the slot is empty."""
        slot = int(position)
        if not 0 <= slot < self.count(table):
            self.fault(message, slot)
            slot = 0
        # In a pooled table, the first row of an empty world belongs to another world.
        hidden_row = self.schedule.counts.pooled(table) if self.count(table) == 0 else None
        return self._rows[table](self._first(table) + slot if hidden_row is None else hidden_row, slot)

    def _find(self, table: str, serial: int) -> int:
        """The slot of the entity with a serial number; -1 where there is none."""
        first, count = self._first(table), int(self.count(table))
        serials = self.tables[table][SERIAL].values[first : first + count]
        slot = int(np.searchsorted(serials, serial))
        return slot if serial >= 0 and slot < count and serials[slot] == serial else -1

    def alive(self, table: str, reference: Any) -> bool:
        population = table in self.schedule.counts.populations
        return (self._find(table, int(reference)) if population else int(reference)) >= 0

    def spawn(self, table: str, **values: Any) -> np.int64:
        """Stage a new entity for the next compaction, and return a reference to it."""
        population, world = self.schedule.counts.populations[table], self.tables[WORLD]
        limit = spawns_per_run(self.schedule.counts[self._node.table])
        step = int(world["step"].values[self._world])
        serial = np.int64(serial_number(step, self._node.ordinal, self._slot, limit, self._spawn_count))
        self._spawn_count += 1
        pending = world[f"{table}__pending"].values
        slot = int(pending[self._world])
        pending[self._world] += 1
        capacity, row = population.spawn_capacity, self._world * population.spawn_capacity + slot
        if population.limit.batch is not None:
            capacity, slot = population.limit.batch, self._spawned[table]
            row = slot
            self._spawned[table] += 1
        if slot < capacity and (self._spawn_count <= limit or not population.pooled):
            components = {SERIAL: serial, ROW_WORLD: self._world, **values}
            staged = self._rows[population.new_table](row, slot)
            for name, column in self.tables[population.new_table].all_columns.items():
                setattr(staged, name, components[name] if name in components else _default(column.field))
        elif population.limit.batch is not None:
            self._spawned[table] = max(self._spawned[table], capacity + 1)
        return serial

    def despawn(self, row: Row) -> None:
        table = next(iter(row._columns.values())).table
        row._columns[DESPAWNED].values[row._index] = True
        self.tables[WORLD][f"{table}__changed"].values[self._world] = True

    # -- running -----------------------------------------------------------------------------------------------------

    def run(self, entries: list[Entry], simulation: Any) -> None:
        """Run the entries of a schedule in order, each for all its rows."""
        self.promises.forget()
        with np.errstate(all="ignore"):
            for entry in entries:
                if isinstance(entry, HostNode):
                    entry.call(simulation)
                elif isinstance(entry, LaunchNode):
                    launches.start(entry, simulation)
                elif isinstance(entry, CompactionNode):
                    self._compact(entry.population)
                elif isinstance(entry, GridNode):
                    self._build_grid(entry)
                else:
                    self._run_node(entry)

    def _run_node(self, node: SystemNode) -> None:
        function = self._function(node.system, node.view)
        mask = None if node.mask is None else self.tables[WORLD][node.mask[0]].values == node.mask[1]
        system, self._node = node.system, node
        parameters = (system.entity_parameter, system.partner_parameter)
        for world in range(self.num_worlds):
            if mask is not None and not mask[world]:
                continue
            self._world = world
            world_row = self._rows[WORLD](world, world + self.offset)
            for slot, entities in self._runs(node):
                self._slot, self._spawn_count = slot, 0
                self._stream = node.ordinal << STREAM_SHIFT | slot
                arguments = {**dict(zip(parameters, entities, strict=False)), system.world_parameter: world_row}
                function(**{name: row for name, row in arguments.items() if name is not None})

    def _runs(self, node: SystemNode) -> Iterator[tuple[int, tuple[Row, ...]]]:
        """The entities of every run of a system in the current world, with the index of the run."""
        if isinstance(node.view, Pair):
            return self._pairs(node.view)
        runs: Iterator[tuple[int, tuple[Row, ...]]] = enumerate((row,) for row in self.rows(node.table))
        component = None
        if node.system.where is not None:
            component = node.system.where.component
            runs = ((slot, row) for slot, row in runs if getattr(row[0], component) == node.value)
        return self.promises.entities(node.table, component, runs) if node.system.disjoint else runs

    def _refuse(self, problem: str, fix: str, line: int) -> None:
        """Raise the error of a broken promise, unless a fault of the world has led to the wrong row."""
        if not self.tables[WORLD]["broken"].values[self._world].any():
            raise self._node.system.source.error(f"race: in world {self.world_id}, {problem}", fix, line)

    def _pairs(self, pair: Pair) -> Iterator[tuple[int, tuple[Row, ...]]]:
        """Every pair of the current world, with its index."""
        one, two = (list(self.rows(table)) for table in pair.tables)
        for number, i, j in pair.places(len(one), len(two), self.schedule.counts[pair.tables[1]]):
            yield number, (one[i], two[j])

    def _build_grid(self, build: GridNode) -> None:
        grid, world = build.grid, self.tables[WORLD]
        positions = self.tables[grid.table][grid.by].values
        selected: Iterable[int] = range(self.num_worlds)
        if build.mask is not None:
            selected = np.flatnonzero(world[build.mask[0]].values == build.mask[1]).tolist()
        for self._world in selected:
            first, count = self._first(grid.table), int(self.count(grid.table))
            for part, values in sort_into_cells(grid, positions[first : first + count]).items():
                stored = world[grid.column(part)].values[self._world]
                stored[: len(values)] = values

    def _compact(self, population: Population) -> None:
        """Apply despawns and spawns: survivors move forward, and spawned entities follow in spawn order."""
        if population.pooled:
            self._compact_pooled(population)
            return
        columns, world_table = self.tables[population.table].all_columns, self.tables[WORLD]
        names = (f"{population.table}__{name}" for name in ("count", "pending", "changed"))
        counts, pending, changed = (world_table[name].values for name in names)
        for world in np.flatnonzero((pending > 0) | changed).tolist():
            self._world = world
            first, capacity = self._first(population.table), population.limit.per_world
            despawned = columns[DESPAWNED].values
            count = int(self.count(population.table))
            survivors = [first + slot for slot in range(count) if not despawned[first + slot]]
            despawned[first : first + max(count, 1)] = False  # also where a stale reference led into an empty world
            end = first + len(survivors)
            added = min(int(pending[world]), population.spawn_capacity, capacity - len(survivors))
            new = [world * population.spawn_capacity + k for k in range(added)]
            for name, column in columns.items():
                if not column.field.transient:
                    column.values[first:end] = column.values[survivors]
                    staged = self.tables[population.new_table].all_columns.get(name)
                    column.values[end : end + added] = column.field.default if staged is None else staged.values[new]
            dropped = int(pending[world]) - added
            counts[world], pending[world], changed[world] = len(survivors) + added, 0, False
            if dropped > 0:
                self._record_dropped(population, world, dropped)

    def _compact_pooled(self, population: Population) -> None:
        own, new, world = (self.tables[name].all_columns for name in (population.table, population.new_table, WORLD))
        dropped = compact_pooled(population, own, new, world, self._spawned[population.table])
        self._spawned[population.table] = 0
        for index in np.flatnonzero(dropped).tolist():
            self._record_dropped(population, index, int(dropped[index]))

    def _record_dropped(self, population: Population, world: int, dropped: int) -> None:
        """Count the entities that did not fit into a world, and report them where the population's rule says so."""
        self._world = world
        self.tables[WORLD][f"{population.table}__dropped"].values[world] += dropped
        if population.limit.overflow != "drop":
            self.fault(population.overflow_message, dropped)
        if population.limit.overflow == "error":
            self._alarm.set()

    def _function(self, system: System, view: TableView | Pair) -> Callable[..., None]:
        key = (system, view.__name__)
        if key not in self._functions:
            self._functions[key] = system.python_function(view, self, self.exact)
        return self._functions[key]
