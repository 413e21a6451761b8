"""Worlds that call every function and operator with arguments of every type, generated from Warp's overloads."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from warp._src.context import builtin_functions

from worldloom.core.arithmetic.functions import NAMES, OPERATORS, NoOverloadError, result_type
from worldloom.core.model.dtypes import FLOATS, SCALARS, canonical, is_composite, scalar_of, shape_of, vec

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
WHOLE = [kind for kind in SCALARS if kind not in FLOATS and kind is not wp.bool]
PER_SYSTEM = 40
"""Calls per system of the generated world."""
# fmt: off
GENERIC = frozenset((
    "cw_mul", "cw_div", "abs", "sign", "lerp", "min", "max", "argmin", "argmax", "isnan", "isinf", "isfinite",
    "outer", "diag", "get_diag", "trace", "ddot", "transpose",
))
# fmt: on
"""Functions that Warp and the interpreter define once for all sizes of a vector or a matrix."""
SPECIALIZED = frozenset(("add", "sub", "neg", "mul", "div"))
"""Element-wise functions that Warp also defines for vectors of length 2 and 3."""
REPRESENTATIVES = frozenset(("S", "V2", "V5", "M22", "M32", "Q", "T"))
"""The types with which generic functions are called: vectors and matrices with a name in Warp and without one."""

HEAD = """
import warp as wp

import worldloom as wl
from worldloom.core.model.dtypes import vec, canonical


{types}


class Case(wl.Entity):
{components}


class Cases(wl.World):
    steps: int


{systems}
DEFINITION = wl.Definition("{name}", Cases, {{Case: 1}}, step=({steps},))
"""


@dataclass(frozen=True)
class Call:
    """One call of one overload: the function, the expression, and the type of its result."""

    name: str
    text: str
    result: Any


def types_of(scalar: Any) -> dict[str, Any]:
    """Component types over a scalar type, by their names in the generated world; some have no name in Warp."""
    found = {"S": scalar, **{f"V{n}": vec(n, scalar) for n in ((2, 3, 4, 5) if scalar in FLOATS else (2, 3, 5))}}
    shapes = ((2, 2), (3, 3), (4, 4), (2, 3), (3, 2)) if scalar in FLOATS else ((2, 2), (3, 2))
    found.update({f"M{r}{c}": canonical(wp.types.matrix(shape=(r, c), dtype=scalar)) for r, c in shapes})
    if scalar in FLOATS:
        letter = {wp.float16: "h", wp.float32: "f", wp.float64: "d"}[scalar]
        found.update(Q=canonical(getattr(wp, f"quat{letter}")), T=canonical(getattr(wp, f"transform{letter}")))
    return found


def calls(scalar: Any) -> list[Call]:
    """A call of every overload of every function and operator that systems may use, over one scalar type.

    Generic functions are called with :data:`REPRESENTATIVES` only.
    """
    types = types_of(scalar)
    found = []
    if scalar is wp.float32:
        found = [
            Call(f"{what}_identity", f"wl.{what}_identity()", canonical(getattr(wp, what)))
            for what in ("quat", "transform")
        ]
    for name, taken in _overloads(wp.float32 if scalar in FLOATS else wp.int32):
        result = result_type(name, tuple(types[kind] for kind in taken))
        if scalar not in FLOATS and name == "step":  # integers become floats first
            result = wp.float32
        result = wp.int32 if name in ("argmin", "argmax") else result
        found.append(Call(name, _written(name, [f"case.{kind}_{place}" for place, kind in enumerate(taken)]), result))
    return found + _operators(scalar)


@functools.cache
def _overloads(scalar: Any) -> list[tuple[str, tuple[str, ...]]]:
    """The functions and the names of their argument types: the same for all floats, and for all integers."""
    types = types_of(scalar)
    found = []
    for name in sorted(NAMES | OPERATORS):
        if name.endswith("_identity") or (scalar not in FLOATS and name in ("div", "cw_div")):  # rejected in systems
            continue
        for size in range(1, _arity(name) + 1):
            for taken in itertools.product(types, repeat=size):
                if size == 3 and taken[0] != taken[1]:  # no function takes such arguments
                    continue
                if _is_represented(name, taken):
                    continue
                with contextlib.suppress(NoOverloadError):
                    result_type(name, tuple(types[kind] for kind in taken))
                    found.append((name, taken))
    return found


def _arity(name: str) -> int:
    """The largest number of arguments of an overload, at most 3."""
    function = builtin_functions[name]
    overloads = function.overloads or [function]
    return 3 if any(o.variadic for o in overloads) else min(3, max(len(o.input_types) for o in overloads))


def _is_represented(name: str, taken: tuple[str, ...]) -> bool:
    """Whether calls with other types run the same code."""
    if name in GENERIC:
        return not REPRESENTATIVES.issuperset(taken)
    elementwise = name in SPECIALIZED and ("S" in taken or name not in ("mul", "div"))
    return elementwise and not REPRESENTATIVES.issuperset(set(taken) - {"V3"})


def _written(name: str, given: list[str]) -> str:
    if name == "neg":
        return f"-{given[0]}"
    return f"{given[0]} {SIGNS[name]} {given[1]}" if name in SIGNS else f"wl.{name}({', '.join(given)})"


def _operators(scalar: Any) -> list[Call]:
    """Python's operators and conversions that are not Warp functions."""
    a, b = "case.S_0", "case.S_1"
    found = [Call(sign, f"{a} {sign} {b}", scalar) for sign in ("//", "%")] + [
        Call("**", f"{a} ** {n}", scalar) for n in (2, 3)
    ]
    found += [Call(sign, f"{a} {sign} {b}", wp.bool) for sign in ("<", "<=", "==", "!=", ">", ">=")]
    if scalar in FLOATS:
        found += [Call("pow", f"{a} ** {b}", scalar), Call("sqrt", f"{a} ** 0.5", scalar)]
    else:
        found += [Call(sign, f"{a} {sign} {b}", scalar) for sign in ("&", "|", "^", "<<", ">>")]
        found += [Call("~", f"~{a}", scalar), Call("[]", f"case.V3_0[int({a}) % 3]", scalar)]
    found += [Call("cast", f"wl.{kind.__name__}({a})", kind) for kind in SCALARS if kind is not wp.bool]
    return [*found, Call("cast", f"bool({a})", wp.bool)]


