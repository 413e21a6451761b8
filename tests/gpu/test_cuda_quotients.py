"""Fast quotients, lowest bits and rotation matrices on a GPU, against 64 bits and in exact mode against the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.kernels.bits import lowest_bit
from worldloom.core.kernels.quotients import fast_quotient
from worldloom.physics.queries.slabs import STEEP, reciprocal

SPECIAL = [0.0, -0.0, 1e-40, np.inf, -np.inf, 1e-9, -1e-9, 1.1e-9, 1e30]


class Probe(wl.Entity):
    x: float
    inverse: float
    limited: float
    bits: int
    lowest: int
    rotation: wl.quat
    axes: wl.mat33


class Lab(wl.World):
    pass


@wl.system
def measure(probe: Probe):
    probe.inverse = fast_quotient(1.0, probe.x)
    probe.limited = reciprocal(probe.x)
    probe.lowest = lowest_bit(probe.bits)
    probe.axes = wl.quat_to_matrix(probe.rotation)


LAB = wl.Definition("Lab-test", Lab, {Probe: 1}, step=(measure,))
RNG = np.random.default_rng(4)
NUMBERS = np.concatenate([np.float32(SPECIAL), (RNG.normal(size=247) * 10.0 ** RNG.integers(-7, 8, 247))]).astype("f4")
BITS = RNG.integers(-(2**31), 2**31, len(NUMBERS)).astype(np.int32) << RNG.integers(0, 32, len(NUMBERS)).astype("i4")
ROTATIONS = RNG.normal(size=(len(NUMBERS), 4))
ROTATIONS = (ROTATIONS / np.linalg.norm(ROTATIONS, axis=1, keepdims=True)).astype(np.float32)


def measured(device: str, exact: bool) -> dict[str, np.ndarray]:
    simulation = wl.Simulation(LAB, len(NUMBERS), device, exact=exact)
    for name, values in (("x", NUMBERS), ("bits", BITS), ("rotation", ROTATIONS)):
        simulation.tables["Probe"][name].array.assign(values)
    simulation.step()
    return {name: simulation["Probe"][name].numpy().copy() for name in ("inverse", "limited", "lowest", "axes")}


def test_reciprocals_are_near_those_of_64_bits() -> None:
    found = measured("cuda:0", exact=False)
    inverse, limited = found["inverse"].ravel(), found["limited"].ravel()
    usual = np.isfinite(NUMBERS) & (np.abs(NUMBERS) > 2.0**-126)
    wide = NUMBERS[usual].astype(np.float64)
    assert np.abs(inverse[usual] * wide - 1.0).max() < 2.0**-22
    assert inverse[:5].tolist() == [np.inf, -np.inf, np.inf, 0.0, 0.0]
    steep = np.abs(NUMBERS) <= np.float32(1e-9)
    assert (limited[steep] == STEEP).all() and (limited[~steep] == inverse[~steep]).all()


def test_matrices_and_bits_are_those_of_the_cpu() -> None:
    there, here = measured("cuda:0", exact=False), measured("cpu", exact=False)
    np.testing.assert_allclose(there["axes"], here["axes"], atol=5e-7)
    np.testing.assert_array_equal(there["lowest"], here["lowest"])


@pytest.mark.parametrize("name", ["inverse", "limited", "lowest", "axes"])
def test_exact_mode_has_the_bits_of_the_cpu(name: str) -> None:
    there, here = measured("cuda:0", exact=True)[name], measured("cpu", exact=True)[name]
    assert (there.view(np.int32) == here.view(np.int32)).all()
