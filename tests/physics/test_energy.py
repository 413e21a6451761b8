"""Kinetic energy of bodies without gravity and forces: no step raises it, evaluated in float64, where bodies touch."""

from dataclasses import replace

import numpy as np
import pytest
from physics_scenes import BodySpec, JointSpec, Thing, axis_angle, matrix, simulate
from test_dynamics import crowd

from worldloom import physics

WEIGHTLESS = np.zeros(3, np.float32)
BOUND = 1e-12  # relative: the order in which float64 sums are taken
ROUNDING = 5e-7  # relative: rotation and spin of a body on its own, in float32


def kinetic_energies(sim) -> np.ndarray:
    """Kinetic energy of the dynamic bodies, float64, shape (worlds, bodies)."""
    bodies = sim[Thing]
    mass, v, w, q, inertia, motion = (
        bodies.padded(name).cpu().numpy().astype(np.float64)
        for name in ("mass", "velocity", "spin", "rotation", "inertia", "motion")
    )
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    axes = matrix(q / np.where(length > 0.0, length, 1.0))
    seen = np.einsum("...ji,...j->...i", axes, w)
    turning = np.einsum("...i,...ij,...j->...", seen, inertia, seen)
    return 0.5 * (mass * (v * v).sum(-1) + turning) * (motion == physics.DYNAMIC)


def kinetic_energy(sim) -> np.ndarray:
    """Kinetic energy of the dynamic bodies of each world, float64, shape (worlds,)."""
    return kinetic_energies(sim).sum(axis=1)


def largest_rise(sim, steps: int) -> float:
    """The largest relative rise of the energy of the bodies of a world with contacts or joints, in one step."""
    sim.step()
    energy = kinetic_energies(sim)
    worst = -1.0
    for _ in range(steps):
        sim.step()
        after = kinetic_energies(sim)
        rise, bound = after - energy, sim[Thing].padded("bonds").cpu().numpy() != 0
        assert (np.abs(rise) <= ROUNDING * energy)[~bound].all()
        total = energy.sum(axis=1)
        worst = max(worst, float(((rise * bound).sum(axis=1) / np.where(total > 0.0, total, 1.0)).max()))
        energy = after
    assert sim.errors() == []
    return worst


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_collisions_never_add_energy(restitution):
    generator = np.random.default_rng(1)
    scenes = [[replace(body, restitution=restitution) for body in crowd(generator, 8)] for _ in range(40)]
    assert largest_rise(simulate(*scenes, gravity=WEIGHTLESS), 90) < BOUND


def test_bodies_between_walls_never_gain_energy():
    generator = np.random.default_rng(2)
    turns = [axis_angle((0.0, 1.0, 0.0), angle) for angle in (0.5 * np.pi, -0.5 * np.pi)]
    walls = [
        BodySpec(physics.PLANE, position=(-1.6, 0.0, 0.0), rotation=turns[0], motion=physics.STATIC),
        BodySpec(physics.PLANE, position=(1.6, 0.0, 0.0), rotation=turns[1], motion=physics.STATIC),
    ]
    scenes = []
    for _ in range(40):
        bodies = [
            BodySpec(
                int(generator.integers(physics.SPHERE, physics.HULL + 1)),
                tuple(generator.uniform(0.2, 0.5, 3)),
                tuple(generator.uniform(-1.0, 1.0, 3)),  # some overlap
                velocity=tuple(3.0 * generator.normal(size=3)),
                spin=tuple(3.0 * generator.normal(size=3)),
                restitution=float(generator.uniform()),
            )
            for _ in range(4)
        ]
        scenes.append(walls + bodies)
    sim = simulate(*scenes, gravity=WEIGHTLESS, max_depth=1e30)  # a fault would begin a world again
    assert largest_rise(sim, 60) < BOUND


@pytest.mark.parametrize("kind", [physics.FIXED, physics.BALL, physics.HINGE, physics.SLIDER, physics.DISTANCE])
def test_joints_without_motors_never_add_energy(kind):
    limits = {"lower": 0.1, "upper": 0.3} if kind == physics.DISTANCE else {"lower": -0.3, "upper": 0.5}
    joint = JointSpec(kind, 0, 1, (0.75, 0.0, 0.0), (-0.75, 0.0, 0.0), axis=(0.0, 0.6, 0.8), **limits)
    generator = np.random.default_rng(3)
    scenes = [
        [
            BodySpec(
                physics.BOX,
                tuple(generator.uniform(0.2, 0.5, 3)),
                (x, 0.0, 0.0),
                velocity=tuple(generator.normal(size=3)),
                spin=tuple(2.0 * generator.normal(size=3)),
            )
            for x in (0.0, 1.5)
        ]
        for _ in range(10)
    ]
    assert largest_rise(simulate(*scenes, joints=(joint,), gravity=WEIGHTLESS), 60) < BOUND


def test_forces_motors_and_moving_walls_may_add_energy():
    body = BodySpec(physics.BOX, (0.5, 0.2, 0.3), velocity=(0.0, 1.0, 0.0))
    sim = simulate([body], gravity=WEIGHTLESS)
    sim.step()
    before = kinetic_energy(sim)
    sim[Thing].force.numpy()[0, 0] = (0.0, 5000.0, 0.0)
    sim.step()
    assert kinetic_energy(sim)[0] > 1.1 * before[0]
    pair = [body, BodySpec(physics.BOX, (0.3, 0.3, 0.3), (1.5, 0.0, 0.0))]
    motor = {"motor_speed": 5.0, "motor_force": 500.0}
    hinge = JointSpec(physics.HINGE, 0, 1, (0.75, 0.0, 0.0), (-0.75, 0.0, 0.0), **motor)
    sim = simulate(pair, joints=(hinge,), gravity=WEIGHTLESS)
    for _ in range(10):
        sim.step()
    assert kinetic_energy(sim)[0] > 1.1 * before[0]
    way = {"position": (0.0, -1.0, 0.0), "velocity": (0.0, 4.0, 0.0)}
    pusher = BodySpec(physics.BOX, (0.5, 0.5, 0.5), motion=physics.KINEMATIC, **way)
    sim = simulate([body, pusher], gravity=WEIGHTLESS)
    for _ in range(10):
        sim.step()
    assert kinetic_energy(sim)[0] > 1.1 * before[0]


def test_the_interpreter_and_the_cpu_agree_without_gravity():
    scene = crowd(np.random.default_rng(4), 3)
    scene += [BodySpec(physics.BOX, (0.3, 0.3, 0.3), scene[0].position, velocity=(1.0, 0.0, 0.0))]  # overlaps
    states = []
    for device in ("python", "cpu"):
        sim = simulate(scene, device=device, gravity=WEIGHTLESS)
        for _ in range(3):
            sim.step()
        states.append([sim[Thing].padded(name).cpu().numpy() for name in ("rotation", "velocity", "spin", "energy")])
    for interpreted, compiled in zip(*states, strict=True):
        assert interpreted.tobytes() == compiled.tobytes()
