"""A crank with a slider, and a car."""

from __future__ import annotations

import math

import numpy as np

from physics_lab.scenario import Scenario, floor
from physics_lab.world import BodySpec, JointSpec, Motion, Scene, axis_angle, rotated
from worldloom import physics

GROUP = "Mechanisms"
CRANK, ROD = 0.3, 1.0  # m
CRANK_SPEED = 6.0  # rad/s
Y = (0.0, 1.0, 0.0)
WHEEL, WHEEL_SPEED = 0.3, 10.0  # m, rad/s
RAMP_LENGTH, RAMP_HEIGHT = 4.0, 0.8  # m


def crank() -> Scene:
    """A motor turns a crank about y; a rod moves a block along x."""
    frame = BodySpec(size=(0.05, 0.05, 0.05), position=(0.0, 2.0, 0.0), motion=physics.STATIC)
    arm = BodySpec(size=(0.5 * CRANK, 0.03, 0.03), position=(0.5 * CRANK, 0.0, 0.0), mass=1.0)
    rod = BodySpec(size=(0.5 * ROD, 0.02, 0.02), position=(CRANK + 0.5 * ROD, 0.0, 0.0), mass=1.0)
    block = BodySpec(size=(0.1, 0.1, 0.1), position=(CRANK + ROD, 0.0, 0.0), mass=2.0)
    joints = [
        JointSpec(physics.HINGE, 0, 1, (0.0, -2.0, 0.0), (-0.5 * CRANK, 0.0, 0.0), axis=Y, motor_speed=CRANK_SPEED,
                  motor_force=500.0),
        JointSpec(physics.HINGE, 1, 2, (0.5 * CRANK, 0.0, 0.0), (-0.5 * ROD, 0.0, 0.0), axis=Y),
        JointSpec(physics.BALL, 2, 3, (0.5 * ROD, 0.0, 0.0)),
        JointSpec(physics.SLIDER, 0, 3, (CRANK + ROD, -2.0, 0.0), axis=(1.0, 0.0, 0.0)),
    ]  # fmt: skip
    return Scene([frame, arm, rod, block], joints)


def crank_angle(motion: Motion) -> np.ndarray:
    """The angle of the crank about y at every time, rad."""
    direction = rotated(motion.rotation[:, 1], (1.0, 0.0, 0.0))
    return np.unwrap(np.arctan2(-direction[:, 2], direction[:, 0]))


def slider_error(motions: list[Motion]) -> float:
    """Largest distance of the block from where the angle of the crank puts it, m."""
    angle = crank_angle(motions[0])
    exact = CRANK * np.cos(angle) + np.sqrt(ROD**2 - (CRANK * np.sin(angle)) ** 2)
    return float(np.abs(motions[0].position[:, 3, 0] - exact).max())


def crank_rate(motions: list[Motion]) -> float:
    angle = crank_angle(motions[0])
    half = len(angle) // 2
    return float((angle[-1] - angle[half]) / (motions[0].times[-1] - motions[0].times[half]))


def car(ramp: bool) -> Scene:
    """A chassis of 200 kg and four wheels with motors, which drives along x, up a wedge where there is one."""
    chassis = BodySpec(size=(0.8, 0.4, 0.15), position=(-3.0, 0.0, 0.6), mass=200.0)
    corners = [(x, y) for x in (-0.6, 0.6) for y in (-0.6, 0.6)]
    wheels = [
        BodySpec(physics.SPHERE, (WHEEL, 0.0, 0.0), (-3.0 + x, y, WHEEL), mass=10.0, friction=0.9) for x, y in corners
    ]
    joints = [
        JointSpec(physics.HINGE, 1, 2 + i, (x, y, WHEEL - 0.6), axis=Y, motor_speed=WHEEL_SPEED, motor_force=150.0)
        for i, (x, y) in enumerate(corners)
    ]
    track = []
    if ramp:  # the wedge rises along its own y, and its origin is its centre of mass
        along_x = axis_angle((0.0, 0.0, 1.0), -0.5 * math.pi)
        half = (1.5, 0.5 * RAMP_LENGTH, 0.5 * RAMP_HEIGHT)
        track = [
            BodySpec(physics.WEDGE, half, (half[1] / 3.0, 0.0, RAMP_HEIGHT / 3.0), along_x, motion=physics.STATIC,
                     friction=0.9),
            BodySpec(size=(8.0, 1.5, half[2]), position=(half[1] + 8.0, 0.0, half[2]), motion=physics.STATIC,
                     friction=0.9),
        ]  # fmt: skip
    return Scene([floor(0.9), chassis, *wheels, *track], joints)


def car_speed(motions: list[Motion]) -> float:
    return float(motions[0].velocity[-1, 1, 0])


def car_rise(motions: list[Motion]) -> float:
    return float(motions[0].position[-1, 1, 2] - motions[0].position[0, 1, 2])


def scenarios() -> list[Scenario]:
    turning, flat, ramp = [crank()], [car(False)], [car(True)]
    return [
        Scenario(GROUP, "crank and slider, 5 turns: largest error of the slider", turning, 5.24, slider_error, 0.0,
                 0.01, "m", "r cos φ + √(l² - r² sin² φ)"),
        Scenario(GROUP, "crank and slider, 5 turns: largest error of the slider", turning, 5.24, slider_error, 0.0,
                 0.003, "m", "r cos φ + √(l² - r² sin² φ)", {"substeps": 16}),
        Scenario(GROUP, "crank: speed of its motor", turning, 5.24, crank_rate, CRANK_SPEED, 0.01 * CRANK_SPEED,
                 "rad/s", "motor_speed"),
        Scenario(GROUP, "car of 4 driven wheels: speed", flat, 4.0, car_speed, WHEEL * WHEEL_SPEED,
                 0.02 * WHEEL * WHEEL_SPEED, "m/s", "ω r"),
        Scenario(GROUP, "car up a wedge of 11°: rise", ramp, 4.0, car_rise, RAMP_HEIGHT, 0.02, "m",
                 "height of the wedge"),
        Scenario(GROUP, "car on top: speed", ramp, 4.0, car_speed, WHEEL * WHEEL_SPEED,
                 0.02 * WHEEL * WHEEL_SPEED, "m/s", "ω r"),
    ]  # fmt: skip
