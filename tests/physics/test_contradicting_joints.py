"""Joints that no poses of the bodies meet."""

import numpy as np
import pytest
from physics_scenes import MAX_JOINTS, JointSpec, Thing, simulate
from test_physics_devices import ALL_SHAPES

from worldloom import physics


@pytest.fixture(scope="module", autouse=True)
def quick() -> None:
    """Compile with optimizations: without, the steps take longer than the compiler saves."""


def random_joint(rng: np.random.Generator) -> JointSpec:
    """Between any two bodies, with anchors up to 2 m apart, turns, limits and motors."""
    kind = int(rng.integers(5))
    a, b = (int(row) for row in rng.choice(len(ALL_SHAPES), 2, replace=False))
    turn, axis, anchors = rng.normal(size=4), rng.normal(size=3), rng.uniform(-0.5, 0.5, (2, 3))
    options = {}
    if rng.random() < 0.5:
        options["rotation"] = tuple(turn / np.linalg.norm(turn))
    if rng.random() < 0.4:
        lower = 0.3 if kind == physics.DISTANCE else -0.3
        options |= {"lower": lower, "upper": lower + rng.random()}
    if rng.random() < 0.3:
        options |= {"motor_speed": 3.0 * rng.normal(), "motor_force": 20.0 * rng.random()}
    return JointSpec(kind, a, b, *anchors, axis=tuple(axis), **options)


def test_joints_that_contradict_each_other_leave_worlds_without_faults():
    """Contacts and up to four random joints, which no poses meet: in few worlds bodies are thrown apart."""
    rng, worlds = np.random.default_rng(5), 256
    numbers, kinds = rng.integers(1, MAX_JOINTS + 1, worlds), np.zeros((worlds, MAX_JOINTS, 3), np.int32)
    values = np.zeros((worlds, MAX_JOINTS, 17), np.float32)
    for world, number in enumerate(numbers):
        for i, joint in enumerate(random_joint(rng) for _ in range(number)):
            kinds[world, i], values[world, i] = (joint.kind, joint.a, joint.b), joint.numbers()
    sim = simulate(*[ALL_SHAPES] * worlds, max_depth=1e30, joint_kinds=kinds, joint_values=values)
    sim.set_config("joints", numbers.astype(np.int32))
    sim.reset()
    faults, fast = set(), np.zeros(worlds, bool)
    for _ in range(120):
        sim.step()
        fast |= np.abs(sim[Thing].padded("velocity").numpy()).max((1, 2)) > 500.0
        faults |= {error.world for error in sim.errors()}
    assert len(faults) <= 20 and fast.sum() <= 20
