"""Integers in the interpreter: two's complement of every width, and one result where C leaves it undefined.

The expected results are computed with Python's unbounded integers.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import warp as wp
from overloads import WHOLE
from test_overloads import load

import worldloom as wl
from worldloom.core.arithmetic import scalars
from worldloom.core.kernels.operators import HELPERS
from worldloom.core.model.dtypes import SCALARS

TEXT = """
import warp as wp

import worldloom as wl

K = wp.{kind}


class Case(wl.Entity):
    a: K
    b: K
{components}


class Cases(wl.World):
    steps: int


@wl.function
def twice(n: K):
    return n + n


@wl.system
def calculate(case: Case, world: Cases):
{body}


DEFINITION = wl.Definition("Integers-{kind}-test", Cases, {{Case: 1}}, step=(calculate,))
"""
EXPRESSIONS: dict[str, Callable[[int, int, int], int]] = {
    "a + b": lambda a, b, bits: a + b,
    "a - b": lambda a, b, bits: a - b,
    "a * b": lambda a, b, bits: a * b,
    "-a": lambda a, b, bits: -a,
    "~a": lambda a, b, bits: ~a,
    "abs(a)": lambda a, b, bits: abs(a),
    "a ** 2": lambda a, b, bits: a * a,
    "a ** 3": lambda a, b, bits: a**3,
    "a // b": lambda a, b, bits: a // b if b else 0,
    "a % b": lambda a, b, bits: a % b if b else a,
    "a << b": lambda a, b, bits: a << (b & (bits - 1)),
    "a >> b": lambda a, b, bits: a >> (b & (bits - 1)),
    "a & b": lambda a, b, bits: a & b,
    "a | b": lambda a, b, bits: a | b,
    "a ^ b": lambda a, b, bits: a ^ b,
    "min(a, b)": lambda a, b, bits: min(a, b),
    "max(a, b)": lambda a, b, bits: max(a, b),
    "wl.clamp(a, b, K(7))": lambda a, b, bits: min(max(b, a), 7),
    "wl.sign(a)": lambda a, b, bits: -1 if a < 0 else 1,
    "twice(a)": lambda a, b, bits: 2 * a,
    "a * K(31) + K(17)": lambda a, b, bits: a * 31 + 17,
}


def wrapped(value: int, kind: type) -> int:
    info = np.iinfo(SCALARS[kind])
    return (value - int(info.min)) % (1 << info.bits) + int(info.min)


def edges(kind: type) -> list[int]:
    info = np.iinfo(SCALARS[kind])
    low, high, bits = int(info.min), int(info.max), info.bits
    near = [low, low + 1, high, high - 1, high // 2, bits, bits - 1, bits + 1, 0, 1, 2, 3, 7, 100]
    return sorted({*near, *([-1, -2, -3, -7, -100, -info.bits] if info.min else [])})


@pytest.mark.parametrize("kind", WHOLE, ids=lambda kind: kind.__name__)
def test_every_operator_wraps(kind: type, tmp_path: Path) -> None:
    components = "\n".join(f"    out{n}: K" for n in range(len(EXPRESSIONS)))
    body = "\n".join(f"    case.out{n} = {text}" for n, text in enumerate(EXPRESSIONS))
    body = "    a = case.a\n    b = case.b\n" + body
    module = load(
        TEXT.format(kind=kind.__name__, components=components, body=body), tmp_path, f"integers_{kind.__name__}"
    )
    pairs = list(itertools.product(edges(kind), repeat=2))
    sim = wl.Simulation(module.DEFINITION, len(pairs), "python", seed=0)
    for place, name in enumerate("ab"):
        sim.tables["Case"][name].assign(np.array([[pair[place]] for pair in pairs], SCALARS[kind]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.step()
    bits = np.iinfo(SCALARS[kind]).bits
    for number, (text, expected) in enumerate(EXPRESSIONS.items()):
        found = sim.tables["Case"][f"out{number}"].numpy().ravel().tolist()
        for (a, b), value in zip(pairs, found, strict=True):
            assert value == wrapped(expected(a, b, bits), kind), f"{text} with a = {a}, b = {b}: {value}"


@pytest.mark.parametrize("kind", WHOLE, ids=lambda kind: kind.__name__)
def test_division_of_every_width(kind: type) -> None:
    """Includes uint64 beyond 2**63, and the smallest number by -1."""
    divide, modulo = HELPERS["wl_floor_divide"][1], HELPERS["wl_floor_modulo"][1]
    number = SCALARS[kind]
    with np.errstate(all="ignore"):
        for a, b in itertools.product(edges(kind), repeat=2):
            quotient, rest = divide(number(a), number(b)), modulo(number(a), number(b))
            assert type(quotient) is type(rest) is number
            assert int(quotient) == wrapped(a // b if b else 0, kind), f"{a} // {b}"
            assert int(rest) == wrapped(a % b if b else a, kind), f"{a} % {b}"


@pytest.mark.parametrize(("source", "target"), list(itertools.product(WHOLE, WHOLE)), ids=lambda kind: kind.__name__)
def test_conversions_keep_the_lower_bits(source: type, target: type) -> None:
    for value in edges(source):
        found = scalars.cast(target)(SCALARS[source](value))
        assert type(found) is SCALARS[target] and int(found) == wrapped(value, target)


def test_long_integers_are_rounded_once_to_floats() -> None:
    """Through a float of 64 bits they would be rounded twice."""
    for value in (2**60 + 2**36 + 1, 2**60 + 2**36, -(2**60) - 2**36 - 1, 2**63 - 1, 2**53 + 1):
        assert scalars.cast(wp.float32)(np.int64(value)) == np.array(value, np.int64).astype(np.float32)
    assert scalars.cast(wp.float32)(np.uint64(2**64 - 1)) == np.float32(2.0**64)
    assert scalars.cast(wp.float32)(np.int64(2**60 + 2**36 + 1)) > scalars.cast(wp.float32)(np.int64(2**60 + 2**36))


REAL_TO_WHOLE = """
import worldloom as wl


