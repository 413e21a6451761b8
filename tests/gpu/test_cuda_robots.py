"""MuJoCo Warp in a world on CUDA against the C engine."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom import robots

pytest.importorskip("mujoco_warp")
sys.path.insert(0, str(Path(__file__).parents[1] / "robots"))

import test_physics
from test_physics import Arm

NUM_WORLDS = 8


@pytest.fixture(scope="module")
def pair() -> list[wl.Simulation]:
    definition = replace(test_physics.define(max_steps=25), cuda_float32=True)
    return [wl.Simulation(definition, num_worlds=NUM_WORLDS, device=device, seed=3) for device in ("cpu", "cuda:0")]


def test_columns_are_the_arrays_of_mujoco_warp(pair: list[wl.Simulation]) -> None:
    _, cuda = pair
    engine = test_physics.PHYSICS._engines[cuda]
    assert cuda[Arm].qpos.array.ptr == engine.data.qpos.ptr
    assert cuda[Arm].xpos.array.ptr == engine.data.xpos.ptr
    assert cuda[Arm].qpos.numpy().dtype == np.float32


def test_steps_and_resets_are_alike(pair: list[wl.Simulation]) -> None:
    cpu, cuda = pair
    generator = np.random.default_rng(0)
    for step in range(40):
        torques = generator.uniform(-1, 1, (NUM_WORLDS, 1, 2)).astype(np.float32)
        cpu.step(torques)
        cuda.step(torques)
        for name, tolerance in (("qpos", 1e-3), ("qvel", 1e-2), ("xpos", 1e-3), ("sensordata", 1e-3), ("time", 1e-4)):
            wide, narrow = (getattr(simulation[Arm], name).numpy() for simulation in pair)
            np.testing.assert_allclose(narrow, wide, atol=tolerance, err_msg=f"{name} at {step}")
    assert not cuda.errors()


def test_one_unstable_world_is_reset_alone(pair: list[wl.Simulation]) -> None:
    _, cuda = pair
    cuda[Arm].qvel.torch()[2] = float("nan")
    cuda.errors()
    cuda.step(np.zeros((NUM_WORLDS, 1, 2), np.float32))
    assert [fault.world for fault in cuda.errors()] == [2]
    assert np.isfinite(cuda[Arm].qpos.numpy()).all()


def test_images_of_worlds_on_cuda(pair: list[wl.Simulation]) -> None:
    draw = robots.Renderer(test_physics.PHYSICS, 64, 48)
    for simulation in pair:
        simulation.reset(seeds=5)
        simulation[Arm].qpos.assign(np.tile([0.4, -0.8], (NUM_WORLDS, 1, 1)).astype(simulation[Arm].qpos.dtype))
    try:
        images = [draw.images(simulation, range(NUM_WORLDS)) for simulation in pair]
    except wl.InputError as missing:
        pytest.skip(str(missing))
    assert images[0].shape == (NUM_WORLDS, 48, 64, 3)
    np.testing.assert_allclose(*(image.astype(int) for image in images), atol=2)
    assert (draw(pair[1], 3) == images[1][3]).all()
