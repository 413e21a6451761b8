"""One step of MuJoCo Warp on CUDA against the C engine, from 1,000 states of each model."""

from __future__ import annotations

import pytest

import worldloom as wl
from worldloom.envs.dm_suite.family import TASKS as SUITE_TASKS
from worldloom.robots.physics import physics_of
from worldloom.robots.warp.accuracy import measure_accuracy

pytest.importorskip("mujoco_warp")
pytest.importorskip("dm_control")

LOCOMOTION = ("LocomotionAnt-v0", "LocomotionHumanoid-v0", "FlagrunHarder-v0", "FlagrunTerrain-v0")
SHARE = 0.99


@pytest.mark.parametrize("id", [*(id for id in SUITE_TASKS if id != "QuadrupedEscape-v1"), *LOCOMOTION])
def test_a_step_is_that_of_the_c_engine(id: str) -> None:
    physics = physics_of(wl.definition(id))
    accuracy = measure_accuracy(physics.model, physics.substeps, physics.sizes, "cuda:0")
    assert accuracy.num_faults == 0
    assert accuracy.share >= SHARE, accuracy.outliers()
