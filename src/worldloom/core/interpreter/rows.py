"""Rows of tables as interpreted systems and the debugger see them: a class per table, with a property per component."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from worldloom.core.arithmetic.values import interpreted, size_of
from worldloom.core.model.fields import Field, Role, is_composite, shape_of
from worldloom.core.model.population import SERIAL
from worldloom.core.model.spaces import Discrete, MultiDiscrete
from worldloom.core.runtime.table import Column, Table

_ZERO_32, _ZERO_64 = np.int32(0), np.int64(0)


class Row:
    """One entity, or one world: its place in the table, and its place among its kind in its world."""

    __slots__ = ("_index", "_slot")
    _columns: ClassVar[dict[str, Column]]
    _table: ClassVar[str]

    def __init__(self, index: int, slot: int) -> None:
        self._index, self._slot = index, slot

    @property
    def id(self) -> np.int32:
        found: np.int32 = _ZERO_32 + self._slot
        return found

    @property
    def ref(self) -> np.int64:
        """What a reference to this entity holds."""
        serials = self._columns.get(SERIAL)
        found: np.int64 = _ZERO_64 + self._slot if serials is None else serials.values[self._index]
        return found

    def __dir__(self) -> list[str]:
        return ["id", "ref", *self._columns]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no component '{name}' here: there are {', '.join(self._columns)}")

    def __repr__(self) -> str:
        told = {n: c for n, c in self._columns.items() if c.field.role is not Role.ENGINE or n == "active"}
        values = ", ".join(f"{n}={getattr(self, n)}" for n, c in told.items() if not c.field.is_array)
        return f"<{self._table} {self._slot}: {values}>"


class ArrayView:
    """An array component of one row."""

    __slots__ = ("_field", "_values")

    def __init__(self, field: Field, values: Any) -> None:
        self._field, self._values = field, values

    def __getitem__(self, place: Any) -> Any:
        found = self._values[place]
        return interpreted(self._field.dtype)(found.ravel()) if is_composite(self._field.dtype) else found

    def __setitem__(self, place: Any, value: Any) -> None:
        self._values[place] = _shaped(value, self._field)

    def __len__(self) -> int:
        return self._field.shape[0]

    def __repr__(self) -> str:
        return repr(self._values)


def row_class(table: Table) -> type[Row]:
    """The class of the rows of a table. It keeps the columns' memory, which stays where it is for all but configurations."""
    members: dict[str, Any] = {"__slots__": (), "_columns": table.columns, "_table": table.name}
    for name, column in table.columns.items():
        members.setdefault(name, property(_getter(column), _setter(column)))
    return type(table.name, (Row,), members)


def raw(row: Row, name: str) -> Any:
    """A component as it is stored, an action in range or not."""
    return _reader(row._columns[name])(row._index)


def _getter(column: Column) -> Callable[[Any], Any]:
    field = column.field
    if field.role is Role.CONFIG:
        return _configuration(column)
    if field.is_array:
        values = column.values
        return lambda row: ArrayView(field, values[row._index])
    read = _reader(column)
    if field.role is Role.ACTION and isinstance(field.space, (Discrete, MultiDiscrete)):
        return _choice(read, field)
    if is_composite(field.dtype):
        return lambda row: read(row._index)
    values = column.values
    return lambda row: values[row._index]


def _configuration(column: Column) -> Callable[[Any], Any]:
    """A configuration has one value for all worlds or one for each, which may change while the simulation lives."""
    field = column.field

    def get(row: Any) -> Any:
        values = column.values
        found = values[min(row._index, len(values) - 1)]
        if field.is_array:
            return ArrayView(field, found)
        return interpreted(field.dtype)(found.ravel()) if is_composite(field.dtype) else found

    return get


def _reader(column: Column) -> Callable[[int], Any]:
    """What reads the value at an index."""
    values = column.values
    if not is_composite(column.field.dtype):
        return lambda index: values[index]
    made, size = interpreted(column.field.dtype), size_of(column.field.dtype)
    flat = _flat(column)
    if flat is None or size > 4:
        return lambda index: made(values[index].ravel())
    text = ", ".join(f"flat[first + {i}]" if i else "flat[first]" for i in range(size))
    space: dict[str, Any] = {"flat": flat, "made": made}
    exec(f"def read(index):\n    first = index * {size}\n    return made(({text},))", space)
    found: Callable[[int], Any] = space["read"]
    return found


def _flat(column: Column) -> np.ndarray[Any, Any] | None:
    """All numbers of a column of vectors one after the other, in the column's own memory; None where they do not lie so."""
    flat = column.values.reshape(-1)
    return flat if np.shares_memory(flat, column.values) else None


def _choice(read: Callable[[int], Any], field: Field) -> Callable[[Any], Any]:
    """An action that does not exist counts as choice 0, as in compiled systems."""
    space = field.space
    if isinstance(space, Discrete):
        most = space.n

        def get(row: Any) -> Any:
            value = read(row._index)
            return value if 0 <= value < most else _ZERO_32

        return get
    assert isinstance(space, MultiDiscrete)
    made, choices = interpreted(field.dtype), space.choices
    return lambda row: made([v if 0 <= v < n else _ZERO_32 for v, n in zip(read(row._index), choices, strict=True)])


def _setter(column: Column) -> Callable[[Any, Any], None]:
    field = column.field
    if field.role is Role.CONFIG or field.is_array:

        def store(row: Any, value: Any) -> None:
            column.values[min(row._index, len(column.values) - 1)] = _shaped(value, field)

        return store
    values = column.values
    if not is_composite(field.dtype):
        return lambda row, value: values.__setitem__(row._index, value)
    flat, size = _flat(column), size_of(field.dtype)
    if flat is None or size > 4:
        return lambda row, value: values.__setitem__(row._index, _shaped(value, field))

    def put(row: Any, value: Any) -> None:
        first = row._index * size
        for number in value:
            flat[first] = number
            first += 1

    return put


def _shaped(value: Any, field: Field) -> Any:
    """``value`` as NumPy stores it."""
    return np.asarray(value).reshape(shape_of(field.dtype)) if is_composite(field.dtype) else value
