"""Rows of tables for interpreted systems and debuggers: a class per table, with a property per component."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from worldloom.core.arithmetic.values import interpreted, size_of
from worldloom.core.model.dtypes import is_composite, shape_of
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.population import SERIAL
from worldloom.core.model.spaces import Discrete, MultiDiscrete
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.table import Table

_ZERO_32, _ZERO_64 = np.int32(0), np.int64(0)


class Row:
    """One entity, or one world: its row in the table, and its slot among its kind in its world."""

    __slots__ = ("_index", "_slot")
    _columns: ClassVar[dict[str, Column]]
    _table: ClassVar[str]

    def __init__(self, index: int, slot: int) -> None:
        self._index, self._slot = index, slot

    @property
    def id(self) -> np.int32:
        slot: np.int32 = _ZERO_32 + self._slot
        return slot

    @property
    def ref(self) -> np.int64:
        """The value of a reference to this entity."""
        serials = self._columns.get(SERIAL)
        reference: np.int64 = _ZERO_64 + self._slot if serials is None else serials.values[self._index]
        return reference

    def __dir__(self) -> list[str]:
        return ["id", "ref", *self._columns]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no component '{name}' here: there are {', '.join(self._columns)}")

    def __repr__(self) -> str:
        columns = {n: c for n, c in self._columns.items() if c.field.role is not Role.ENGINE or n == "active"}
        values = ", ".join(f"{n}={getattr(self, n)}" for n, c in columns.items() if not c.field.is_array)
        return f"<{self._table} {self._slot}: {values}>"


class ArrayView:
    """An array component of one row."""

    __slots__ = ("_field", "_values")

    def __init__(self, field: Field, values: Any) -> None:
        self._field, self._values = field, values

    def __getitem__(self, index: Any) -> Any:
        return _interpreted(self._values[index], self._field)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._values[index] = _shaped(value, self._field)

    def __len__(self) -> int:
        return self._field.shape[0]

    def __repr__(self) -> str:
        return repr(self._values)


def row_class(table: Table) -> type[Row]:
    """The class of the rows of a table. It holds the memory of all columns but configurations, which can be resized."""
    members: dict[str, Any] = {"__slots__": (), "_columns": table.all_columns, "_table": table.table_name}
    for name, column in table.all_columns.items():
        members.setdefault(name, property(_getter(column), _setter(column)))
    return type(table.table_name, (Row,), members)


def raw(row: Row, name: str) -> Any:
    """A component as it is stored, without a check of the range of an action."""
    return _reader(row._columns[name])(row._index)


def _getter(column: Column) -> Callable[[Any], Any]:
    field = column.field
    if field.batch_wide:
        return _config_getter(column)
    if field.is_array:
        values = column.values
        return lambda row: ArrayView(field, values[row._index])
    read = _reader(column)
    if field.role is Role.ACTION and isinstance(field.space, (Discrete, MultiDiscrete)):
        return _action_getter(read, field)
    if is_composite(field.dtype):
        return lambda row: read(row._index)
    values = column.values
    return lambda row: values[row._index]


def _config_getter(column: Column) -> Callable[[Any], Any]:
    """A getter for a configuration: one value for all worlds or one for each, which can change between two reads."""
    field = column.field

    def get(row: Any) -> Any:
        values = column.values
        value = values[min(row._index, len(values) - 1)]
        return ArrayView(field, value) if field.is_array else _interpreted(value, field)

    return get


def _interpreted(value: Any, field: Field) -> Any:
    """A stored value as systems see it."""
    return interpreted(field.dtype)(value.ravel()) if is_composite(field.dtype) else value


def _reader(column: Column) -> Callable[[int], Any]:
    """A function that reads the value at an index."""
    values = column.values
    if not is_composite(column.field.dtype):
        return lambda index: values[index]
    vector, size = interpreted(column.field.dtype), size_of(column.field.dtype)
    flat = _flat(column)
    if flat is None or size > 4:
        return lambda index: vector(values[index].ravel())
    elements = ", ".join(f"flat[first + {i}]" if i else "flat[first]" for i in range(size))
    names: dict[str, Any] = {"flat": flat, "vector": vector}
    exec(f"def read(index):\n    first = index * {size}\n    return vector(({elements},))", names)  # noqa: S102
    read: Callable[[int], Any] = names["read"]
    return read


def _flat(column: Column) -> np.ndarray[Any, Any] | None:
    """A flat view of a column of vectors; None where its memory is not contiguous."""
    flat = column.values.reshape(-1)
    return flat if np.shares_memory(flat, column.values) else None


def _action_getter(read: Callable[[int], Any], field: Field) -> Callable[[Any], Any]:
    """A getter for an action. An invalid choice is read as choice 0, as in compiled systems."""
    space = field.space
    if isinstance(space, Discrete):
        choices = space.n

        def get(row: Any) -> Any:
            value = read(row._index)
            return value if 0 <= value < choices else _ZERO_32

        return get
    assert isinstance(space, MultiDiscrete)
    vector, sizes = interpreted(field.dtype), space.choices
    return lambda row: vector([v if 0 <= v < n else _ZERO_32 for v, n in zip(read(row._index), sizes, strict=True)])


def _setter(column: Column) -> Callable[[Any, Any], None]:
    field = column.field
    if field.batch_wide or field.is_array:

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
