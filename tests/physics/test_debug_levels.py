"""The debug levels of HideSeek's original: its bodies drop, settle between planes, and hit each other at 30 m/s."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from physics_scenes import BodySpec, simulate

from worldloom import physics

CUBE = BodySpec(size=(1.0, 1.0, 1.0), density=0.25, friction=4.0)  # 2 kg
TALL = BodySpec(size=(0.75, 1.0, 4.0), density=1.0 / 12.0, friction=4.0)
RAMP = BodySpec(shape=physics.WEDGE, size=(1.0, 1.5, 1.0), density=1.0 / 3.0, friction=1.0)
FLOOR = BodySpec(shape=physics.PLANE, motion=physics.STATIC, friction=0.1)
QUARTER = 0.5**0.5
SIDES = [
    replace(FLOOR, position=(2.0 * side, 0.0, 0.0), rotation=(0.0, -side * QUARTER, 0.0, QUARTER))
    for side in (-1.0, 1.0)
]
"""Two planes that face each other, 4 m apart."""


def turned(body: BodySpec, x: float, y: float, z: float) -> BodySpec:
    """A body rotated by the quaternion (x, y, z, 1), normalized."""
    rotation = np.array([x, y, z, 1.0]) / np.linalg.norm([x, y, z, 1.0])
    return replace(body, rotation=tuple(rotation))


def settle(scene: list[BodySpec], steps: int) -> np.ndarray:
    """Positions of the bodies that move after some steps, when all are slower than 5 cm/s."""
    with simulate(scene) as sim:
        for _ in range(steps):
            sim.step()
        moving = [row for row, body in enumerate(scene) if body.motion == physics.DYNAMIC]
        assert np.linalg.norm(sim["Thing"].velocity.numpy()[0, moving], axis=1).max() < 0.05
        assert sim.errors() == []
        return sim["Thing"].position.numpy()[0, moving].copy()


def test_a_cube_drops_onto_a_face() -> None:
    place = settle([FLOOR, CUBE.at(0.0, 0.0, 5.0)], 60)
    np.testing.assert_allclose(place[0], [0.0, 0.0, 1.0], atol=5e-3)


def test_a_cube_drops_onto_a_corner() -> None:
    place = settle([FLOOR, turned(CUBE.at(0.0, 0.0, 5.0), 0.4, 0.2, 0.1)], 150)
    assert place[0, 2] == pytest.approx(1.0, abs=5e-3)


def test_a_tall_box_drops_and_stands_or_falls() -> None:
    assert settle([FLOOR, TALL.at(0.0, 0.0, 6.0)], 90)[0, 2] == pytest.approx(4.0, abs=1e-2)
    assert settle([FLOOR, turned(TALL.at(0.0, 0.0, 6.0), 0.0, 0.25, 0.0)], 180)[0, 2] == pytest.approx(0.75, abs=1e-2)


def test_cubes_settle_in_a_pit_between_two_planes() -> None:
    rng = np.random.default_rng(4)
    drops = [turned(CUBE.at(*rng.uniform(-0.5, 0.5, 2), 2.0 + 2.5 * k), *rng.normal(0.0, 0.1, 3)) for k in range(5)]
    places = settle([FLOOR, *SIDES, *drops], 240)
    assert np.abs(places[:, 0]).max() < 1.05 and places[:, 2].min() > 0.95


def test_a_fast_ramp_falls_onto_another() -> None:
    """Neither passes the other or the floor."""
    upper = replace(turned(RAMP.at(0.1, 0.2, 6.0), 0.0, 0.0, 0.3), velocity=(0.0, 0.0, -30.0))
    places = settle([FLOOR, RAMP.at(0.0, 0.0, 2.0 / 3.0), upper], 200)
    assert places[:, 2].min() > 0.6
