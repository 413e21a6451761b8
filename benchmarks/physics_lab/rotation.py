"""Free rotation, a heavy top, and pendulums."""

from __future__ import annotations

import math

import numpy as np

from physics_lab.scenario import WEIGHTLESS, G, Scenario, integrate
from physics_lab.world import STILL, BodySpec, JointSpec, Motion, Scene, axis_angle, inverse, rotated
from worldloom import physics

GROUP = "Rotation and joints"
MOMENTS = (1.0, 2.0, 3.0)  # kg m², of the body that turns about its unstable axis
SPIN = (0.01, 5.0, 0.01)  # rad/s
TOP_MASS, TOP_ARM, TOP_AXIAL, TOP_ACROSS = 1.0, 0.3, 0.1, 0.05  # kg, m, kg m², kg m²
TOP_SPIN, TOP_TILT = 40.0, math.radians(60.0)
ROD = BodySpec(size=(0.5, 0.05, 0.05), mass=1.0)
FINE_STEPS = {"dt": 1.0 / 240.0}
FINE_SUBSTEPS = {"substeps": 16}


def energy(motion: Motion) -> np.ndarray:
    """Kinetic and potential energy of all bodies with mass, J, shape (steps + 1,)."""
    moving = motion.mass > 0.0
    seen = rotated(inverse(motion.rotation), motion.spin)[:, moving]
    kinetic = 0.5 * motion.mass[moving] * (motion.velocity[:, moving] ** 2).sum(-1)
    turning = 0.5 * (motion.inertia[moving] * seen**2).sum(-1)
    return (kinetic + turning + motion.mass[moving] * G * motion.position[:, moving, 2]).sum(-1)


def spin_energy(motion: Motion) -> np.ndarray:
    """Kinetic energy of the rotation of the first body, J."""
    seen = rotated(inverse(motion.rotation[:, 0]), motion.spin[:, 0])
    return 0.5 * (motion.inertia[0] * seen**2).sum(-1)


def angular_momentum(motion: Motion) -> np.ndarray:
    """That of the first body about its centre, kg m²/s, shape (steps + 1, 3)."""
    seen = rotated(inverse(motion.rotation[:, 0]), motion.spin[:, 0])
    return rotated(motion.rotation[:, 0], motion.inertia[0] * seen)


def energy_change(motions: list[Motion]) -> float:
    """Largest relative change of the energy of rotation in any of the worlds, with its sign."""
    changes = np.concatenate([spin_energy(motion) / spin_energy(motion)[0] - 1.0 for motion in motions])
    return float(changes[np.abs(changes).argmax()])


def momentum_change(motions: list[Motion]) -> float:
    """Largest relative change of the angular momentum in any of the worlds."""
    values = [angular_momentum(motion) for motion in motions]
    return float(max(np.linalg.norm(v - v[0], axis=1).max() / np.linalg.norm(v[0]) for v in values))


def flip_interval(spins: np.ndarray, dt: float) -> float:
    """Mean time between two changes of the sign of the spin about the second axis, s."""
    flips = np.flatnonzero(np.diff(np.sign(spins[:, 1])) != 0) * dt
    return float(np.diff(flips).mean()) if len(flips) > 1 else math.nan


def flips(motions: list[Motion]) -> float:
    motion = motions[0]
    return flip_interval(rotated(inverse(motion.rotation[:, 0]), motion.spin[:, 0]), motion.dt)


def exact_flips() -> float:
    """The time between two flips by Euler's equations."""
    a, b, c = MOMENTS

    def rates(w: np.ndarray) -> np.ndarray:
        return np.array([(b - c) / a * w[1] * w[2], (c - a) / b * w[2] * w[0], (a - b) / c * w[0] * w[1]])

    return flip_interval(integrate(rates, SPIN, 20.0, 1e-3), 1e-3)


def pendulum() -> Scene:
    """Two rods of 1 m on hinges, level at rest."""
    base = BodySpec(size=(0.05, 0.05, 0.05), position=(0.0, 2.0, 0.0), motion=physics.STATIC)  # out of their way
    rods = [BodySpec(size=ROD.size, mass=1.0, position=(0.5 + i, 0.0, 0.0)) for i in range(2)]
    axis = (0.0, 1.0, 0.0)
    joints = [
        JointSpec(physics.HINGE, 0, 1, (0.0, -2.0, 0.0), (-0.5, 0.0, 0.0), axis=axis),
        JointSpec(physics.HINGE, 1, 2, (0.5, 0.0, 0.0), (-0.5, 0.0, 0.0), axis=axis),
    ]
    return Scene([base, *rods], joints)


def pendulum_loss(motions: list[Motion]) -> float:
    """Largest change of the energy, with its sign, as a fraction of the sum of m g l."""
    changes = (energy(motions[0]) - energy(motions[0])[0]) / (2.0 * G)
    return float(changes[np.abs(changes).argmax()])


