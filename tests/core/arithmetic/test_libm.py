"""Elementary functions: the interpreter calls the functions to which compiled code is linked."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.arithmetic import libm

WORLDS = 3000


class Point(wl.Entity):
    x: float
    y: float
    wide: wl.float64
    across: wl.float64
    found: wl.Array(float, 16)
    wide_found: wl.Array(wl.float64, 16)


class Plane(wl.World):
    steps: int


@wl.system
def narrow(point: Point, world: Plane):
    point.found[0] = wl.sin(point.x)
    point.found[1] = wl.cos(point.y)
    point.found[2] = wl.tan(point.x)
    point.found[3] = wl.asin(point.x)
    point.found[4] = wl.acos(point.y)
    point.found[5] = wl.atan(point.x)
    point.found[6] = wl.sinh(point.x)
    point.found[7] = wl.cosh(point.y)
    point.found[8] = wl.tanh(point.x)
    point.found[9] = wl.exp(point.x)
    point.found[10] = wl.log(point.y)
    point.found[11] = wl.log2(point.x)
    point.found[12] = wl.log10(point.y)
    point.found[13] = wl.cbrt(point.x)
    point.found[14] = wl.atan2(point.x, point.y)
    point.found[15] = wl.pow(point.x, point.y)


@wl.system
def wide(point: Point, world: Plane):
    point.wide_found[0] = wl.sin(point.wide)
    point.wide_found[1] = wl.cos(point.across)
    point.wide_found[2] = wl.tan(point.wide)
    point.wide_found[3] = wl.asin(point.wide)
    point.wide_found[4] = wl.acos(point.across)
    point.wide_found[5] = wl.atan(point.wide)
    point.wide_found[6] = wl.sinh(point.wide)
    point.wide_found[7] = wl.cosh(point.across)
    point.wide_found[8] = wl.tanh(point.wide)
    point.wide_found[9] = wl.exp(point.wide)
    point.wide_found[10] = wl.log(point.across)
    point.wide_found[11] = wl.log2(point.wide)
    point.wide_found[12] = wl.log10(point.across)
    point.wide_found[13] = wl.cbrt(point.wide)
    point.wide_found[14] = wl.atan2(point.wide, point.across)
    point.wide_found[15] = wl.pow(point.wide, point.across)


PLANE = wl.Definition("Elementary-test", Plane, {Point: 1}, step=(narrow, wide))


def test_many_numbers_give_the_bits_of_compiled_code() -> None:
    runs = [wl.Simulation(PLANE, WORLDS, device, seed=0) for device in ("python", "cpu")]
    random = np.random.default_rng(3)
    for name in ("x", "y", "wide", "across"):
        given = random.normal(size=(WORLDS, 1)) * np.exp2(random.integers(-12, 12, (WORLDS, 1)))
        for sim in runs:
            sim.tables["Point"][name].assign(given.astype(sim.tables["Point"][name].dtype))
    for sim in runs:
        sim.step()
    for name in ("found", "wide_found"):
        interpreted, compiled = (sim.tables["Point"][name].numpy() for sim in runs)
        np.testing.assert_array_equal(interpreted, compiled)


@pytest.mark.skipif(
    sys.platform == "win32", reason="Windows does not look up symbols through the libraries that a library uses"
)
@pytest.mark.parametrize("width", [32, 64])
def test_warps_compiler_finds_the_same_functions(width: int) -> None:
    """The compiler library uses the C library of the process, not a copy of its own."""
    wp.init()
    from warp._src.context import runtime as started

    for name in (*libm.UNARY, *libm.BINARY, "fma"):
        ours, compilers = libm.function(name, width), started.llvm[libm.symbol(name, width)]
        assert ctypes.cast(ours, ctypes.c_void_p).value == ctypes.cast(compilers, ctypes.c_void_p).value, name


def test_other_functions_are_refused() -> None:
    with pytest.raises(KeyError):
        libm.function("system", 32)
