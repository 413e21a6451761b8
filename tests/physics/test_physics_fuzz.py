"""Extreme bodies, and numbers that are not finite: nothing spreads to another world, and faults have names.

``WORLDLOOM_PHYSICS_FUZZ=10000`` sets the number of worlds; ``fuzz_bodies.py`` runs them on any device.
"""

import os

import numpy as np
from fuzz_bodies import fuzzed, live_rows, run
from physics_scenes import BodySpec, Thing, simulate

from worldloom import physics

WORLDS = int(os.environ.get("WORLDLOOM_PHYSICS_FUZZ", "60"))


def test_extreme_bodies_stay_within_their_worlds():
    report = run(WORLDS, steps=20)
    assert len(report.injected) >= WORLDS // 10
    assert report.unnoticed == set() and report.changed == set() and report.not_finite == set()


def test_the_interpreter_and_the_cpu_agree_on_extreme_bodies():
    states = []
    for sim in fuzzed(3, 5, "python", "cpu"):
        for _ in range(3):
            sim.step()
        states.append(live_rows(sim))
    for interpreted, compiled in zip(*states, strict=True):
        assert np.array_equal(interpreted.view(np.int32), compiled.view(np.int32))


def test_a_pose_that_is_not_finite_is_a_fault_of_its_world():
    sim = simulate(*[[BodySpec(position=(0.0, 0.0, 3.0))]] * 3)
    sim[Thing].position.numpy()[1, 0, 2] = np.nan
    sim.step()
    faults = sim.errors()
    assert {fault.world for fault in faults} == {1}
    assert faults[0].message.startswith("position of Thing 0 is not a finite number")
    assert sim.truncated.numpy().tolist() == [False, True, False]
    heights = sim[Thing].position.numpy()[:, 0, 2]
    assert heights[1] == 3.0 and heights[0] == heights[2] < 3.0


def test_a_dynamic_body_without_mass_is_a_fault():
    sim = simulate([BodySpec(physics.PLANE)])
    sim.step()
    assert "body 0 is dynamic and has no mass" in sim.errors()[0].message
