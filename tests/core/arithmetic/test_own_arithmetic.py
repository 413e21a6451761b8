"""The interpreter never calls Warp's prebuilt library, and every operation is rounded once.

Warp's library fuses products with sums on aarch64. These tests need no such processor: they forbid the library, and
compare results with rational arithmetic in which every step is rounded separately.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp
from overloads import WHOLE, inputs, source, types_of
from test_overloads import load
from thorough import sample
from warp._src import context

import worldloom as wl
from worldloom.core.arithmetic.functions import NAMES, call
from worldloom.core.model.dtypes import FLOATS


@pytest.fixture
def forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call of a Warp function from Python raises."""

    def refuse(function: Any, *arguments: Any, **keywords: Any) -> Any:
        raise AssertionError(f"Warp's own '{function.key}' was called")

    wp.init()
    monkeypatch.setattr(context.Function, "__call__", refuse)
    monkeypatch.setattr(context, "call_builtin_from_desc", refuse)


def test_the_guard_works(forbidden: None) -> None:
    with pytest.raises(AssertionError, match="'dot' was called"):
        wp.dot(wp.vec2(1.0, 2.0), wp.vec2(1.0, 2.0))


@pytest.mark.parametrize(
    ("scalar", "exact"),
    [*((kind, False) for kind in (*FLOATS, *sample(WHOLE, 3))), (wp.float32, True)],
    ids=lambda given: getattr(given, "__name__", "exact" if given else "fast"),
)
def test_no_function_of_warps_library_is_called(scalar: type, exact: bool, tmp_path: Path, forbidden: None) -> None:
    """An interpreted world that calls everything; exact mode has fewer functions for 16 and 64 bits."""
    module = load(source(scalar), tmp_path, f"own_{scalar.__name__}_{exact}")
    sim = wl.Simulation(module.DEFINITION, 2, "python", seed=1, exact=exact)
    random = np.random.default_rng(1)
    for name in types_of(scalar):
        for place in range(3):
            column = sim.tables["Case"][f"{name}_{place}"]
            column.assign(inputs(scalar, column.shape, random))
    sim.step()


def test_functions_outside_of_systems_do_not_call_it_either(forbidden: None) -> None:
    quat, vec3, mat33 = (
        wl.quat(0.1, 0.2, 0.3, 0.9),
        wl.vec3(1.0, 2.0, 3.0),
        wl.mat33(2.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 3.0),
    )
    (
        wl.dot(vec3, vec3),
        wl.cross(vec3, vec3),
        wl.inverse(mat33),
        wl.quat_rotate(quat, vec3),
        wl.transform_identity(),
        wl.sin(0.5),
    )
    assert isinstance(wl.normalize(vec3), wp.vec3)
    assert "dot" in NAMES


# -- every step rounded separately -----------------------------------------------------------------------------------


def rounded(value: Fraction) -> Fraction:
    """The float of 32 bits nearest to a rational number, ties to even; for numbers in the normal range."""
    if value == 0:
        return value
    exponent = math.floor(math.log2(abs(value)))
    while Fraction(2) ** exponent > abs(value):
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= abs(value):
        exponent += 1
    unit = Fraction(2) ** (exponent - 23)
    return round(value / unit) * unit  # round() of a Fraction takes the even one


def stepwise(a: list[Fraction], b: list[Fraction]) -> Fraction:
    """The sum of products with every product and every sum rounded."""
    total = rounded(a[0] * b[0])
    for x, y in zip(a[1:], b[1:], strict=True):
        total = rounded(total + rounded(x * y))
    return total


def fused(a: list[Fraction], b: list[Fraction]) -> Fraction:
    """The sum of products as fused operations give it."""
    total = rounded(a[0] * b[0])
    for x, y in zip(a[1:], b[1:], strict=True):
        total = rounded(total + x * y)
    return total


def rows(size: int, count: int = 200) -> list[tuple[list[float], list[float]]]:
    random = np.random.default_rng(size)
    numbers = random.normal(size=(count, 2, size)).astype(np.float32)
    return [(a.tolist(), b.tolist()) for a, b in numbers]


def fractions(numbers: list[float]) -> list[Fraction]:
    return [Fraction(n) for n in numbers]


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_dot_rounds_every_step(size: int) -> None:
    kind = wl.vec(size)
    distinguished = 0
    for a, b in rows(size):
        expected = stepwise(fractions(a), fractions(b))
        assert Fraction(float(call("dot", kind(*a), kind(*b)))) == expected
        distinguished += expected != fused(fractions(a), fractions(b))
    assert distinguished > 20  # numbers for which a fused version would differ


def test_length_and_normalize_are_made_of_such_a_dot() -> None:
    for a, _ in rows(3):
        size = np.sqrt(np.float32(float(stepwise(fractions(a), fractions(a)))))
        assert wl.length(wl.vec3(*a)) == size
        assert list(wl.normalize(wl.vec3(*a))) == [float(np.float32(n) / size) for n in a]


@pytest.mark.parametrize(
    ("name", "made", "expected"),
    [
        (
            "cross",
            lambda a, b: wl.cross(wl.vec3(*a), wl.vec3(*b))[2],
            lambda a, b: rounded(rounded(a[0] * b[1]) - rounded(a[1] * b[0])),
        ),
        (
            "determinant",
            lambda a, b: wl.determinant(wl.mat22(*a[:2], *b[:2])),
            lambda a, b: rounded(rounded(a[0] * b[1]) - rounded(b[0] * a[1])),
        ),
        (
            "lerp",
            lambda a, b: wl.lerp(a[0], b[0], 0.3),
            lambda a, b: lerp(a[0], b[0], Fraction(float(np.float32(0.3)))),
        ),
        ("mul", lambda a, b: (call("mul", wl.mat33(*a, *a, *a), wl.vec3(*b)))[1], stepwise),
    ],
)
def test_other_functions_round_every_step(
    name: str, made: Callable[..., Any], expected: Callable[..., Fraction]
) -> None:
    for a, b in rows(3):
        assert Fraction(float(made(a, b))) == expected(fractions(a), fractions(b)), name


def lerp(a: Fraction, b: Fraction, t: Fraction) -> Fraction:
    return rounded(rounded(a * rounded(1 - t)) + rounded(b * t))


def test_products_of_matrices_are_fused_as_in_warps_headers() -> None:
    """The only function in which Warp uses the fused operation explicitly, on every processor."""
    for a, b in rows(2):
        found = call("mul", wl.mat22(*a, *a), wl.mat22(b[0], 0.0, b[1], 0.0))
        assert Fraction(float(found[0, 0])) == rounded(
            rounded(Fraction(a[0]) * Fraction(b[0])) + Fraction(a[1]) * Fraction(b[1])
        )
