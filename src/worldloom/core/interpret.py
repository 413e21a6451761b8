"""The interpreter: the same systems in plain Python, row by row, so that breakpoints and print work in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from worldloom.core.fields import Field, Role, is_composite, shape_of
from worldloom.core.lifecycle import TableView
from worldloom.core.math import construct
from worldloom.core.random import STREAM_SHIFT, Key
from worldloom.core.rewrite.kernel_target import WORLD
from worldloom.core.schedule import HostNode, Node, Schedule
from worldloom.core.spaces import Discrete, MultiDiscrete
from worldloom.core.system import System
from worldloom.core.table import Column, Table


class Row:
    """One entity, or one world, as interpreted systems and the debugger see it."""

    __slots__ = ("_columns", "_index", "_slot")

    def __init__(self, columns: dict[str, Column], index: int, slot: int) -> None:
        object.__setattr__(self, "_columns", columns)
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_slot", slot)

    @property
    def id(self) -> np.int32:
        return np.int32(self._slot)

    @property
    def ref(self) -> np.int32:
        """What a reference to this entity holds."""
        return np.int32(self._slot)

    def __dir__(self) -> list[str]:
        return ["id", "ref", *self._columns]

    def _find(self, name: str) -> Column:
        if name not in self._columns:
            raise AttributeError(f"there is no component '{name}' here: there are {', '.join(self._columns)}")
        found: Column = self._columns[name]
        return found

    def __getattr__(self, name: str) -> Any:
        column = self._find(name)
        if column.field.is_array:
            return Elements(column, self._index)
        return _clean(_get(column.values, (_place(column, self._index),), column.field), column.field)

    def __setattr__(self, name: str, value: Any) -> None:
        column = self._find(name)
        column.values[_place(column, self._index)] = _shaped(value, column.field)

    def __repr__(self) -> str:
        told = {n: c for n, c in self._columns.items() if c.field.role is not Role.ENGINE or n == "active"}
        values = ", ".join(f"{n}={getattr(self, n)}" for n, c in told.items() if not c.field.is_array)
        table = next(iter(self._columns.values())).table
        return f"<{table} {self._slot}: {values}>"


class Elements:
    """An array component of one row."""

    def __init__(self, column: Column, index: int) -> None:
        self._field, self._values = column.field, column.values[index]

    def __getitem__(self, place: Any) -> Any:
        return _get(self._values, place if isinstance(place, tuple) else (place,), self._field)

    def __setitem__(self, place: Any, value: Any) -> None:
        self._values[place] = _shaped(value, self._field)

    def __len__(self) -> int:
        return self._field.shape[0]

    def __repr__(self) -> str:
        return repr(self._values)


def _shaped(value: Any, field: Field) -> Any:
    """``value`` as NumPy stores it."""
    return np.asarray(value).reshape(shape_of(field.dtype)) if is_composite(field.dtype) else value


def _place(column: Column, index: int) -> int:
    return min(index, column.array.shape[0] - 1) if column.field.role is Role.CONFIG else index


def _get(values: Any, place: tuple[Any, ...], field: Field) -> Any:
    found = values[place]
    return construct(field.dtype, [n.item() for n in found.ravel()]) if is_composite(field.dtype) else found


def _clean(value: Any, field: Field) -> Any:
    """An action that does not exist counts as choice 0, as in compiled systems."""
    if field.role is Role.ACTION and isinstance(field.space, Discrete):
        return value if 0 <= value < field.space.n else np.int32(0)
    if field.role is Role.ACTION and isinstance(field.space, MultiDiscrete):
        return construct(field.dtype, [v if 0 <= v < n else 0 for v, n in zip(value, field.space.choices, strict=True)])
    return value


class Interpreter:
    """Runs the systems of a schedule on the tables of a simulation. It is ``wl_runtime`` inside the systems."""

    def __init__(
        self,
        schedule: Schedule,
        tables: dict[str, Table],
        num_worlds: int,
        offset: int,
        fault: Callable[[str, int, int, int, int], None],
        exact: bool = False,
    ) -> None:
        self.exact = exact
        self.schedule, self.tables, self.num_worlds, self.offset = schedule, tables, num_worlds, offset
        self._report = fault
        self._functions: dict[tuple[System, str], Callable[..., None]] = {}
        self._world = 0
        self._stream = 0

    # -- what systems call -------------------------------------------------------------------------------------------

    @property
    def world_id(self) -> np.int32:
        return np.int32(self._world + self.offset)

    def count(self, table: str) -> np.int32:
        return np.int32(self.schedule.counts[table])

    def rows(self, table: str) -> Iterator[Row]:
        size = self.schedule.counts[table]
        columns = self.tables[table].columns
        return (Row(columns, self._world * size + slot, slot) for slot in range(size))

    def random(self, function: str, draw: int, *arguments: Any) -> Any:
        world = self.tables[WORLD]
        seed, episode, step = (int(world[n].values[self._world]) for n in ("seed", "episode", "step"))
        return getattr(Key(seed, self._world + self.offset, episode, step, self._stream), function)(int(draw), *arguments)

    def raw(self, row: Row, name: str) -> Any:
        column = row._columns[name]
        return _get(column.values, (row._index,), column.field)

    def end(self, row: Row, what: str) -> None:
        setattr(row, what, True)
        if "active" in row._columns:
            row.active = False

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
        size = self.schedule.counts[table]
        place = int(slot)
        if not 0 <= place < size:
            self.fault(message, slot)
            place = 0
        return Row(self.tables[table].columns, self._world * size + place, place)

    # -- running -----------------------------------------------------------------------------------------------------

    def run(self, entries: list[Node | HostNode], simulation: Any) -> None:
        """Run the entries of a schedule one after the other, each for all its rows."""
        with np.errstate(all="ignore"):
            for entry in entries:
                if isinstance(entry, HostNode):
                    entry.call(simulation)
                else:
                    self._run_node(entry)

    def _run_node(self, node: Node) -> None:
        function = self._function(node.system, node.view)
        mask = None if node.mask is None else self.tables[WORLD][node.mask[0]].values == node.mask[1]
        size = self.schedule.counts[node.table]
        own, world_columns = self.tables[node.table].columns, self.tables[WORLD].columns
        system = node.system
        for world in range(self.num_worlds):
            if mask is not None and not mask[world]:
                continue
            self._world = world
            for slot in range(size):
                self._stream = node.ordinal << STREAM_SHIFT | slot
                named = {system.entity_parameter: Row(own, world * size + slot, slot), system.world_parameter: Row(world_columns, world, world + self.offset)}
                function(**{name: row for name, row in named.items() if name is not None})

    def _function(self, system: System, view: TableView) -> Callable[..., None]:
        key = (system, view.__name__)
        if key not in self._functions:
            self._functions[key] = system.python_function(view, self, self.exact)
        return self._functions[key]