def source(scalar: Any, keep: Callable[[Call], bool] = lambda call: True) -> str:
    """The source of a world with the calls over one scalar type that ``keep`` accepts, each into its own component."""
    types = types_of(scalar)
    declared, declared_names, systems = dict(types), {kind: name for name, kind in types.items()}, []
    chosen = [call for call in calls(scalar) if keep(call)]
    components = [f"    {name}_{place}: {name}" for name in types for place in range(3)]
    for number, call in enumerate(chosen):
        if call.result not in declared_names:
            declared_names[call.result] = f"R{len(declared)}"
            declared[declared_names[call.result]] = call.result
        components.append(f"    out{number}: {declared_names[call.result]}")
    for start in range(0, len(chosen), PER_SYSTEM):
        body = "\n".join(
            f"    case.out{start + k} = {call.text}" for k, call in enumerate(chosen[start : start + PER_SYSTEM])
        )
        systems.append(f"@wl.system\ndef calls{start}(case: Case, world: Cases):\n{body}\n\n")
    steps = ", ".join(f"calls{start}" for start in range(0, len(chosen), PER_SYSTEM))
    type_definitions = "\n".join(f"{name} = {_spelled(kind)}" for name, kind in declared.items())
    name = f"Overloads-{scalar.__name__}-test"
    return HEAD.format(
        types=type_definitions, components="\n".join(components), systems="\n".join(systems), steps=steps, name=name
    )


def _spelled(kind: Any) -> str:
    if not is_composite(kind):
        return f"wp.{kind.__name__}"
    if canonical(getattr(wp, kind.__name__, None)) is kind:
        return f"canonical(wp.{kind.__name__})"
    shape, scalar = shape_of(kind), scalar_of(kind).__name__
    return (
        f"vec({shape[0]}, wp.{scalar})"
        if len(shape) == 1
        else f"canonical(wp.types.matrix(shape={shape}, dtype=wp.{scalar}))"
    )


def inputs(scalar: Any, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    """Arguments of ``shape`` (worlds, ...): ordinary ones in the first half of the worlds, edge cases in the others."""
    number = SCALARS[scalar]
    with np.errstate(all="ignore"):
        if scalar in FLOATS:
            info = np.finfo(number)
            edges = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.5, 1.5, 1e-3, 2.5, np.nan, np.inf, -np.inf]
            edges += [info.max, -info.max, info.tiny, info.smallest_subnormal]
            plain = random.normal(size=shape) * np.exp2(random.integers(-4, 5, shape))
        else:
            info = np.iinfo(number)
            edges = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, info.max // 2]
            edges.append(-1 if info.min else 255)
            plain = random.integers(-20 if info.min else 0, 100, shape)
        mixed = np.where(
            random.random(shape) < 0.5, random.choice(np.array(edges, dtype=number), shape), plain.astype(number)
        )
        ordinary = np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1)) < shape[0] // 2
        return np.where(ordinary, plain.astype(number), mixed).astype(number)
