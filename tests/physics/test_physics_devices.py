"""The interpreter and compiled code give the same bits."""

import numpy as np
from physics_scenes import FLOOR, BodySpec, JointSpec, Thing, axis_angle, simulate

from worldloom import physics

TILTED = axis_angle((1.0, 2.0, 0.5), 0.4)
ALL_SHAPES = [
    FLOOR,
    BodySpec(physics.BOX, (0.5, 0.4, 0.3), (0.0, 0.0, 0.55), TILTED, spin=(1.0, 0.0, 2.0)),
    BodySpec(physics.WEDGE, (0.5, 0.5, 0.4), (0.3, 0.2, 1.3), TILTED),
    BodySpec(physics.CAPSULE, (0.2, 0.4, 0.0), (-0.6, 0.1, 0.8), TILTED),
    BodySpec(physics.HULL, position=(0.8, -0.5, 0.6), hull=3),
    BodySpec(physics.SPHERE, (0.3, 0.0, 0.0), (-0.3, -0.7, 0.3), velocity=(1.0, 2.0, 0.0)),
]
JOINTS = (
    JointSpec(physics.HINGE, 1, 2, (0.3, 0.2, 0.7), axis=(0.6, 0.0, 0.8), lower=-0.1, motor_speed=2.0, motor_force=9.0),
    JointSpec(physics.SLIDER, 1, 3, (-0.6, 0.1, 0.3), axis=(0.0, 0.6, 0.8), upper=0.01),
    JointSpec(physics.BALL, 2, 4, (0.3, -0.3, -0.4), (-0.2, 0.4, 0.3)),
    JointSpec(physics.DISTANCE, 4, 5, lower=0.5, upper=1.1),
)
STATE = ("position", "rotation", "velocity", "spin")


def final_states(device: str, steps: int, exact: bool = False) -> list[np.ndarray]:
    """State of the bodies of three worlds, with and without joints, after some steps."""
    states = []
    for joints in ((), JOINTS):
        scenes = [
            ALL_SHAPES,
            ALL_SHAPES[1:] if not joints else ALL_SHAPES,
            ALL_SHAPES[:4] if not joints else ALL_SHAPES,
        ]
        sim = simulate(*scenes, joints=joints, device=device, exact=exact)
        for _ in range(steps):
            sim.step()
        states += [sim[Thing].padded(name).cpu().numpy() for name in STATE]
        assert sim.errors() == []
    return states


def test_the_interpreter_and_the_cpu_agree_bit_for_bit():
    for interpreted, compiled in zip(final_states("python", 2), final_states("cpu", 2), strict=True):
        assert np.array_equal(interpreted.view(np.int32), compiled.view(np.int32))


def test_joints_that_begin_apart_neither_fault_nor_explode():
    position, _, velocity, _ = final_states("cpu", 60)[len(STATE) :]
    assert np.abs(velocity).max() < 10.0
    assert np.abs(position).max() < 6.0