class Case(wl.Entity):
    x: wl.{real}
{components}


class Cases(wl.World):
    steps: int


@wl.system
def calculate(case: Case, world: Cases):
{body}


DEFINITION = wl.Definition("Saturation-{real}-test", Cases, {{Case: 1}}, step=(calculate,))
"""


@pytest.mark.parametrize("real", ["float16", "float32", "float64"])
def test_floats_out_of_range_saturate(real: str, tmp_path: Path) -> None:
    components = "\n".join(f"    {kind.__name__}_out: wl.{kind.__name__}" for kind in WHOLE)
    body = "\n".join(f"    case.{kind.__name__}_out = wl.{kind.__name__}(case.x)" for kind in WHOLE)
    module = load(REAL_TO_WHOLE.format(real=real, components=components, body=body), tmp_path, f"saturation_{real}")
    number = np.dtype(real).type
    with np.errstate(all="ignore"):
        powers = [sign * 2.0**n for n in (31, 32, 63, 64) for sign in (1, -1)]
        edges = [0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 127.5, 128.0, -128.5, -129.0, 255.9, 256.0, 65504.0]
        edges += [1e300, -1e300, np.inf, -np.inf, np.nan]
        values = np.array([*edges, *powers]).astype(number)
    runs = [wl.Simulation(module.DEFINITION, len(values), device, seed=0) for device in ("python", "cpu")]
    for sim in runs:
        sim.tables["Case"]["x"].assign(values[:, None])
        sim.step()
    for kind in WHOLE:
        interpreted, compiled = (sim.tables["Case"][f"{kind.__name__}_out"].numpy().ravel() for sim in runs)
        np.testing.assert_array_equal(interpreted, compiled, err_msg=kind.__name__)
        for x, value in zip(values.tolist(), interpreted.tolist(), strict=True):
            assert value == saturated(x, kind, number), f"{kind.__name__}({x})"


def saturated(x: float, kind: type, number: type) -> int:
    """``x`` truncated, or the closest integer in range that a float of the type represents."""
    info = np.iinfo(SCALARS[kind])
    if x != x:
        return 0
    largest = int(np.finfo(number).max)
    if info.min <= x <= info.max and abs(x) < np.inf:
        return int(x)
    bound = max(int(info.min), -largest) if x < 0 else min(int(info.max), largest)
    with np.errstate(all="ignore"):
        held = number(bound)
        if abs(int(held)) > abs(bound):
            held = np.nextafter(held, number(0))
    return int(held)
