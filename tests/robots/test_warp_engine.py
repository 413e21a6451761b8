"""MuJoCo Warp against the C engine, on the CPU: the same world with 32-bit numbers."""

from dataclasses import replace

import numpy as np
import pytest
import test_physics
from test_physics import Arm
from thorough import THOROUGH

import worldloom as wl

pytestmark = pytest.mark.skipif(not THOROUGH, reason="compiles MuJoCo Warp for minutes: make test-thorough")
NUM_WORLDS = 4


@pytest.fixture(scope="module")
def pair():
    definition = replace(test_physics.define(max_steps=25), cuda_float32=True, worlds_per_thread=1000)
    return [wl.Simulation(d, num_worlds=NUM_WORLDS, seed=3) for d in (definition, definition.for_cuda())]


def test_the_first_state_is_complete(pair):
    c_engine, warp = pair
    assert warp[Arm].qpos.numpy().dtype == np.float32
    for name in ("qpos", "xpos", "sensordata"):
        np.testing.assert_allclose(
            getattr(warp[Arm], name).numpy(), getattr(c_engine[Arm], name).numpy(), atol=1e-5, err_msg=name
        )


def test_steps_and_resets_are_alike(pair):
    c_engine, warp = pair
    generator = np.random.default_rng(0)
    for step in range(40):
        torques = generator.uniform(-1, 1, (NUM_WORLDS, 1, 2)).astype(np.float32)
        c_engine.step(torques)
        warp.step(torques)
        for name, tolerance in (("qpos", 1e-3), ("qvel", 1e-2), ("xpos", 1e-3), ("sensordata", 1e-3), ("time", 1e-4)):
            wide, narrow = (getattr(simulation[Arm], name).numpy() for simulation in pair)
            np.testing.assert_allclose(narrow, wide, atol=tolerance, err_msg=f"{name} at {step}")
    assert not warp[Arm].physics_faults.numpy().any()


def test_one_unstable_world_is_reset_alone(pair):
    _, warp = pair
    warp[Arm].qvel.numpy()[2] = np.nan
    before = warp[Arm].time.numpy().copy()
    warp.errors()
    warp.step(np.zeros((NUM_WORLDS, 1, 2), np.float32))
    assert [fault.world for fault in warp.errors()] == [2]
    after = warp[Arm].time.numpy()
    assert np.isfinite(warp[Arm].qpos.numpy()).all()
    assert after[2] == 0.0
    assert (np.delete(after, 2) > np.delete(before, 2)).all()
