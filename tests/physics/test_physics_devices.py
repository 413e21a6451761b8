"""The interpreter and compiled code give the same bits."""

import numpy as np
from physics_scenes import FLOOR, BodySpec, JointSpec, Thing, axis_angle, simulate

from worldloom import physics


def test_the_interpreter_and_the_cpu_agree_bit_for_bit():
    tilted = axis_angle((1.0, 2.0, 0.5), 0.4)
    scene = [
        FLOOR,
        BodySpec(physics.BOX, (0.5, 0.4, 0.3), (0.0, 0.0, 0.55), tilted, spin=(1.0, 0.0, 2.0)),
        BodySpec(physics.WEDGE, (0.5, 0.5, 0.4), (0.3, 0.2, 1.3), tilted),
        BodySpec(physics.CAPSULE, (0.2, 0.4, 0.0), (-0.6, 0.1, 0.8), tilted),
        BodySpec(physics.HULL, position=(0.8, -0.5, 0.6), hull=3),
        BodySpec(physics.SPHERE, (0.3, 0.0, 0.0), (-0.3, -0.7, 0.3), velocity=(1.0, 2.0, 0.0)),
    ]
    joints = (
        JointSpec(
            physics.HINGE, 1, 2, (0.3, 0.2, 0.7), axis=(0.6, 0.0, 0.8), lower=-0.1, motor_speed=2.0, motor_force=9.0
        ),
        JointSpec(physics.SLIDER, 1, 3, (-0.6, 0.1, 0.3), axis=(0.0, 0.6, 0.8), upper=0.01),
        JointSpec(physics.BALL, 2, 4, (0.3, -0.3, -0.4), (-0.2, 0.4, 0.3)),
        JointSpec(physics.DISTANCE, 4, 5, lower=0.5, upper=1.1),
    )
    columns = ("position", "rotation", "velocity", "spin")
    results = []
    for device in ("python", "cpu"):
        sim = simulate(scene, joints=joints, device=device)
        for _ in range(6):
            sim.step()
        results.append([sim[Thing][name].numpy()[:, : len(scene)].copy() for name in columns])
        assert sim.errors() == []
    for interpreted, compiled in zip(*results, strict=True):
        assert np.array_equal(interpreted.view(np.int32), compiled.view(np.int32))
