"""Mathematical functions: Warp's functions, callable from compiled systems and from Python with the same results.

Every function takes and returns numbers of the width that compiled code uses (a float has 32 bits), so that an
interpreted system computes what the compiled one does. Warp supplies the result types; the other modules of this
package compute the results.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.arithmetic.resolve import resolve
from worldloom.core.arithmetic.scalars import Function, cast
from worldloom.core.arithmetic.values import Composite, as_interpreted, as_warp, composite_maker, make_composite
from worldloom.core.base.warp_private import builtin_functions, func_match_args
from worldloom.core.model.dtypes import PYTHON_SCALARS, SCALARS, canonical, is_composite

# fmt: off
NAMES = frozenset((
    "abs", "min", "max", "clamp", "sign", "step", "nonzero",
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "degrees", "radians",
    "exp", "log", "log2", "log10", "pow", "sqrt", "cbrt",
    "floor", "ceil", "trunc", "rint", "frac", "isnan", "isinf", "isfinite",
    "dot", "cross", "length", "length_sq", "normalize", "outer", "cw_mul", "cw_div", "argmin", "argmax",
    "lerp", "smoothstep",
    "transpose", "inverse", "determinant", "trace", "diag", "get_diag", "skew", "ddot",
    "quat_identity", "quat_from_axis_angle", "quat_from_matrix", "quat_to_matrix", "quat_rpy", "quat_rotate",
    "quat_rotate_inv", "quat_inverse", "quat_slerp",
    "transform_identity", "transform_get_translation", "transform_get_rotation", "transform_multiply",
    "transform_point", "transform_vector", "transform_inverse",
))
# fmt: on
"""The functions that systems may call; each is exported as ``worldloom.NAME``."""

OPERATORS = frozenset({"add", "sub", "mul", "div", "neg"})


class NoOverloadError(TypeError):
    """No overload of a function takes arguments of the given types."""


@functools.cache
def result_type(name: str, argument_types: tuple[Any, ...]) -> Any:
    """The component type that ``name`` returns for arguments of these types; NoOverloadError without an overload."""
    function = builtin_functions[name]
    for overload in function.overloads or [function]:
        if not overload.variadic and len(overload.input_types) < len(argument_types):
            continue
        if overload.variadic or func_match_args(overload, argument_types, {}):
            bound = dict(zip(overload.input_types, argument_types, strict=False))
            try:
                declared = overload.value_func(bound, None) if overload.value_func else overload.value_type
            except Exception as error:
                raise NoOverloadError(str(error)) from None
            result = canonical(declared)
            if result is not None:
                return result
    raise NoOverloadError(name)


_KINDS: dict[type, Any] = {bool: wp.bool, np.bool_: wp.bool, **{number: kind for kind, number in SCALARS.items()}}


def type_of(value: Any) -> Any:
    """The component type of a Python, NumPy or Warp value; None where it has none."""
    known = _KINDS.get(type(value))
    return canonical(type(value)) if known is None else known


def to_interpreted(dtype: Any, value: Any) -> Any:
    """``value`` in the form of interpreted systems: a NumPy scalar of the right width, or an interpreted vector."""
    if is_composite(dtype):
        value = as_interpreted(value)
        return value if type_of(value) is dtype else make_composite(dtype, np.asarray(value).ravel().tolist())
    if dtype is wp.bool:
        return bool(value)
    return SCALARS[dtype](getattr(value, "value", value))


def construct(dtype: Any, arguments: Sequence[Any]) -> Any:
    """A Warp vector, matrix or quaternion from its numbers, from one number for all, or from nothing (zeros)."""
    return as_warp(make_composite(dtype, arguments))


@functools.cache
def resolved(name: str, types: tuple[Any, ...]) -> Function:
    """The function ``name`` for interpreted values of component ``types``; NoOverloadError without an overload."""
    return resolve(name, types, result_type(name, types))


def interpret_call(name: str, *arguments: Any) -> Any:
    """Call the function ``name`` on interpreted values, resolved by their types."""
    values = [
        as_interpreted(SCALARS[PYTHON_SCALARS[type(a)]](a) if type(a) in PYTHON_SCALARS else a) for a in arguments
    ]
    return resolved(name, tuple(type_of(a) for a in values))(*values)


Composite.operate = staticmethod(interpret_call)


def call(name: str, *arguments: Any) -> Any:
    """Call the function ``name`` outside of systems, on Warp vectors."""
    with np.errstate(all="ignore"):
        return as_warp(interpret_call(name, *arguments))


class MathFunction:
    """A Warp function, callable in systems and from Python."""

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name
        self.__doc__ = (builtin_functions[name].doc or "").strip() or None

    def __call__(self, *arguments: Any) -> Any:
        return call(self.name, *arguments)

    def __repr__(self) -> str:
        return f"worldloom.{self.name}"


FUNCTIONS: dict[str, MathFunction] = {name: MathFunction(name) for name in sorted(NAMES)}


class _PythonMath:
    """Replaces the module ``warp`` in interpreted systems."""

    def __getattr__(self, name: str) -> Any:
        kind = canonical(getattr(wp, name, None))
        if kind in SCALARS:
            function: Any = cast(kind)
        elif kind is not None:
            function = composite_maker(kind)
        elif name in NAMES or name in OPERATORS:
            function = functools.partial(interpret_call, name)
        else:
            raise AttributeError(name)
        setattr(self, name, function)
        return function


python_math = _PythonMath()
