"""Momentum of joined bodies, and chains with a heavy end."""

import numpy as np
import pytest
from physics_scenes import SOLID, BodySpec, JointSpec, Thing, matrix, simulate

from worldloom import physics

PAIR = [
    BodySpec(physics.BOX, (0.5, 0.2, 0.3), velocity=(0.0, 1.0, 0.5), spin=(1.0, 2.0, -1.0)),
    BodySpec(physics.BOX, (0.3, 0.3, 0.4), (1.5, 0.0, 0.0), velocity=(0.3, -1.0, 0.0), spin=(0.0, -2.0, 3.0)),
]


def invariants(sim) -> tuple[np.ndarray, np.ndarray, float]:
    """Momentum, angular momentum about the origin, and kinetic energy, float64."""
    bodies = sim[Thing]
    mass, position, velocity, spin, rotation, inertia = (
        bodies.rows(name).numpy().astype(np.float64)
        for name in ("mass", "position", "velocity", "spin", "rotation", "inertia")
    )
    axes = matrix(rotation)
    turning = np.einsum("nij,nj->ni", axes @ inertia @ np.swapaxes(axes, 1, 2), spin)
    momentum = mass[:, None] * velocity
    angular = np.cross(position, momentum) + turning
    return momentum.sum(0), angular.sum(0), 0.5 * float((momentum * velocity).sum() + (turning * spin).sum())


@pytest.mark.parametrize("kind", [physics.FIXED, physics.BALL, physics.HINGE, physics.SLIDER, physics.DISTANCE])
def test_joints_keep_momentum(kind):
    limits = {"lower": 0.1, "upper": 0.3} if kind == physics.DISTANCE else {"lower": -0.3, "upper": 0.5}
    joint = JointSpec(kind, 0, 1, (0.75, 0.0, 0.0), (-0.75, 0.0, 0.0), axis=(0.0, 0.6, 0.8), **limits)
    sim = simulate(PAIR, joints=(joint,), gravity=np.zeros(3, np.float32))
    sim.step()
    momentum, angular, energy = invariants(sim)
    for _ in range(60):
        sim.step()
    after = invariants(sim)
    assert after[0] == pytest.approx(momentum, abs=1e-5 * np.abs(momentum).max())
    assert after[1] == pytest.approx(angular, abs=1e-4 * np.abs(angular).max())
    assert after[2] < 1.002 * energy


def chain(ratio: float) -> tuple[list[BodySpec], tuple[JointSpec, ...]]:
    """Four links of 0.5 m, the last heavier by a factor, level and hanging by one end."""
    bodies = [BodySpec(physics.SPHERE, (0.05, 0.0, 0.0), (0.0, 1.0, 5.0), motion=physics.STATIC)]
    joints = [JointSpec(physics.BALL, 0, 1, (0.0, -1.0, 0.0), (-0.25, 0.0, 0.0))]
    for i in range(4):
        place = (0.25 + 0.5 * i, 0.12 * (i % 2), 5.0)  # links side by side, which do not touch
        density = 1000.0 * (ratio if i == 3 else 1.0)
        bodies.append(BodySpec(physics.BOX, (0.25, 0.05, 0.05), place, density=density))
    for i in range(1, 4):
        aside = 0.12 if i % 2 == 1 else -0.12
        joints.append(JointSpec(physics.BALL, i, i + 1, (0.25, 0.0, 0.0), (-0.25, -aside, 0.0)))
    return bodies, tuple(joints)


@pytest.mark.parametrize(("ratio", "stretch"), [(1.0, 0.03), (10.0, 0.035), (100.0, 0.03)])
def test_a_chain_with_a_heavy_end_holds(ratio, stretch):
    bodies, joints = chain(ratio)
    sim = simulate(bodies, joints=joints)
    for _ in range(120):
        sim.step()
        position, axes = sim[Thing].position.numpy()[0], matrix(sim[Thing].rotation.numpy()[0])
        for joint in joints:
            on_a = position[joint.a] + axes[joint.a] @ joint.anchor_a
            on_b = position[joint.b] + axes[joint.b] @ joint.anchor_b
            assert np.linalg.norm(on_b - on_a) < stretch
    assert sim.errors() == [] and sim[SOLID.Joint].counts.numpy()[0] == 4
