"""Fast quotients: quotients on the CPU, in the interpreter and in exact mode; approximate on a GPU otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp
from warp._src.context import runtime

import worldloom as wl
from worldloom.core.base.errors import DefinitionError
from worldloom.core.codegen.program import generate
from worldloom.core.kernels.quotients import fast_quotient
from worldloom.physics.queries.slabs import STEEP, reciprocal

NUMBERS = [3.0, -7.0, 1e-9, -1e-9, 1.1e-9, -0.3, 0.0, -0.0, 1e-40, -3e38, np.inf, -np.inf, np.nan, 1.0, 1e9, 0.1]


class Grain(wl.Entity):
    x: float
    inverse: float
    third: float
    limited: float


class Heap(wl.World):
    pass


@wl.system
def invert(grain: Grain):
    grain.inverse = fast_quotient(1.0, grain.x)
    grain.third = fast_quotient(grain.x, 3.0)
    grain.limited = reciprocal(grain.x)


HEAP = wl.Definition("Heap-test", Heap, {Grain: 1}, step=(invert,))


@pytest.mark.parametrize("device", ["python", "cpu"])
@pytest.mark.parametrize("exact", [False, True])
def test_they_are_quotients_on_a_cpu(device: str, exact: bool) -> None:
    numbers = np.concatenate([np.float32(NUMBERS), np.random.default_rng(1).normal(size=48).astype(np.float32)])
    simulation = wl.Simulation(HEAP, len(numbers), device, exact=exact)
    simulation.tables["Grain"]["x"].array.assign(numbers)
    simulation.step()
    with np.errstate(all="ignore"):
        expected = np.float32(1.0) / numbers
    found = simulation.tables["Grain"]["inverse"].numpy().ravel()
    np.testing.assert_array_equal(found, expected)
    assert (np.signbit(found) == np.signbit(expected))[np.isfinite(numbers)].all()
    thirds = simulation.tables["Grain"]["third"].numpy().ravel()
    np.testing.assert_array_equal(thirds, numbers / np.float32(3.0))
    limited = simulation.tables["Grain"]["limited"].numpy().ravel()
    with np.errstate(all="ignore"):
        expected = np.where(np.abs(numbers) * np.float32(STEEP) > 1.0, expected, np.float32(STEEP))
    np.testing.assert_array_equal(limited, expected)


@pytest.mark.parametrize("x", NUMBERS)
def test_they_can_be_called_from_python(x: float) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_equal(fast_quotient(2.0, x), float(np.float32(2.0) / np.float32(x)))


def test_the_limit_of_steep_directions_is_that_of_their_product() -> None:
    """No number of 32 bits lies between the two ways to write the limit."""
    near = np.float32(1e-9)
    for _ in range(4):
        near = np.nextafter(near, np.float32(0.0))
    for _ in range(9):
        assert float(reciprocal(float(near))) == (
            float(np.float32(1.0) / near) if near * np.float32(STEEP) > 1.0 else STEEP
        )
        near = np.nextafter(near, np.float32(1.0))


@pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")
@pytest.mark.parametrize("exact", [False, True])
def test_only_exact_mode_divides_on_a_gpu(exact: bool, tmp_path: Path) -> None:
    program = generate(wl.Simulation(HEAP, 1, "python").schedule, fuse=True, cuda=True, exact=exact)
    for module in {kernel.module for kernel in program._build(f"quotients_{exact}", cuda=True).values()}:
        wp.compile_aot_module(module, arch=80, module_dir=tmp_path / module.name, use_ptx=True)
    text = "".join(ptx.read_text() for ptx in tmp_path.glob("*/*.ptx"))
    assert ("rcp.approx.ftz.f32" in text) is not exact
    assert ("rcp.rn.f32" in text or "div.rn.f32" in text) is exact


def test_a_call_with_one_number_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"fast_quotient\(\) takes two numbers"):

        @wl.system
        def wrong(grain: Grain):
            grain.inverse = fast_quotient(grain.x)

        wl.Simulation(wl.Definition("Wrong-test", Heap, {Grain: 1}, step=(wrong,)), 1, "python")
