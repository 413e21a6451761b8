"""The interpreter: the same systems in plain Python, row by row, so that breakpoints and print work in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from worldloom.core.frontend.system import System
from worldloom.core.interpreter import launches
from worldloom.core.interpreter.compaction import compact_pooled
from worldloom.core.interpreter.rows import Row, raw, row_class
from worldloom.core.kernels.guards import Alarm
from worldloom.core.kernels.random import STREAM_SHIFT, Key
from worldloom.core.model.columns import WORLD
from worldloom.core.model.fields import Field, is_composite, shape_of
from worldloom.core.model.grid import nearest_slots, slots_within, sort_into_cells
from worldloom.core.model.launch import LaunchNode
from worldloom.core.model.pairs import Pair
from worldloom.core.model.population import DESPAWNED, ROW_WORLD, SERIAL, Population, serial_number, spawns_per_run
from worldloom.core.runtime.table import Table
from worldloom.core.schedule.lifecycle import TableView
from worldloom.core.schedule.schedule import CompactionNode, Entry, GridNode, HostNode, Schedule, SystemNode

_ZERO_32 = np.int32(0)


def _default(field: Field) -> Any:
    """The default of a component as a list of its numbers in order, or as one number."""
    return (
        np.broadcast_to(np.asarray(field.default), shape_of(field.dtype)).ravel()
        if is_composite(field.dtype)
        else field.default
    )


class Interpreter:
    """Runs the systems of a schedule on the tables of a simulation. It is ``wl_runtime`` inside the systems."""

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
        """How many of a population have been noted since it was settled last, where all worlds note them in one table."""
        self._node: SystemNode

    # -- what systems call -------------------------------------------------------------------------------------------

    @property
    def world_id(self) -> np.int32:
        found: np.int32 = _ZERO_32 + (self._world + self.offset)
        return found

    def count(self, table: str) -> np.int32:
        if table in self.schedule.counts.populations:
            held = self.tables[WORLD][f"{table}__count"].values[self._world]
            return np.int32(
                min(max(held, 0), self.schedule.counts[table])
            )  # whatever the outside wrote into the column
        return self._fixed[table]

    def rows(self, table: str) -> Iterator[Row]:
        made, first = self._rows[table], self._first(table)
        return (made(first + slot, slot) for slot in range(self.count(table)))

    def near(self, table: str, by: str, point: Any, radius: Any) -> Iterator[Row]:
        return self._rows_at(table, slots_within(*self._grid(table, by), np.asarray(point), np.float32(radius)))

    def nearest(self, table: str, by: str, point: Any, k: int) -> Iterator[Row]:
        first, count = self._first(table), int(self.count(table))
        return self._rows_at(
            table, nearest_slots(self.tables[table][by].values[first : first + count], np.asarray(point), k)
        )

    def _rows_at(self, table: str, slots: list[int]) -> Iterator[Row]:
        made, first = self._rows[table], self._first(table)
        return (made(first + slot, slot) for slot in slots)

    def _grid(self, table: str, by: str) -> tuple[Any, Any]:
        """The entities of this world in the order of their cells, and their places."""
        count = int(self.count(table))
        return tuple(
            self.tables[WORLD][f"{table}__{by}__{part}"].values[self._world][:count] for part in ("slots", "places")
        )  # type: ignore[return-value]

    def _first(self, table: str) -> int:
        """The first row of the present world in a table."""
        if self.schedule.counts.pooled(table) is not None:
            return int(self.tables[WORLD][f"{table}__first"].values[self._world])
        return self._world * self.schedule.counts[table]

    def random(self, function: str, draw: int, *arguments: Any) -> Any:
        world = self.tables[WORLD]
        seed, episode, step = (int(world[n].values[self._world]) for n in ("seed", "episode", "step"))
        return getattr(Key(seed, self._world + self.offset, episode, step, self._stream), function)(
            int(draw), *arguments
        )

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
        place = int(index) + size if index < 0 else int(index)
        if not 0 <= place < size:
            self.fault(message, index)
            return 0
        return place

    def follow(self, table: str, slot: Any, message: str) -> Row:
        return self.at(
            table, self._find(table, int(slot)) if table in self.schedule.counts.populations else int(slot), message
        )

    def at(self, table: str, place: Any, message: str) -> Row:
        """The entity at a place among its kind; the first, and a fault, where there is none."""
        place = int(place)
        if not 0 <= place < self.count(table):
            self.fault(message, place)
            place = 0
        nobody = (
            self.schedule.counts.pooled(table) if self.count(table) == 0 else None
        )  # the first row of an empty world is another's
        return self._rows[table](self._first(table) + place if nobody is None else nobody, place)

    def _find(self, table: str, serial: int) -> int:
        """The place of the entity with a serial number; -1 where it is not there."""
        first, count = self._first(table), int(self.count(table))
        serials = self.tables[table][SERIAL].values[first : first + count]
        place = int(np.searchsorted(serials, serial))
        return place if serial >= 0 and place < count and serials[place] == serial else -1

    def alive(self, table: str, reference: Any) -> bool:
        return (
            self._find(table, int(reference)) >= 0 if table in self.schedule.counts.populations else int(reference) >= 0
        )

    def spawn(self, table: str, **values: Any) -> np.int64:
        """Write a new entity down for the next settlement; what a reference to it holds."""
        population, world = self.schedule.counts.populations[table], self.tables[WORLD]
        share = spawns_per_run(self.schedule.counts[self._node.table])
        step = int(world["step"].values[self._world])
        serial = np.int64(serial_number(step, self._node.ordinal, self._slot, share, self._spawn_count))
        self._spawn_count += 1
        pending = world[f"{table}__pending"].values
        place = int(pending[self._world])
        pending[self._world] += 1
        room, row = population.spawn_capacity, self._world * population.spawn_capacity + place
        if population.limit.batch is not None:
            room, place = population.limit.batch, self._spawned[table]
            row = place
            self._spawned[table] += 1
        if place < room and (self._spawn_count <= share or not population.pooled):
            known = {SERIAL: serial, ROW_WORLD: self._world, **values}
            staged = self._rows[population.new_table](row, place)
            for name, column in self.tables[population.new_table].columns.items():
                setattr(staged, name, known[name] if name in known else _default(column.field))
        elif population.limit.batch is not None:
            self._spawned[table] = max(self._spawned[table], room + 1)
        return serial

    def despawn(self, row: Row) -> None:
        table = next(iter(row._columns.values())).table
        row._columns[DESPAWNED].values[row._index] = True
        self.tables[WORLD][f"{table}__changed"].values[self._world] = True

    # -- running -----------------------------------------------------------------------------------------------------

    def run(self, entries: list[Entry], simulation: Any) -> None:
        """Run the entries of a schedule one after the other, each for all its rows."""
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
        for world in range(self.num_worlds):
            if mask is not None and not mask[world]:
                continue
            self._world = world
            here = {system.world_parameter: self._rows[WORLD](world, world + self.offset)}
            for slot, entities in (
                self._pairs(node.view)
                if isinstance(node.view, Pair)
                else enumerate((row,) for row in self.rows(node.table))
            ):
                self._slot, self._spawn_count = slot, 0
                self._stream = node.ordinal << STREAM_SHIFT | slot
                named = {
                    **dict(zip((system.entity_parameter, system.partner_parameter), entities, strict=False)),
                    **here,
                }
                function(**{name: row for name, row in named.items() if name is not None})

    def _pairs(self, pair: Pair) -> Iterator[tuple[int, tuple[Row, ...]]]:
        """Every pair of the present world, with its number."""
        one, two = (list(self.rows(table)) for table in pair.tables)
        for number, i, j in pair.places(len(one), len(two), self.schedule.counts[pair.tables[1]]):
            yield number, (one[i], two[j])

    def _build_grid(self, build: GridNode) -> None:
        grid, kept = build.grid, self.tables[WORLD]
        source = self.tables[grid.table][grid.by].values
        picked = (
            range(self.num_worlds)
            if build.mask is None
            else np.flatnonzero(kept[build.mask[0]].values == build.mask[1]).tolist()
        )
        for self._world in picked:
            first, count = self._first(grid.table), int(self.count(grid.table))
            for part, values in sort_into_cells(grid, source[first : first + count]).items():
                stored = kept[grid.column(part)].values[self._world]
                stored[: len(values)] = values

    def _compact(self, population: Population) -> None:
        """Those that leave make room, and the new ones follow behind in the order they were spawned in."""
        if population.pooled:
            self._compact_pooled(population)
            return
        table, kept = self.tables[population.table], self.tables[WORLD]
        counts, pending, changed = (kept[f"{population.table}__{n}"].values for n in ("count", "pending", "changed"))
        for world in np.flatnonzero((pending > 0) | changed).tolist():
            self._world = world
            first, most = self._first(population.table), population.limit.per_world
            dead = table[DESPAWNED].values
            count = int(self.count(population.table))
            stay = [first + slot for slot in range(count) if not dead[first + slot]]
            dead[first : first + max(count, 1)] = False  # also where a stale reference was followed to nobody
            taken = min(int(pending[world]), population.spawn_capacity, most - len(stay))
            new = [world * population.spawn_capacity + k for k in range(taken)]
            for name, column in table.columns.items():
                if name != DESPAWNED:
                    column.values[first : first + len(stay)] = column.values[stay]
                    staged = self.tables[population.new_table].columns.get(name)
                    column.values[first + len(stay) : first + len(stay) + taken] = (
                        column.field.default if staged is None else staged.values[new]
                    )
            lost = int(pending[world]) - taken
            counts[world], pending[world], changed[world] = len(stay) + taken, 0, False
            if lost > 0:
                self._record_dropped(population, world, lost)

    def _compact_pooled(self, population: Population) -> None:
        own, new, world = (self.tables[name].columns for name in (population.table, population.new_table, WORLD))
        lost = compact_pooled(population, own, new, world, self._spawned[population.table])
        self._spawned[population.table] = 0
        for losing in np.flatnonzero(lost).tolist():
            self._record_dropped(population, losing, int(lost[losing]))

    def _record_dropped(self, population: Population, world: int, lost: int) -> None:
        """Note those that did not fit into a world."""
        self._world = world
        self.tables[WORLD][f"{population.table}__dropped"].values[world] += lost
        if population.limit.overflow != "drop":
            self.fault(population.overflow_message, lost)
        if population.limit.overflow == "error":
            self._alarm.set()

    def _function(self, system: System, view: TableView | Pair) -> Callable[..., None]:
        key = (system, view.__name__)
        if key not in self._functions:
            self._functions[key] = system.python_function(view, self, self.exact)
        return self._functions[key]
