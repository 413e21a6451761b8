"""Columns as kernels in Python see them, and the native functions that load and store their elements."""

from __future__ import annotations

import math
import random
import time
from typing import Any

import numpy as np

from worldloom.core.arithmetic.values import Composite, interpreted
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.dtypes import is_composite, shape_of


class Memory:
    """A column as kernels see it.

    Its elements are numbers, or vectors of the type ``dtype``. Unless a thread is ``alone``, others overtake it now and
    then.
    """

    alone = False

    def __init__(self, values: np.ndarray[Any, Any], dtype: Any = None, alone: bool = False) -> None:
        self.alone = alone
        self.vector = interpreted(dtype) if dtype is not None and is_composite(dtype) else None
        self.inner = shape_of(dtype) if self.vector is not None else ()
        self.values, self.shape = values, values.shape[: values.ndim - len(self.inner)]

    def __getitem__(self, place: Any) -> Any:
        if not self.alone:
            dawdle()
        found = self.values[place]
        return found if self.vector is None else self.vector(list(found.ravel()))

    def __setitem__(self, place: Any, value: Any) -> None:
        if not self.alone:
            dawdle()
        self.values[place] = value if self.vector is None else plain(value, self.inner)


class Slot(Memory):
    """The row of one thread in shared memory: nothing of it can be read or stored before it was written."""

    def __init__(self, column: Memory, row: Any) -> None:
        self.vector, self.inner = column.vector, column.inner
        self.shape, self.row, self.held = column.shape, int(row), dict[tuple[int, ...], Any]()

    def __getitem__(self, place: Any) -> Any:
        return self.held[self._inner(place)]

    def __setitem__(self, place: Any, value: Any) -> None:
        self.held[self._inner(place)] = value

    def _inner(self, place: Any) -> tuple[int, ...]:
        row, *inner = map(int, place)
        assert row == self.row, "a thread has only its own row in shared memory"
        return tuple(inner)

    @staticmethod
    def store(column: Memory, slot: Slot, row: Any, written: Any) -> None:
        """What all threads of a warp do together for this thread."""
        if written:
            for inner in np.ndindex(*column.shape[1:]):
                column.values[(int(row), *inner)] = plain(slot.held[inner], column.inner)


def move_row(to: Memory, source: Memory, row: Any, lane: Any) -> None:
    """The share of one thread of a warp in moving a row between memory and the shared memory of the warp."""
    size = math.prod(to.shape[1:])
    for place in range(int(lane), size, WARP_SIZE):
        put_element(to, row, size, place, get_element(source, row, size, place))


def dawdle() -> None:
    """Let other threads overtake this one now and then."""
    if random.random() < 0.02:  # noqa: S311
        time.sleep(1e-4)


def get_element(column: Memory, row: Any, size: Any = 1, place: Any = 0) -> Any:
    """The element of a row at a place; ``size`` elements are a row."""
    return column[np.unravel_index(int(row) * int(size) + int(place), column.shape)]


def put_element(column: Memory, row: Any, *rest: Any) -> None:
    """Store an element: ``rest`` is the size of a row, the place and the value, or the value alone."""
    size, place = rest[:-1] or (1, 0)
    column[np.unravel_index(int(row) * int(size) + int(place), column.shape)] = rest[-1]


def fill_elements(column: Memory, row: Any, size: Any, place: Any, count: Any, value: Any) -> None:
    """Store a value into ``count`` elements from a place on."""
    for element in range(int(place), int(place) + int(count)):
        put_element(column, row, size, element, value)


def copy_columns(lane: Any, row: Any, source: Any, *columns: Memory) -> None:
    """The share of one thread of a warp in copying rows; columns to copy to and from alternate."""
    for to, of in zip(columns[::2], columns[1::2], strict=True):
        size = math.prod(to.shape[1:])
        for place in range(int(lane), size, WARP_SIZE):
            put_element(to, row, size, place, get_element(of, source, size, place))


def clear_columns(lane: Any, row: Any, *columns: Memory) -> None:
    """The share of one thread of a warp in clearing a row."""
    for column in columns:
        size = math.prod(column.shape[1:])
        for place in range(int(lane), size, WARP_SIZE):
            put_element(column, row, size, place, 0)


def put_part(column: Memory, row: Any, place: Any, value: Any) -> None:
    """Store one number of the vector in a row."""
    dawdle()
    column.values[int(row)].reshape(-1)[int(place)] = value


def plain(value: Any, shape: tuple[int, ...]) -> Any:
    """A number, or a vector as an array."""
    return np.array(tuple(value)).reshape(shape) if isinstance(value, Composite) else value
