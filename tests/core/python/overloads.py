"""Worlds that call every function and operator with arguments of every type, made from what Warp says it takes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.arithmetic.functions import NAMES, OPERATORS, NoOverloadError, result_type
from worldloom.core.model.fields import FLOATS, SCALARS, canonical, is_composite, scalar_of, shape_of, vec

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
WHOLE = [kind for kind in SCALARS if kind not in FLOATS and kind is not wp.bool]
PER_SYSTEM = 12
"""How many calls a system of the generated world has."""

HEAD = """
import warp as wp

import worldloom as wl
from worldloom.core.model.fields import vec, canonical


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
    """Component types over a scalar type, by the name they have in the generated world; vectors without a name in Warp are among them."""
    found = {"S": scalar, **{f"V{n}": vec(n, scalar) for n in ((2, 3, 4, 5) if scalar in FLOATS else (2, 3, 5))}}
    shapes = ((2, 2), (3, 3), (4, 4), (2, 3), (3, 2)) if scalar in FLOATS else ((2, 2), (3, 2))
    found.update({f"M{r}{c}": canonical(wp.types.matrix(shape=(r, c), dtype=scalar)) for r, c in shapes})
    if scalar in FLOATS:
        letter = {wp.float16: "h", wp.float32: "f", wp.float64: "d"}[scalar]
        found.update(Q=canonical(getattr(wp, f"quat{letter}")), T=canonical(getattr(wp, f"transform{letter}")))
    return found


def calls(scalar: Any) -> list[Call]:
    """A call of every overload of every function and operator that systems may use, over one scalar type."""
    types = types_of(scalar)
    names = {kind: name for name, kind in types.items()}
    found = []
    if scalar is wp.float32:
        found = [
            Call(f"{what}_identity", f"wl.{what}_identity()", canonical(getattr(wp, what)))
            for what in ("quat", "transform")
        ]
    for name in sorted(NAMES | OPERATORS):
        if name.endswith("_identity"):
            continue
        for size in (1, 2, 3):
            for taken in itertools.product(types.values(), repeat=size):
                try:
                    result = result_type(name, taken)
                except NoOverloadError:
                    continue
                if scalar not in FLOATS and name in ("div", "cw_div"):  # refused in systems
                    continue
                given = [f"case.{names[kind]}_{place}" for place, kind in enumerate(taken)]
                if scalar not in FLOATS and name == "step":  # whole numbers become real ones first
                    result = wp.float32
                result = wp.int32 if name in ("argmin", "argmax") else result
                found.append(Call(name, _written(name, given), result))
    return found + _operators(scalar)


def _written(name: str, given: list[str]) -> str:
    if name == "neg":
        return f"-{given[0]}"
    return f"{given[0]} {SIGNS[name]} {given[1]}" if name in SIGNS else f"wl.{name}({', '.join(given)})"


def _operators(scalar: Any) -> list[Call]:
    """Python's operators and conversions that are no functions of Warp's."""
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
    """The text of a world that makes the calls over one scalar type that ``keep`` keeps, each into a component of its own."""
    types = types_of(scalar)
    declared, places, systems = dict(types), {kind: name for name, kind in types.items()}, []
    kept = [call for call in calls(scalar) if keep(call)]
    components = [f"    {name}_{place}: {name}" for name in types for place in range(3)]
    for number, call in enumerate(kept):
        if call.result not in places:
            places[call.result] = f"R{len(declared)}"
            declared[places[call.result]] = call.result
        components.append(f"    out{number}: {places[call.result]}")
    for start in range(0, len(kept), PER_SYSTEM):
        body = "\n".join(
            f"    case.out{start + k} = {call.text}" for k, call in enumerate(kept[start : start + PER_SYSTEM])
        )
        systems.append(f"@wl.system\ndef calls{start}(case: Case, world: Cases):\n{body}\n\n")
    steps = ", ".join(f"calls{start}" for start in range(0, len(kept), PER_SYSTEM))
    spelled = "\n".join(f"{name} = {_spelled(kind)}" for name, kind in declared.items())
    name = f"Overloads-{scalar.__name__}-test"
    return HEAD.format(
        types=spelled, components="\n".join(components), systems="\n".join(systems), steps=steps, name=name
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
    """Arguments of ``shape`` (worlds, ...): the first half of the worlds has ordinary ones, the others have edges of the type among them."""
    number = SCALARS[scalar]
    with np.errstate(all="ignore"):
        if scalar in FLOATS:
            info = np.finfo(number)
            edges = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                np.nan,
                np.inf,
                -np.inf,
                info.max,
                -info.max,
                info.tiny,
                info.smallest_subnormal,
                3.0,
                -2.5,
                1.5,
                1e-3,
                2.5,
            ]
            plain = random.normal(size=shape) * np.exp2(random.integers(-4, 5, shape))
        else:
            whole = np.iinfo(number)
            edges = [
                0,
                1,
                2,
                3,
                7,
                whole.max,
                whole.max - 1,
                whole.min,
                whole.min + 1,
                whole.max // 2,
                -1 if whole.min else 255,
            ]
            plain = random.integers(-20 if whole.min else 0, 100, shape)
        mixed = np.where(
            random.random(shape) < 0.5, random.choice(np.array(edges, dtype=number), shape), plain.astype(number)
        )
        ordinary = np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1)) < shape[0] // 2
        return np.where(ordinary, plain.astype(number), mixed).astype(number)
