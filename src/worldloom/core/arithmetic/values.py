"""Vectors, matrices, quaternions and transforms of interpreted systems: immutable tuples of NumPy scalars."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from worldloom.core.model.dtypes import SCALARS, canonical, is_composite, scalar_of, shape_of, type_name


def _operator(name: str) -> Callable[[Any, Any], Any]:
    """A binary operator: the arithmetic function ``name``, which does not exist yet when the class is created."""
    return lambda self, other: Composite.operate(name, self, other)


class Composite(tuple[Any, ...]):
    """A vector, matrix, quaternion or transform: its numbers in row-major order, each of the exact NumPy type.

    The subclasses carry the attributes by which :mod:`worldloom.core.model.fields` recognizes component types, so that
    ``canonical(type(value))`` is the Warp type.
    """

    __slots__ = ()
    _wp_scalar_type_: ClassVar[Any]
    _wp_generic_type_hint_: ClassVar[Any]
    _shape_: ClassVar[tuple[int, ...]]
    dtype: ClassVar[Any]
    """The corresponding Warp type."""
    operate: ClassVar[Callable[..., Any]]
    """Calls an arithmetic function by name; set by :mod:`worldloom.core.arithmetic.functions`."""

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
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash((self.dtype, tuple(self)))

    # Operators for use in a debugger; generated code calls the functions directly.

    __add__, __sub__, __truediv__ = _operator("add"), _operator("sub"), _operator("div")
    __mul__ = __matmul__ = _operator("mul")

    def __rmul__(self, other: Any) -> Any:
        return Composite.operate("mul", other, self)

    def __neg__(self) -> Any:
        return Composite.operate("neg", self)


class _Matrix(Composite):
    """A matrix: ``m[i, j]`` is a number, ``m[i]`` a row, ``len(m)`` the number of rows."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        columns = self._shape_[1]
        if isinstance(index, tuple):
            return tuple.__getitem__(self, range(self._shape_[0])[index[0]] * columns + range(columns)[index[1]])
        first = range(self._shape_[0])[index] * columns
        return tuple(self)[first : first + columns]

    def __len__(self) -> int:
        return self._shape_[0]


def _named_component(index: int) -> Any:
    return property(lambda value: value[index])


_CLASSES: dict[Any, type[Composite]] = {}


def interpreted(dtype: Any) -> type[Composite]:
    """The class of interpreted values of a component type; it takes one sequence of exact NumPy numbers."""
    dtype = canonical(dtype)
    if dtype not in _CLASSES:
        shape = shape_of(dtype)
        attributes: dict[str, Any] = {
            "__slots__": (),
            "_wp_scalar_type_": scalar_of(dtype),
            "_shape_": shape,
            "dtype": dtype,
        }
        attributes["_wp_generic_type_hint_"] = dtype._wp_generic_type_hint_
        if len(shape) == 1:
            attributes.update({name: _named_component(index) for index, name in enumerate("xyzw"[: shape[0]])})
        _CLASSES[dtype] = type(dtype.__name__, (Composite if len(shape) == 1 else _Matrix,), attributes)
    return _CLASSES[dtype]


def size_of(dtype: Any) -> int:
    """The number of numbers in a value of a component type."""
    size = 1
    for n in shape_of(dtype):
        size *= n
    return size


def numbers_of(value: Any) -> list[Any]:
    """The numbers of a vector or an array of any form, as NumPy scalars of the exact type where it has them."""
    if isinstance(value, Composite):
        return list(tuple(value))
    if is_composite(type(value)):
        number = SCALARS[scalar_of(type(value))]
        return [number(getattr(n, "value", n)) for n in np.asarray(value).ravel().tolist()]
    return list(np.asarray(value).ravel())


def make_composite(dtype: Any, arguments: Iterable[Any]) -> Composite:
    """An interpreted value from numbers or vectors, from one number for all, or from nothing (zeros)."""
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
    """:func:`make_composite` for one type, with the numbers as arguments."""
    return lambda *arguments: make_composite(dtype, arguments)


def as_interpreted(value: Any) -> Any:
    """A Warp vector as an interpreted one; other values unchanged."""
    if isinstance(value, Composite) or not is_composite(type(value)):
        return value
    return make_composite(canonical(type(value)), [value])


def as_warp(value: Any) -> Any:
    """An interpreted vector, or a tuple of them, as Warp vectors; other values unchanged."""
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
