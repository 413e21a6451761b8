"""Vectors, matrices, quaternions and transforms as interpreted systems hold them: immutable rows of NumPy numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from worldloom.core.model.fields import SCALARS, canonical, is_composite, scalar_of, shape_of, type_name


class Composite(tuple[Any, ...]):
    """A vector, matrix, quaternion or transform: its numbers one after the other, row by row, each of the exact NumPy type.

    The subclasses carry the attributes by which :mod:`worldloom.core.model.fields` knows component types, so that ``canonical(type(value))`` is
    the Warp type.
    """

    __slots__ = ()
    _wp_scalar_type_: ClassVar[Any]
    _wp_generic_type_hint_: ClassVar[Any]
    _shape_: ClassVar[tuple[int, ...]]
    dtype: ClassVar[Any]
    """The Warp type that it stands for."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(tuple(self), dtype=dtype or SCALARS[self._wp_scalar_type_]).reshape(self._shape_)

    def __repr__(self) -> str:
        return f"{type_name(self.dtype)}({', '.join(str(n) for n in tuple(self))})"

    def __eq__(self, other: object) -> bool:
        if not is_composite(type(other)) and not isinstance(other, (tuple, list, np.ndarray)):
            return NotImplemented
        numbers = np.asarray(other)
        return numbers.size == tuple.__len__(self) and all(
            a == b for a, b in zip(tuple(self), numbers.ravel(), strict=True)
        )

    def __ne__(self, other: object) -> bool:
        found = self.__eq__(other)
        return found if found is NotImplemented else not found

    def __hash__(self) -> int:
        return hash((self.dtype, tuple(self)))

    # What a debugger's user may type; generated code calls the functions behind these directly.

    def __add__(self, other: Any) -> Any:
        return _calculate("add", self, other)

    def __sub__(self, other: Any) -> Any:
        return _calculate("sub", self, other)

    def __mul__(self, other: Any) -> Any:
        return _calculate("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _calculate("mul", other, self)

    def __matmul__(self, other: Any) -> Any:
        return _calculate("mul", self, other)

    def __truediv__(self, other: Any) -> Any:
        return _calculate("div", self, other)

    def __neg__(self) -> Any:
        return _calculate("neg", self)


class _Matrix(Composite):
    """A matrix: ``m[i, j]`` is a number, ``m[i]`` a row, and it is as long as it has rows."""

    __slots__ = ()

    def __getitem__(self, place: Any) -> Any:
        columns = self._shape_[1]
        if isinstance(place, tuple):
            return tuple.__getitem__(self, range(self._shape_[0])[place[0]] * columns + range(columns)[place[1]])
        first = range(self._shape_[0])[place] * columns
        return tuple(self)[first : first + columns]

    def __len__(self) -> int:
        return self._shape_[0]


def _calculate(name: str, *arguments: Any) -> Any:
    from worldloom.core.arithmetic.functions import interpret_call

    return interpret_call(name, *arguments)


def _letter(place: int) -> Any:
    return property(lambda value: value[place])


_CLASSES: dict[Any, type[Composite]] = {}


def interpreted(dtype: Any) -> type[Composite]:
    """The class of interpreted values of a component type; it takes one sequence of exact NumPy numbers."""
    dtype = canonical(dtype)
    if dtype not in _CLASSES:
        shape = shape_of(dtype)
        marks: dict[str, Any] = {
            "__slots__": (),
            "_wp_scalar_type_": scalar_of(dtype),
            "_shape_": shape,
            "dtype": dtype,
        }
        marks["_wp_generic_type_hint_"] = dtype._wp_generic_type_hint_
        if len(shape) == 1:
            marks.update({letter: _letter(place) for place, letter in enumerate("xyzw"[: shape[0]])})
        _CLASSES[dtype] = type(dtype.__name__, (Composite if len(shape) == 1 else _Matrix,), marks)
    return _CLASSES[dtype]


def size_of(dtype: Any) -> int:
    """How many numbers a value of a component type has."""
    size = 1
    for n in shape_of(dtype):
        size *= n
    return size


def numbers_of(value: Any) -> list[Any]:
    """The numbers of a vector or of an array of any form, as exact NumPy numbers where it has them."""
    if isinstance(value, Composite):
        return list(tuple(value))
    if is_composite(type(value)):
        number = SCALARS[scalar_of(type(value))]
        return [number(getattr(n, "value", n)) for n in np.asarray(value).ravel().tolist()]
    return list(np.asarray(value).ravel())


def made(dtype: Any, arguments: Iterable[Any]) -> Composite:
    """An interpreted value from its numbers, from vectors that hold them, from one number for all, or from nothing (zeros)."""
    number, size = SCALARS[scalar_of(dtype)], size_of(dtype)
    numbers: list[Any] = []
    for argument in arguments:
        numbers += numbers_of(argument) if is_composite(type(argument)) else [argument]
    if len(numbers) == 1:
        numbers *= size
    if not numbers:
        numbers = [0] * size
    if len(numbers) != size:
        raise TypeError(f"{type_name(dtype)} takes {size} numbers, not {len(numbers)}")
    return interpreted(dtype)([number(getattr(n, "value", n)) for n in numbers])


def composite_maker(dtype: Any) -> Callable[..., Composite]:
    """:func:`made` for one type, taking the numbers as arguments."""
    return lambda *arguments: made(dtype, arguments)


def as_interpreted(value: Any) -> Any:
    """A Warp vector as its interpreted form; anything else as it is."""
    if isinstance(value, Composite) or not is_composite(type(value)):
        return value
    return made(canonical(type(value)), [value])


def as_warp(value: Any) -> Any:
    """An interpreted vector, or several in a tuple, as Warp's; anything else as it is."""
    if isinstance(value, Composite):
        return value.dtype(*[n.item() for n in tuple(value)])
    if type(value) is tuple:
        return tuple(as_warp(part) for part in value)
    return value


def component(value: Composite, row: Any, column: Any) -> Any:
    """One number of a matrix."""
    return tuple.__getitem__(value, int(row) * value._shape_[1] + int(column))


def with_component(value: Composite, number: Any, *indices: Any) -> Composite:
    """``value`` with one number replaced."""
    numbers = list(tuple(value))
    numbers[int(indices[0]) if len(indices) == 1 else int(indices[0]) * value._shape_[1] + int(indices[1])] = number
    return value.__class__(numbers)