def top() -> Scene:
    """A disc that spins about its axis, held at a point of that axis and released at rest."""
    tilt = axis_angle((0.0, 1.0, 0.0), TOP_TILT)
    axis = rotated(tilt, (0.0, 0.0, 1.0))
    base = BodySpec(size=(0.01, 0.01, 0.01), motion=physics.STATIC)
    disc = BodySpec(
        size=(0.1, 0.1, 0.02),
        mass=TOP_MASS,
        inertia=(TOP_ACROSS, TOP_ACROSS, TOP_AXIAL),
        position=tuple((TOP_ARM * axis).tolist()),
        rotation=tilt,
        spin=tuple((TOP_SPIN * axis).tolist()),
    )
    return Scene([base, disc], [JointSpec(physics.BALL, 0, 1, (0.0, 0.0, 0.0), (0.0, 0.0, -TOP_ARM), rotation=STILL)])


def exact_top(seconds: float) -> tuple[float, float]:
    """Mean rate of precession, rad/s, and largest nutation, rad, by Lagrange's equations of the symmetric top."""
    across = TOP_ACROSS + TOP_MASS * TOP_ARM**2
    along = TOP_AXIAL * TOP_SPIN
    vertical = along * math.cos(TOP_TILT)  # angular momentum about the vertical axis

    def rates(state: np.ndarray) -> np.ndarray:
        tilt, falling, _azimuth = state
        s, c = math.sin(tilt), math.cos(tilt)
        turning = (vertical - along * c) / (across * s * s)
        lift = TOP_MASS * G * TOP_ARM * s - along * turning * s
        return np.array([falling, turning**2 * s * c + lift / across, turning])

    states = integrate(rates, (TOP_TILT, 0.0, 0.0), seconds, 1e-3)
    return float(states[-1, 2] / seconds), float(states[:, 0].max() - TOP_TILT)


def precession(motions: list[Motion]) -> float:
    axis = rotated(motions[0].rotation[:, 1], (0.0, 0.0, 1.0))
    azimuth = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    return float((azimuth[-1] - azimuth[0]) / motions[0].times[-1])


def nutation(motions: list[Motion]) -> float:
    axis = rotated(motions[0].rotation[:, 1], (0.0, 0.0, 1.0))
    return float(np.arccos(np.clip(axis[:, 2], -1.0, 1.0)).max() - TOP_TILT)


def scenarios() -> list[Scenario]:
    box = BodySpec(size=(0.3, 0.2, 0.1), mass=1.0, spin=(5.0, 6.0, 7.0))
    ball = BodySpec(physics.SPHERE, (0.3, 0.0, 0.0), mass=1.0, spin=(3.0, 5.0, 8.0))
    free = [Scene([box]), Scene([ball])]
    twisting = [Scene([BodySpec(size=(0.3, 0.2, 0.1), mass=1.0, inertia=MOMENTS, spin=SPIN)])]
    rows = []
    for settings in ({}, FINE_SUBSTEPS, FINE_STEPS, {**FINE_STEPS, **FINE_SUBSTEPS}):
        for name, measure in (("energy", energy_change), ("angular momentum", momentum_change)):
            text = f"free box and ball fall and spin for 60 s: {name}"
            rows.append(Scenario(GROUP, text, free, 60.0, measure, 0.0, 1e-3, "", "conserved", settings))
    period = exact_flips()
    for settings in ({}, FINE_SUBSTEPS, FINE_STEPS):
        flip = {**WEIGHTLESS, **settings}
        text = "Dzhanibekov: time between flips"
        rows.append(Scenario(GROUP, text, twisting, 20.0, flips, period, 0.03 * period, "s",
                             "Euler's equations, float64", flip))  # fmt: skip
    rate, swing = exact_top(10.0)
    spinning, rods = [top()], [pendulum()]
    for settings in ({}, FINE_SUBSTEPS):
        source = "Lagrange's equations, float64"
        rows.append(Scenario(GROUP, "heavy top: precession", spinning, 10.0, precession, rate, 0.03 * rate, "rad/s",
                             f"{source}; m g l / I ω is {TOP_MASS * G * TOP_ARM / (TOP_AXIAL * TOP_SPIN):.3f}",
                             settings))  # fmt: skip
        rows.append(Scenario(GROUP, "heavy top: nutation", spinning, 10.0, nutation, swing, 0.2 * swing, "rad", source,
                             settings))  # fmt: skip
    text = "double pendulum, 60 s: energy / Σ m g l"
    rows.append(Scenario(GROUP, text, rods, 60.0, pendulum_loss, 0.0, math.inf, "", "conserved"))
    rows.append(Scenario(GROUP, text, rods, 60.0, pendulum_loss, 0.0, 0.02, "", "conserved", FINE_SUBSTEPS))
    return rows
