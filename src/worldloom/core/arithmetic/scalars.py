"""Functions of single numbers, one set per scalar type, on NumPy scalars of exactly that type.

NumPy's operators on such scalars round once to their type and wrap integers in two's complement. Creating a NumPy
scalar by calling its type is several times slower than one operation. Results of the C library and of Python are
therefore converted with ``one * value`` (floats) or ``zero + value`` (integers), which NumPy first rounds to the type
of ``one``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.arithmetic import libm
from worldloom.core.model.dtypes import FLOATS, SCALARS

Function = Callable[..., Any]

RAD_TO_DEG, DEG_TO_RAD = 57.29577951308232087679, 0.01745329251994329577
_LONG = (np.int64, np.uint64)
_ONE_32 = np.float32(1.0)


class ScalarMath:
    """One scalar type: its constants, and its functions by name in ``functions``."""

    def __init__(self, kind: Any) -> None:
        self.kind, self.number = kind, SCALARS[kind]
        self.real = kind in FLOATS
        self.zero, self.one = self.number(0), self.number(1)
        with np.errstate(all="ignore"):
            self.minus_one = self.zero - self.one
        self.cast: Function = _to_float(self) if self.real else _to_integer(self)
        self.functions: dict[str, Function] = {
            **_common(self),
            **(_float_functions(self) if self.real else _integer_functions(self)),
        }
        self.fma: Function = _fused(self)

    def __getitem__(self, name: str) -> Function:
        return self.functions[name]


@functools.cache
def scalar_math(kind: Any) -> ScalarMath:
    """The constants and functions of a scalar type other than bool."""
    return ScalarMath(kind)


# -- conversions -----------------------------------------------------------------------------------------------------


def _to_float(of: ScalarMath) -> Function:
    one, number = of.one, of.number
    if of.kind is wp.float64:
        return lambda value: one * float(value)
    if of.kind is wp.float16:  # compiled code converts through 32 bits
        return lambda value: one * float(_ONE_32 * float(value))

    def cast(value: Any) -> Any:
        if value.__class__ in _LONG:  # through a Python float of 64 bits it would round twice
            return number(value)
        return one * float(value)

    return cast


def _to_integer(of: ScalarMath) -> Function:
    info, zero = np.iinfo(of.number), of.zero
    low, high, span = int(info.min), int(info.max), 1 << info.bits

    def cast(value: Any) -> Any:
        whole = int(value)
        if low <= whole <= high:
            return zero + whole
        return zero + ((whole - low) % span + low)

    return cast


@functools.cache
def cast(kind: Any) -> Function:
    """The conversion to ``kind``: integers wrap, floats are rounded, or truncated to integers."""
    return bool if kind is wp.bool else scalar_math(kind).cast


# -- functions of every type -----------------------------------------------------------------------------------------


def _common(of: ScalarMath) -> dict[str, Function]:
    zero, one, minus_one = of.zero, of.one, of.minus_one
    return {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "neg": lambda a: -a,
        "abs": abs,
        "sign": lambda a: minus_one if a < zero else one,
        "step": lambda a: one if a < zero else zero,
        "nonzero": lambda a: zero if a == zero else one,
    }


def _integer_functions(of: ScalarMath) -> dict[str, Function]:
    zero = of.zero

    def minimum(a: Any, b: Any) -> Any:
        return a if a < b else b

    def maximum(a: Any, b: Any) -> Any:
        return a if a > b else b

    def divide(a: Any, b: Any) -> Any:
        """The quotient truncated to an integer, as in C; 0 where ``b`` is 0."""
        quotient = a // b
        return quotient + of.one if b != zero and (a < zero) != (b < zero) and quotient * b != a else quotient

    return {"min": minimum, "max": maximum, "clamp": lambda x, low, high: minimum(maximum(low, x), high), "div": divide}


# -- functions of floats ---------------------------------------------------------------------------------------------


def min_real(a: Any, b: Any) -> Any:
    """The smaller of two floats: the first where they are equal, the other where one is NaN."""
    return a if a <= b else b if b == b else a


def max_real(a: Any, b: Any) -> Any:
    """The larger of two floats: the first where they are equal, the other where one is NaN."""
    return a if a >= b else b if b == b else a


def _float_functions(of: ScalarMath) -> dict[str, Function]:
    one = of.one
    two, three, zero = of.number(2), of.number(3), of.zero

    def clamp(x: Any, low: Any, high: Any) -> Any:
        return min_real(max_real(low, x), high)

    def smoothstep(first: Any, last: Any, x: Any) -> Any:
        x = clamp((x - first) / (last - first), zero, one)
        return x * x * (three - two * x)

    return {
        **_elementary(of),
        "div": lambda a, b: a / b,
        "min": min_real,
        "max": max_real,
        "clamp": clamp,
        "sqrt": _root(of),
        "floor": np.floor,
        "ceil": np.ceil,
        "trunc": np.trunc,
        "rint": np.rint,
        "frac": lambda x: x - np.trunc(x),
        "degrees": _scaled(of, RAD_TO_DEG),
        "radians": _scaled(of, DEG_TO_RAD),
        "isnan": lambda x: bool(x != x),
        "isinf": lambda x: bool(abs(x) == np.inf),
        "isfinite": lambda x: bool(x - x == zero),
        "lerp": lambda a, b, t: a * (one - t) + b * t,
        "smoothstep": smoothstep,
    }


def _elementary(of: ScalarMath) -> dict[str, Function]:
    """The functions of the C library; floats of 16 bits use those of 32 bits and round again."""
    width, one, minus_one = (64 if of.kind is wp.float64 else 32), of.one, of.minus_one

    def unary(name: str) -> Function:
        function = libm.function(name, width)
        if name in ("asin", "acos"):  # arguments are clamped to [-1, 1], as in Warp
            return lambda x: one * function(min_real(max_real(x, minus_one), one))
        return lambda x: one * function(x)

    def binary(name: str) -> Function:
        function = libm.function(name, width)
        return lambda a, b: one * function(a, b)

    return {**{name: unary(name) for name in libm.UNARY}, **{name: binary(name) for name in libm.BINARY}}


def _root(of: ScalarMath) -> Function:
    """The square root. Computed in 64 bits and rounded, it equals the root computed in 32 or 16 bits."""
    one, nan, root = of.one, of.number(np.nan), math.sqrt
    return lambda x: one * root(x) if x >= 0.0 else nan


def _scaled(of: ScalarMath, factor: float) -> Function:
    """A product with a constant, computed in 64 bits."""
    convert = of.cast
    return lambda x: convert(float(x) * factor)


def _fused(of: ScalarMath) -> Function:
    """``a * b + c``, rounded once: Warp's products of matrices fuse it for floats of 32 and 64 bits."""
    if of.kind not in (wp.float32, wp.float64):
        return lambda a, b, c: c + a * b
    one, fused = of.one, libm.function("fma", 32 if of.kind is wp.float32 else 64)
    return lambda a, b, c: one * fused(a, b, c)
