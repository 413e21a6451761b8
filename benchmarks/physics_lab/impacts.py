"""Collisions: oblique hits, rows of balls, bounces."""

from __future__ import annotations

import math

import numpy as np

from physics_lab.scenario import WEIGHTLESS, Scenario, floor
from physics_lab.world import BodySpec, Motion, Scene
from worldloom import physics

GROUP = "Impacts"
DROP = 2.0  # m, of the lowest point of the ball


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
    """Height of the first bounce as a fraction of the drop."""
    height = motions[0].position[:, 1, 2] - 0.1
    bottom = int((np.diff(height) > 0.0).argmax())
    return float(height[bottom:].max() / DROP)


def scenarios() -> list[Scenario]:
    rows = []
    hits, row, drop = [oblique()], [cradle()], [bounce()]
    for settings, loose in (({}, True), (SETTINGS, False)):
        bound = math.inf if loose else 1.0
        hit = {**WEIGHTLESS, **settings}
        rows += [
            Scenario(GROUP, "oblique elastic hit: angle of the second ball", hits, 1.0, angle, 30.0, bound, "°",
                     "sin θ = b / 2 r", hit),
            Scenario(GROUP, "oblique elastic hit: energy kept", hits, 1.0, kept_energy, 1.0, 0.02 * bound, "",
                     "elastic", hit),
            Scenario(GROUP, "Newton's cradle of 5: speed of the last", row, 1.0, last_speed, 3.0, math.inf,
                     "m/s", "equal masses", hit),
            Scenario(GROUP, "Newton's cradle of 5: speed of the others", row, 1.0, others_speed, 0.0,
                     math.inf, "m/s", "equal masses", hit),
            Scenario(GROUP, "bounce with restitution 1: height kept", drop, 1.25, height_kept, 1.0, 0.02 * bound,
                     "", "elastic", settings),
        ]  # fmt: skip
    return rows


SETTINGS = {"dt": 1.0 / 240.0}
