"""The debug levels of HideSeek's original, as tests of its bodies under its physics."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom import physics
from worldloom.envs.hideseek.bodies import BOX_MASS

MAX_BODIES = 12


class Piece(physics.Body):
    pass


class Pit(physics.World):
    """Bodies from arrays: rows of shape, half extents, position, rotation and velocity."""

    pieces: wl.Config = 0
    shapes: wl.Config = np.zeros(MAX_BODIES, np.int32)
    numbers: wl.Config = np.zeros((MAX_BODIES, 13), np.float32)
    side_planes: wl.Config = False


PHYSICS = physics.systems(Pit, Piece)


@wl.system
def build(world: Pit):
    world.spawn(Piece, shape=physics.PLANE, motion=physics.STATIC, friction=0.1)
    if world.side_planes:  # two planes that face each other, 4 m apart
        for side in range(2):
            turn = 0.70710678 if side == 0 else -0.70710678
            world.spawn(
                Piece,
                shape=physics.PLANE,
                motion=physics.STATIC,
                position=wl.vec3(-2.0 if side == 0 else 2.0, 0.0, 0.0),
                rotation=wl.quat(0.0, turn, 0.0, 0.70710678),
            )
    for i in range(world.pieces):
        world.spawn(
            Piece,
            shape=world.shapes[i],
            size=wl.vec3(world.numbers[i, 0], world.numbers[i, 1], world.numbers[i, 2]),
            position=wl.vec3(world.numbers[i, 3], world.numbers[i, 4], world.numbers[i, 5]),
            rotation=wl.quat(world.numbers[i, 6], world.numbers[i, 7], world.numbers[i, 8], world.numbers[i, 9]),
            velocity=wl.vec3(world.numbers[i, 10], world.numbers[i, 11], world.numbers[i, 12]),
            mass=BOX_MASS,
            friction=4.0,
        )


PIT = wl.register(
    "HideSeekPit-v0",
    world=Pit,
    entities={Piece: wl.UpTo(MAX_BODIES + 3), **PHYSICS.entities(pairs=64, contacts=64)},
    reset=[build],
    step=PHYSICS.step,
)


def body(size, position, rotation=(0.0, 0.0, 0.0, 1.0), velocity=(0.0, 0.0, 0.0)) -> tuple[float, ...]:
    length = np.linalg.norm(rotation)
    return (*size, *position, *(np.array(rotation) / length), *velocity)


@pytest.fixture(scope="module")
def pit(quick_compilation: None) -> wl.Simulation:
    return wl.Simulation("HideSeekPit-v0", 1, "cpu", seed=0, threads=1)


def settle(pit: wl.Simulation, bodies: list, steps: int, shape: int = physics.BOX, planes: bool = False) -> np.ndarray:
    """Positions after some steps; the speed of all bodies is then below 5 cm/s."""
    numbers = np.zeros((MAX_BODIES, 13), np.float32)
    numbers[:, 9] = 1.0
    numbers[: len(bodies)] = bodies
    for name, value in (("pieces", len(bodies)), ("shapes", np.full(MAX_BODIES, shape, np.int32)), ("numbers", numbers)):
        pit.set_config(name, value)
    pit.set_config("side_planes", planes)
    pit.reset()
    for _ in range(steps):
        pit.step()
    first = 3 if planes else 1
    rows = slice(first, first + len(bodies))
    assert np.linalg.norm(pit["Piece"].velocity.numpy()[0, rows], axis=1).max() < 0.05
    assert pit.errors() == []
    return pit["Piece"].position.numpy()[0, rows].copy()


def test_a_cube_drops_onto_a_face(pit: wl.Simulation) -> None:
    place = settle(pit, [body((1.0, 1.0, 1.0), (0.0, 0.0, 5.0))], 60)
    np.testing.assert_allclose(place[0], [0.0, 0.0, 1.0], atol=5e-3)


def test_a_cube_drops_onto_a_corner(pit: wl.Simulation) -> None:
    place = settle(pit, [body((1.0, 1.0, 1.0), (0.0, 0.0, 5.0), (0.35, 0.2, 0.1, 0.9))], 150)
    assert place[0, 2] == pytest.approx(1.0, abs=5e-3)


def test_a_tall_box_drops_and_stands_or_falls(pit: wl.Simulation) -> None:
    upright = settle(pit, [body((0.75, 1.0, 4.0), (0.0, 0.0, 6.0))], 90)
    assert upright[0, 2] == pytest.approx(4.0, abs=1e-2)
    tilted = settle(pit, [body((0.75, 1.0, 4.0), (0.0, 0.0, 6.0), (0.0, 0.25, 0.0, 1.0))], 180)
    assert tilted[0, 2] == pytest.approx(0.75, abs=1e-2)


def test_cubes_settle_in_a_pit_between_two_planes(pit: wl.Simulation) -> None:
    rng = np.random.default_rng(4)
    drops = [
        body((1.0, 1.0, 1.0), (*rng.uniform(-0.5, 0.5, 2), 2.0 + 2.5 * k), (*rng.normal(0.0, 0.1, 3), 1.0))
        for k in range(5)
    ]
    places = settle(pit, drops, 240, planes=True)
    assert np.abs(places[:, 0]).max() < 1.05 and places[:, 2].min() > 0.95


def test_a_fast_ramp_falls_onto_another(pit: wl.Simulation) -> None:
    """At 30 m/s: neither passes the other or the floor."""
    lower = body((1.0, 1.5, 1.0), (0.0, 0.0, 2.0 / 3.0))
    upper = body((1.0, 1.5, 1.0), (0.1, 0.2, 6.0), (0.0, 0.0, 0.3, 1.0), (0.0, 0.0, -30.0))
    places = settle(pit, [lower, upper], 200, physics.WEDGE)
    assert places[:, 2].min() > 0.6
