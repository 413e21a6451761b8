"""Collisions: oblique hits, rows of balls, bounces."""

from __future__ import annotations

import math

import numpy as np

from physics_lab.scenario import WEIGHTLESS, Scenario, floor
from physics_lab.world import BodySpec, Motion, Scene
from worldloom import physics

GROUP = "Impacts"
DROP = 2.0  # m, of the lowest point of the ball, which takes 1.28 s from bounce to bounce


def ball(radius: float, **state: object) -> BodySpec:
    return BodySpec(physics.SPHERE, (radius, 0.0, 0.0), mass=1.0, friction=0.0, restitution=1.0, **state)  # type: ignore[arg-type]


def oblique() -> Scene:
    """A ball hits another at half a diameter beside its centre: 30° by geometry."""
    return Scene([ball(0.2, position=(-1.0, 0.0, 0.0), velocity=(4.0, 0.0, 0.0)), ball(0.2, position=(0.0, 0.2, 0.0))])


def cradle() -> Scene:
    """A ball hits four others that touch."""
    first = ball(0.1, position=(-0.3, 0.0, 0.0), velocity=(3.0, 0.0, 0.0))
    return Scene([first, *(ball(0.1, position=(0.2 * i, 0.0, 0.0)) for i in range(1, 5))])


def bounce() -> Scene:
    return Scene([floor(0.0, 1.0), ball(0.1, position=(0.0, 0.0, 0.1 + DROP))])


def angle(motions: list[Motion]) -> float:
    x, y, _z = motions[0].velocity[-1, 1]
    return math.degrees(math.atan2(y, x))


def kept_energy(motions: list[Motion]) -> float:
    speeds = (motions[0].velocity ** 2).sum((1, 2))
    return float(speeds[-1] / speeds[0])


def last_speed(motions: list[Motion]) -> float:
    return float(motions[0].velocity[-1, -1, 0])


def others_speed(motions: list[Motion]) -> float:
    """The largest speed of all but the last ball, m/s."""
    return float(np.abs(motions[0].velocity[-1, :-1, 0]).max())


def height_kept(motions: list[Motion]) -> float:
    """Height of the fifth bounce as a fraction of the drop."""
    height = motions[0].position[:, 1, 2] - 0.1
    rising = np.diff(height) > 0.0
    bottoms = np.flatnonzero(rising[1:] & ~rising[:-1])
    return float(height[bottoms[4] :].max() / DROP)


def scenarios() -> list[Scenario]:
    hits, row, drop = [oblique()], [cradle()], [bounce()]
    return [
        Scenario(GROUP, "oblique elastic hit: angle of the second ball", hits, 1.0, angle, 30.0, 1.0, "°",
                 "sin θ = b / 2 r", WEIGHTLESS),
        Scenario(GROUP, "oblique elastic hit: energy kept", hits, 1.0, kept_energy, 1.0, 0.02, "", "elastic",
                 WEIGHTLESS),
        Scenario(GROUP, "Newton's cradle of 5: speed of the last", row, 1.0, last_speed, 3.0, 0.06, "m/s",
                 "equal masses", WEIGHTLESS),
        Scenario(GROUP, "Newton's cradle of 5: speed of the others", row, 1.0, others_speed, 0.0, 0.06, "m/s",
                 "equal masses", WEIGHTLESS),
        Scenario(GROUP, "bounce with restitution 1: height of the fifth", drop, 6.5, height_kept, 1.0, 0.02, "",
                 "elastic"),
    ]  # fmt: skip
