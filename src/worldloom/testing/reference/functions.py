"""The functions of world files in the reference: ``wl.clamp``, ``wl.dot`` and the others, with their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.testing.reference import arithmetic as m
from worldloom.testing.reference.typed import Eval, Typed
from worldloom.testing.reference.types import BOOL, FLOAT, INT, Type, common

if TYPE_CHECKING:
    from worldloom.testing.reference.operators import Operators

_KEEP_WHOLE = ("abs", "min", "max", "clamp", "sign", "nonzero")
"""The functions that keep integers; all others convert them to floats."""

ROUGH = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"),
    *("exp", "log", "log2", "log10", "pow", "cbrt", "degrees", "radians"),
)
"""Functions that devices round differently: the reference computes their results up to a tolerance."""

_NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}


def mathematics(flow: Operators, name: str, arguments: list[Typed]) -> Typed:
    """A call of ``wl.name``."""
    vectors = [a for a in arguments if a.type.shape]
    if vectors:
        kind = vectors[0].type.element
    else:
        typed = [a for a in arguments if a.bare is None or isinstance(a.bare, bool)]
        first, *rest = [*typed, *[a for a in arguments if a not in typed]]
        kind, bare = first.type, None if typed else 0
        for one in rest:
            kind = common(kind, bare, one.type, None if isinstance(one.bare, bool) else one.bare)
        if not kind.is_float and name not in _KEEP_WHOLE:
            kind = FLOAT
        kind = INT if kind == BOOL else kind
    runs = [a.run if a.type.shape else flow.convert(a, kind) for a in arguments]
    shapes = tuple(a.type.shape for a in arguments)
    function, result = _function(name, kind, arguments[0].type, shapes)
    return Typed(result, lambda e: function(*[run(e) for run in runs]))


def _function(
    name: str, kind: Type, first: Type, shapes: tuple[tuple[int, ...], ...]
) -> tuple[Callable[..., Any], Any]:
    """The function for arguments of these shapes, and its result type."""
    if first.shape:
        return _of_vectors(name, kind, first, len(shapes))
    number, scalar = kind.numpy, kind.scalar
    known: dict[str, Callable[..., Any]] = {
        "abs": lambda a: m.absolute(a, scalar),
        "min": m.smaller,
        "max": m.larger,
        "clamp": lambda x, low, high: m.smaller(m.larger(low, x), high),
        "sign": lambda a: number(-1 if a < 0 else 1),
        "step": lambda a: number(1 if a < 0 else 0),
        "nonzero": lambda a: number(0 if a == 0 else 1),
        "floor": np.floor,
        "ceil": np.ceil,
        "trunc": np.trunc,
        "rint": np.rint,
        "sqrt": np.sqrt,
        "frac": lambda a: a - np.trunc(a),
        "lerp": lambda a, b, t: a * (number(1) - t) + b * t,
    }
    tests: dict[str, Callable[..., Any]] = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
    if name in tests:
        return tests[name], BOOL
    if name in known:
        return known[name], kind
    assert name in ROUGH, f"the reference knows no wl.{name}"
    rough = getattr(np, _NUMPY_NAMES.get(name, name))
    bounded = name in ("asin", "acos")

    def call(*arguments: Any) -> Any:
        wide = [np.float64(a) for a in arguments]
        return number(rough(*[np.clip(a, -1.0, 1.0) for a in wide] if bounded else wide))

    return call, kind


def _by_component(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*vectors: Any) -> Any:
        numbers = zip(*[vector.ravel() for vector in vectors], strict=True)
        return np.array([function(*group) for group in numbers], vectors[0].dtype).reshape(vectors[0].shape)

    return call


def _of_vectors(name: str, kind: Type, first: Type, count: int) -> tuple[Callable[..., Any], Any]:
    number, scalar = kind.numpy, kind.scalar
    same: dict[str, Callable[..., Any]] = {
        "abs": _by_component(lambda a: m.absolute(a, scalar)),
        "sign": _by_component(lambda a: number(-1 if a < 0 else 1)),
        "cw_mul": lambda a, b: a * b,
        "cw_div": lambda a, b: a / b,
        "cross": m.cross,
        "normalize": _normalize,
        "lerp": lambda a, b, t: a * (number(1) - t) + b * t,
        "transpose": lambda a: a.T.copy(),
        "quat_inverse": lambda q: np.array([-q[0], -q[1], -q[2], q[3]], q.dtype),
    }
    if count == 2:
        same.update(min=_by_component(m.smaller), max=_by_component(m.larger))
    one: dict[str, Callable[..., Any]] = {
        "dot": m.dot,
        "length_sq": lambda a: m.dot(a, a),
        "length": lambda a: np.sqrt(m.dot(a, a)),
        "trace": lambda a: _sum([a[i, i] for i in range(len(a))]),
        "min": lambda a: _fold(m.smaller, a),
        "max": lambda a: _fold(m.larger, a),
    }
    if name in same:
        return same[name], first
    if name in one:
        return one[name], kind
    if name in ("argmin", "argmax"):
        return (lambda a: np.int32(_best(a, name == "argmin"))), INT
    if name == "quat_rotate":
        return m.quat_rotate, Type("float32", (3,), "vec")
    if name == "get_diag":
        return (lambda a: np.array([a[i, i] for i in range(len(a))], a.dtype)), Type(scalar, first.shape[:1], "vec")
    if name == "diag":
        return np.diag, Type(scalar, first.shape * 2, "mat")
    if name == "outer":
        return (lambda a, b: a[:, None] * b[None, :]), Type(scalar, first.shape * 2, "mat")
    tests: dict[str, Callable[..., Any]] = {"isnan": np.isnan, "isinf": np.isinf}
    if name in tests:
        return (lambda a: np.bool_(tests[name](a).any())), BOOL
    assert name == "isfinite", f"the reference knows no wl.{name} of vectors"
    return (lambda a: np.bool_(np.isfinite(a).all())), BOOL


def _sum(numbers: list[Any]) -> Any:
    total = numbers[0]
    for number in numbers[1:]:
        total = total + number
    return total


def _fold(function: Callable[[Any, Any], Any], numbers: Any) -> Any:
    result = numbers[0]
    for number in numbers[1:]:
        result = function(result, number)
    return result


def _best(numbers: Any, least: bool) -> int:
    best = 0
    for index in range(1, len(numbers)):
        if numbers[index] < numbers[best] if least else numbers[index] > numbers[best]:
            best = index
    return best


def _normalize(a: Any) -> Any:
    size = np.sqrt(m.dot(a, a))
    return a / size if size > 0 else np.zeros_like(a)


def operation(name: str, a: Eval, b: Eval, scalar: str) -> Eval:
    """One operation on two numbers of type ``scalar``."""
    if name == "Add":
        return lambda e: a(e) + b(e)
    if name == "Sub":
        return lambda e: a(e) - b(e)
    if name == "Mult":
        return lambda e: a(e) * b(e)
    if name == "Div":
        return lambda e: a(e) / b(e)
    if name == "FloorDiv":
        return lambda e: m.floor_divide(a(e), b(e), scalar)
    if name == "Mod":
        return lambda e: m.modulo(a(e), b(e), scalar)
    if name in ("LShift", "RShift"):
        left = name == "LShift"
        return lambda e: m.shift(a(e), b(e), scalar, left)
    bits = {"BitAnd": np.bitwise_and, "BitOr": np.bitwise_or, "BitXor": np.bitwise_xor}[name]
    return lambda e: bits(a(e), b(e))
