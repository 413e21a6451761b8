"""The mathematics of worlds: Warp's functions, callable from compiled systems and from plain Python with the same results.

Every function here takes and gives numbers of the width that the compiled code uses (float is 32 bits), so that a system
interpreted row by row computes what the compiled one does. The arithmetic itself is in :mod:`worldloom.core.python`; Warp is asked for
the types alone.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp
from warp._src.codegen import func_match_args
from warp._src.context import builtin_functions

from worldloom.core.arithmetic.resolve import resolve
from worldloom.core.arithmetic.scalars import Function, cast
from worldloom.core.arithmetic.values import as_interpreted, as_warp, composite_maker, made
from worldloom.core.model.fields import PYTHON_SCALARS, SCALARS, canonical, is_composite

# fmt: off
NAMES = frozenset((
    "abs", "min", "max", "clamp", "sign", "step", "nonzero",
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "degrees", "radians",
    "exp", "log", "log2", "log10", "pow", "sqrt", "cbrt", "floor", "ceil", "trunc", "rint", "frac", "isnan", "isinf", "isfinite",
    "dot", "cross", "length", "length_sq", "normalize", "outer", "cw_mul", "cw_div", "argmin", "argmax", "lerp", "smoothstep",
    "transpose", "inverse", "determinant", "trace", "diag", "get_diag", "skew", "ddot",
    "quat_identity", "quat_from_axis_angle", "quat_from_matrix", "quat_to_matrix", "quat_rpy", "quat_rotate", "quat_rotate_inv",
    "quat_inverse", "quat_slerp",
    "transform_identity", "transform_get_translation", "transform_get_rotation", "transform_multiply", "transform_point",
    "transform_vector", "transform_inverse",
))
# fmt: on
"""The functions that systems may call; each is exported as ``worldloom.NAME``."""

OPERATORS = frozenset({"add", "sub", "mul", "div", "neg"})


class NoOverloadError(TypeError):
    """No version of a function takes arguments of the given types."""


@functools.cache
def result_type(name: str, argument_types: tuple[Any, ...]) -> Any:
    """The component type that ``name`` gives for arguments of these types; NoOverloadError where it takes no such arguments."""
    function = builtin_functions[name]
    for overload in function.overloads or [function]:
        if not overload.variadic and len(overload.input_types) < len(argument_types):
            continue
        if overload.variadic or func_match_args(overload, argument_types, {}):
            bound = dict(zip(overload.input_types, argument_types, strict=False))
            try:
                found = overload.value_func(bound, None) if overload.value_func else overload.value_type
            except Exception as error:
                raise NoOverloadError(str(error)) from None
            result = canonical(found)
            if result is not None:
                return result
    raise NoOverloadError(name)


_KINDS: dict[type, Any] = {bool: wp.bool, np.bool_: wp.bool, **{number: kind for kind, number in SCALARS.items()}}


def type_of(value: Any) -> Any:
    """The component type of a Python, NumPy or Warp value; None where it has none."""
    known = _KINDS.get(type(value))
    return canonical(type(value)) if known is None else known


def to_interpreted(dtype: Any, value: Any) -> Any:
    """``value`` in the form that interpreted systems use: a NumPy scalar of the right width, or an interpreted vector."""
    if is_composite(dtype):
        value = as_interpreted(value)
        return value if type_of(value) is dtype else made(dtype, np.asarray(value).ravel().tolist())
    if dtype is wp.bool:
        return bool(value)
    return SCALARS[dtype](getattr(value, "value", value))


def construct(dtype: Any, arguments: Sequence[Any]) -> Any:
    """A vector, matrix or quaternion of Warp's from its numbers, from one number for all, or from nothing (zeros)."""
    return as_warp(made(dtype, arguments))


@functools.cache
def resolved(name: str, types: tuple[Any, ...]) -> Function:
    """The function ``name`` for interpreted values of component ``types``; NoOverloadError where it takes no such arguments."""
    return resolve(name, types, result_type(name, types))


def interpret_call(name: str, *arguments: Any) -> Any:
    """Call the function ``name`` on interpreted values, whose types are looked at first."""
    given = [as_interpreted(SCALARS[PYTHON_SCALARS[type(a)]](a) if type(a) in PYTHON_SCALARS else a) for a in arguments]
    return resolved(name, tuple(type_of(a) for a in given))(*given)


def call(name: str, *arguments: Any) -> Any:
    """Call the function ``name`` outside of systems: vectors come in and go out as Warp's."""
    with np.errstate(all="ignore"):
        return as_warp(interpret_call(name, *arguments))


class MathFunction:
    """One of Warp's functions, usable in systems and outside them."""

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name
        self.__doc__ = (builtin_functions[name].doc or "").strip() or None

    def __call__(self, *arguments: Any) -> Any:
        return call(self.name, *arguments)

    def __repr__(self) -> str:
        return f"worldloom.{self.name}"


FUNCTIONS: dict[str, MathFunction] = {name: MathFunction(name) for name in sorted(NAMES)}


class _PythonMath:
    """Stands in for the module ``warp`` in interpreted systems."""

    def __getattr__(self, name: str) -> Any:
        kind = canonical(getattr(wp, name, None))
        if kind in SCALARS:
            found: Any = cast(kind)
        elif kind is not None:
            found = composite_maker(kind)
        elif name in NAMES or name in OPERATORS:
            found = functools.partial(interpret_call, name)
        else:
            raise AttributeError(name)
        setattr(self, name, found)
        return found


python_math = _PythonMath()
