"""Tasks of the DeepMind Control Suite with MuJoCo Warp against the C engine, on the CPU."""

from dataclasses import replace

import numpy as np
import pytest
from thorough import THOROUGH, sample

import worldloom as wl
from worldloom.envs.dm_suite.family import TASKS

NUM_WORLDS, EPISODE, STEPS = 4, 3, 5
RESETS = ("CheetahRun-v1", "PointMassHard-v1", "ManipulatorBringPeg-v1", "FingerTurnEasy-v1", "QuadrupedWalk-v1")
"""They settle, have tendons per world, move static geoms, and have placements without contacts."""

pytest.importorskip("dm_control")


@pytest.mark.parametrize("id", sample(TASKS, 8))
def test_real_numbers_have_32_bits_on_cuda(id):
    assert wl.definition(id).cuda_float32


@pytest.mark.skipif(not THOROUGH, reason="compiles MuJoCo Warp for minutes: make test-thorough")
@pytest.mark.parametrize("id", RESETS)
def test_episodes_are_alike(id):
    definition = replace(wl.definition(id), max_steps=EPISODE, worlds_per_thread=1000)
    (kind,) = definition.entities
    ((_, action),) = definition.actions().values()
    bounds = np.float32(action.space.low), np.float32(action.space.high)
    c_engine, warp = (wl.Simulation(d, NUM_WORLDS, seed=0) for d in (definition, definition.for_cuda()))
    generator = np.random.default_rng(0)
    for step in range(STEPS):
        for name in ("qpos", "qvel", "reward"):
            wide, narrow = (getattr(simulation[kind], name).numpy() for simulation in (c_engine, warp))
            np.testing.assert_allclose(narrow, wide, atol=1e-3, rtol=1e-3, err_msg=f"{name} at {step}")
        actions = generator.uniform(*bounds, (NUM_WORLDS, 1, *action.space.shape)).astype(np.float32)
        for simulation in (c_engine, warp):
            simulation.step(actions)
    assert not warp.errors()
