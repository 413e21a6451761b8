"""Rotation matrices: the bits of Warp on the CPU, and a shorter form of the same matrix on a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.codegen.program import generate
from worldloom.core.kernels import rotations


class Dial(wl.Entity):
    rotation: wl.quat
    axes: wl.mat33


class Panel(wl.World):
    pass


@wl.system
def turn(dial: Dial):
    dial.axes = wl.quat_to_matrix(dial.rotation)


PANEL = wl.Definition("Panel-test", Panel, {Dial: 1}, step=(turn,))
NUMBER = 64


def quaternions() -> np.ndarray:
    numbers = np.random.default_rng(3).normal(size=(NUMBER, 4))
    numbers[:4] = np.eye(4)
    return (numbers / np.linalg.norm(numbers, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("exact", [False, True])
def test_the_cpu_has_the_bits_of_the_interpreter(exact: bool) -> None:
    found = []
    for device in ("python", "cpu"):
        simulation = wl.Simulation(PANEL, NUMBER, device, exact=exact)
        simulation.tables["Dial"]["rotation"].array.assign(quaternions())
        simulation.step()
        found.append(simulation["Dial"].axes.numpy().copy())
    assert (found[0].view(np.int32) == found[1].view(np.int32)).all()
    assert np.abs(np.linalg.det(found[0].reshape(-1, 3, 3)) - 1.0).max() < 1e-5


@wp.func_native(rotations.SNIPPET.replace("defined(__CUDA_ARCH__)", "1"))
def short_matrix(q: wp.quatf) -> wp.mat33f: ...


@wp.kernel(enable_backward=False)
def compute(q: wp.array(dtype=wp.quatf), out: wp.array(dtype=wp.mat33f)):
    out[wp.tid()] = short_matrix(q[wp.tid()])


def test_the_form_for_a_gpu_is_the_same_matrix() -> None:
    """Compiled for the CPU here, since its text has no part that only a GPU has."""
    given = wp.array(quaternions(), dtype=wp.quatf, device="cpu")
    out = wp.zeros(NUMBER, dtype=wp.mat33f, device="cpu")
    wp.launch(compute, NUMBER, inputs=[given, out], device="cpu")
    expected = np.stack([np.array(wl.quat_to_matrix(wl.quat(*q))).reshape(3, 3) for q in quaternions().tolist()])
    np.testing.assert_allclose(out.numpy(), expected, atol=3e-7)


def test_exact_mode_calls_the_function_of_warp() -> None:
    schedule = wl.Simulation(PANEL, 1, "python").schedule
    for exact in (False, True):
        text = generate(schedule, fuse=True, cuda=True, exact=exact).text
        assert ("wl_rotation_matrix(" in text) is not exact
        assert ("wp.quat_to_matrix(" in text) is exact
