"""The mathematics of worlds: Warp's functions, callable from compiled systems and from plain Python with the same results.

Every function here takes and gives numbers of the width that the compiled code uses (float is 32 bits), so that a system
interpreted row by row computes what the compiled one does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import warp as wp
from warp._src.codegen import func_match_args
from warp._src.context import builtin_functions

from worldloom.core.fields import PLAIN, SCALARS, canonical, is_composite, scalar_of, shape_of

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
_PREDICATES: dict[str, Callable[[Any], Any]] = {
    "isnan": lambda a: np.isnan(a).any(),
    "isinf": lambda a: np.isinf(a).any(),
    "isfinite": lambda a: np.isfinite(a).all(),
}
"""What Warp cannot call from Python: it gives back truth values."""


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


def type_of(value: Any) -> Any:
    """The component type of a Python, NumPy or Warp value; None where it has none."""
    if isinstance(value, (bool, np.bool_)):
        return wp.bool
    if isinstance(value, np.generic):
        return next((w for w, n in SCALARS.items() if isinstance(value, n)), None)
    return canonical(type(value))


def wrap(dtype: Any, value: Any) -> Any:
    """``value`` in the form that interpreted systems use: a NumPy scalar of the right width, or a Warp vector."""
    if is_composite(dtype):
        return value if isinstance(value, dtype) else construct(dtype, list(np.asarray(value).ravel()))
    if dtype is wp.bool:
        return bool(value)
    return SCALARS[dtype](getattr(value, "value", value))


def _native(value: Any) -> Any:
    """``value`` as Warp's own functions want it: Warp scalars carry their width."""
    if isinstance(value, np.generic):
        found = type_of(value)
        return bool(value) if found is wp.bool else found(value.item())
    return value


def construct(dtype: Any, arguments: Sequence[Any]) -> Any:
    """A vector, matrix or quaternion from its numbers, from one number for all, or from nothing (zeros)."""
    scalar = SCALARS[scalar_of(dtype)]
    numbers: list[Any] = []
    for argument in arguments:
        numbers += np.asarray(argument).ravel().tolist() if is_composite(type(argument)) else [argument]
    size = int(np.prod(shape_of(dtype)))
    if len(numbers) == 1:
        numbers *= size
    return dtype(*[scalar(n).item() for n in numbers]) if numbers else dtype()


def _dot(a: Any, b: Any) -> Any:
    """Products added one after the other, as compiled code adds them."""
    total = type(a[0])(0)
    for i in range(len(a)):
        total = total + a[i] * b[i]
    return total


def _normalize(a: Any) -> Any:
    size = np.sqrt(_dot(a, a))
    return a / size if size > 0 else a * 0


_BY_COMPONENT: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "cw_mul": lambda a, b: a * b,
    "cw_div": lambda a, b: a / b,
    "abs": np.abs,
    "sign": lambda a: np.where(a < 0, -1, 1).astype(a.dtype),
    "min": lambda a, b=None: a.min() if b is None else np.where(a < b, a, b),
    "max": lambda a, b=None: a.max() if b is None else np.where(a > b, a, b),
    "argmin": lambda a: np.uint32(a.argmin()),
    "argmax": lambda a: np.uint32(a.argmax()),
    "dot": _dot,
    "length": lambda a: np.sqrt(_dot(a, a)),
    "length_sq": lambda a: _dot(a, a),
    "normalize": _normalize,
    "lerp": lambda a, b, t: a * (type(t)(1) - t) + b * t,
}
"""Vectors that have no name in Warp have no functions in Python either; these stand in."""


def call(name: str, *arguments: Any) -> Any:
    """Call Warp's function ``name`` on interpreted values."""
    if name in _PREDICATES:
        return bool(_PREDICATES[name](np.asarray(arguments[0])))
    types = tuple(type_of(a) for a in arguments)
    result = result_type(name, types)
    if name in _BY_COMPONENT and any(is_composite(t) and canonical(getattr(wp, t.__name__, None)) is not t for t in types):
        return wrap(result, _BY_COMPONENT[name](*[np.asarray(a) if is_composite(type(a)) else a for a in arguments]))
    return wrap(result, getattr(wp, name)(*[_native(a) for a in arguments]))


class MathFunction:
    """One of Warp's functions, usable in systems and outside them."""

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name
        self.__doc__ = (builtin_functions[name].doc or "").strip() or None

    def __call__(self, *arguments: Any) -> Any:
        return call(self.name, *[PLAIN[type(a)] and SCALARS[PLAIN[type(a)]](a) if type(a) in PLAIN else a for a in arguments])

    def __repr__(self) -> str:
        return f"worldloom.{self.name}"


FUNCTIONS: dict[str, MathFunction] = {name: MathFunction(name) for name in sorted(NAMES)}


class _PythonMath:
    """Stands in for the module ``warp`` in interpreted systems."""

    def __getattr__(self, name: str) -> Any:
        kind = canonical(getattr(wp, name, None))
        if kind in SCALARS:
            made: Any = bool if kind is wp.bool else SCALARS[kind]
        elif kind is not None:
            made = functools.partial(_construct_from, kind)
        elif name in NAMES or name in OPERATORS:
            made = functools.partial(call, name)
        else:
            raise AttributeError(name)
        setattr(self, name, made)
        return made


def _construct_from(kind: Any, *arguments: Any) -> Any:
    return construct(kind, arguments)


python_math = _PythonMath()
