"""Exact mode: versions of the functions whose bits depend on the device, with the same bits on every device.

With contraction off, everything else that systems may call has the same bits on every device: sums, products,
quotients and square roots round in one way only, and Warp computes vectors, matrices and quaternions with these, in
one order. The exceptions are the elementary functions, which differ between devices; the rotations computed with them;
and ``min``, ``max`` and ``clamp``, which distinguish -0.0 from 0.0 on the GPU but not on the CPU.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.arithmetic.scalars import scalar_math
from worldloom.core.arithmetic.values import make_composite
from worldloom.core.kernels import exact_exponential, exact_trigonometry
from worldloom.core.model.dtypes import FLOATS, SCALARS, canonical, is_composite, scalar_of

PREFIX = "wl_exact_"
"""Prefix of the names of exact versions in generated code."""


class NoExactVersionError(TypeError):
    """Exact mode has no version of a function for these arguments."""


@wp.func
def minimum(a: Any, b: Any):
    """The smaller of two floats: the first where they are equal, the other where one is NaN."""
    if a <= b or b != b:
        return a
    return b


@wp.func
def maximum(a: Any, b: Any):
    """The larger of two floats: the first where they are equal, the other where one is NaN."""
    if a >= b or b != b:
        return a
    return b


@wp.func
def clamp(x: Any, low: Any, high: Any):
    """``x`` between ``low`` and ``high``."""
    return minimum(maximum(low, x), high)


@wp.func
def min_vectors(a: Any, b: Any):
    """The element-wise minimum of two vectors."""
    result = wp.min(a, b)
    for i in range(wp.static(len(a))):
        result[i] = minimum(a[i], b[i])
    return result


@wp.func
def max_vectors(a: Any, b: Any):
    """The element-wise maximum of two vectors."""
    result = wp.max(a, b)
    for i in range(wp.static(len(a))):
        result[i] = maximum(a[i], b[i])
    return result


@wp.func
def min_of(a: Any):
    """The smallest number of a vector."""
    result = a[0]
    for i in range(1, wp.static(len(a))):
        result = minimum(result, a[i])
    return result


@wp.func
def max_of(a: Any):
    """The largest number of a vector."""
    result = a[0]
    for i in range(1, wp.static(len(a))):
        result = maximum(result, a[i])
    return result


_TRIGONOMETRY = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2")
_EXPONENTIAL = ("exp", "log", "log2", "log10", "pow", "cbrt", "sinh", "cosh", "tanh")
_ROTATIONS = ("quat_from_axis_angle", "quat_rpy", "quat_slerp")
_ORDER = {"min": minimum, "max": maximum, "clamp": clamp}
_ORDER_OF_VECTORS = {("min", 2): min_vectors, ("max", 2): max_vectors, ("min", 1): min_of, ("max", 1): max_of}

COMPILED: dict[str, Any] = {
    **{name: getattr(exact_trigonometry, name) for name in (*_TRIGONOMETRY, *_ROTATIONS)},
    **{name: getattr(exact_exponential, name) for name in _EXPONENTIAL},
    **_ORDER,
    **{function.key: function for function in _ORDER_OF_VECTORS.values()},
}
"""The exact versions as Warp functions, by name."""


def version(name: str, argument_types: tuple[Any, ...]) -> tuple[str, Any] | None:
    """The exact version of a Warp function for arguments of these types: its name in generated code, its scalar type.

    None where the function needs none; NoExactVersionError where it needs one that does not exist.
    """
    kinds = {scalar_of(t) if is_composite(t) else t for t in argument_types}
    if not kinds & set(FLOATS):
        return None
    kind = next(iter(kinds))
    if name in _ORDER:
        chosen = _ORDER_OF_VECTORS[name, len(argument_types)].key if is_composite(argument_types[0]) else name
        return PREFIX + chosen, kind
    if name in _TRIGONOMETRY or name in _EXPONENTIAL:
        if kind is wp.float64:
            raise NoExactVersionError(f"exact mode has no version of '{name}' for numbers of 64 bits")
        return PREFIX + name, wp.float32
    if name in _ROTATIONS:
        if kind is not wp.float32:
            raise NoExactVersionError(f"exact mode has a version of '{name}' for numbers of 32 bits only")
        return PREFIX + name, kind
    return None


class _Numpy:
    """Replaces the module ``warp`` in NumPy equivalents: the same operations on NumPy scalars."""

    inf, nan = np.inf, np.nan
    abs, rint, floor = abs, np.rint, np.floor
    min = max = staticmethod(lambda a, b: list(a))  # only the length is used; every number is set afterwards
    static = staticmethod(lambda value: value)

    @staticmethod
    def sqrt(value: Any) -> Any:
        return scalar_math(_KINDS[type(value)])["sqrt"](value)

    @staticmethod
    def cast(value: Any, convert: Any) -> Any:
        """The same bits as a number of the target type of ``convert``."""
        return value.view(_TYPES[convert])

    @staticmethod
    def quat(*parts: Any) -> Any:
        return make_composite(canonical(wp.quat), parts)


_TYPES: dict[Callable[..., Any], Any] = {}
_KINDS = {SCALARS[kind]: kind for kind in FLOATS}
for _kind in (wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float32, wp.float64):
    _TYPES[scalar_math(_kind).cast] = SCALARS[_kind]
    setattr(_Numpy, _kind.__name__, staticmethod(scalar_math(_kind).cast))


def numpy_equivalent(function: Any) -> Callable[..., Any]:
    """A Warp function in Python: the same code, run on NumPy scalars, which round as compiled code does."""
    if function not in _NUMPY_EQUIVALENTS:
        source = function.func
        space = {
            name: _numpy_value(value) for name, value in source.__globals__.items() if name in source.__code__.co_names
        }
        _NUMPY_EQUIVALENTS[function] = types.FunctionType(source.__code__, {**space, "wp": _Numpy}, source.__name__)
    return _NUMPY_EQUIVALENTS[function]


def _numpy_value(value: Any) -> Any:
    """A global of a Warp function in its NumPy equivalent."""
    if isinstance(value, wp.Function):
        return numpy_equivalent(value)
    if type(value) in SCALARS:
        return SCALARS[type(value)](value.value)
    if is_composite(type(value)):
        return [SCALARS[scalar_of(type(value))](number) for number in value]
    return value


_NUMPY_EQUIVALENTS: dict[Any, Callable[..., Any]] = {}


def _interpreted(function: Any) -> Callable[..., Any]:
    """The NumPy equivalent of a function, with arguments and results of interpreted systems."""
    run = numpy_equivalent(function)

    def call(*arguments: Any) -> Any:
        result = run(*arguments)
        return arguments[0].__class__(result) if result.__class__ is list else result

    return call if function in _ORDER_OF_VECTORS.values() else run


INTERPRETED: dict[str, Callable[..., Any]] = {
    PREFIX + name: _interpreted(function) for name, function in COMPILED.items()
}
"""The exact versions for interpreted systems, by their name in generated code."""

SPACE: dict[str, Any] = {PREFIX + name: function for name, function in COMPILED.items()}
"""The exact versions for compiled systems, by their name in generated code."""
