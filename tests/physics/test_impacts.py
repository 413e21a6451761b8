"""Impacts with restitution have the outcome of mechanics with the default settings.

These tests fail where restitution is one pass after the last substep, with the speeds from before the step.
"""

from dataclasses import replace

import numpy as np
import pytest
from physics_scenes import FLOOR, BodySpec, Thing, axis_angle, simulate

import worldloom as wl
from worldloom import physics

BALL = BodySpec(physics.SPHERE, (0.2, 0.0, 0.0), friction=0.0, restitution=1.0)
SMALL = replace(BALL, size=(0.1, 0.0, 0.0))
CUBE = BodySpec(physics.BOX, (0.2, 0.2, 0.2), restitution=1.0)
WEIGHTLESS = {"gravity": np.zeros(3, np.float32)}
GRAVITY = 9.8
SETTINGS = [{}, {"substeps": 1}, {"dt": 1.0 / 120.0}]


def velocities_after(sim: wl.Simulation, steps: int) -> np.ndarray:
    """Velocities of all bodies, (worlds, bodies, 3)."""
    for _ in range(steps):
        sim.step()
    assert sim.errors() == []
    return sim[Thing].velocity.numpy().astype(float)


def tops(sim: wl.Simulation, h: float, row: int = 1) -> np.ndarray:
    """Heights at which a body of each world would come to rest, by its energy; the inertia is that of a cube of 0.4 m.

    A body that falls has the speeds of its substeps half a substep earlier.
    """
    position, velocity, spin = (
        sim[Thing][name].numpy()[:, row].astype(float) for name in ("position", "velocity", "spin")
    )
    velocity[:, 2] -= 0.5 * GRAVITY * h
    energy = 0.5 * (velocity**2).sum(1) + 0.5 * 0.4**2 / 6.0 * (spin**2).sum(1)
    return position[:, 2] + energy / GRAVITY


def test_an_oblique_hit_has_the_angle_of_the_balls_where_they_meet() -> None:
    offsets = np.repeat([0.05, 0.1, 0.2, 0.3, 0.38], 4)
    starts = np.tile([-1.0, -1.03, -1.06, -1.09], 5)  # other times within a step
    scenes = [
        [replace(BALL.at(x, 0.0, 0.0), velocity=(4.0, 0.0, 0.0)), BALL.at(0.0, b, 0.0)]
        for x, b in zip(starts, offsets, strict=True)
    ]
    end = velocities_after(simulate(*scenes, **WEIGHTLESS), 20)[:, :2]
    angles = np.degrees(np.arctan2(end[:, 1, 1], end[:, 1, 0]))
    assert angles == pytest.approx(np.degrees(np.arcsin(offsets / 0.4)), abs=0.05)
    assert (end**2).sum((1, 2)) == pytest.approx(16.0, rel=1e-4)
    assert np.abs(end.sum(1) - [4.0, 0.0, 0.0]).max() < 1e-4


def test_a_row_of_touching_balls_passes_impulses_on() -> None:
    """One ball and two balls hit a row; rows of the table are in the order of the impulse, and against it."""
    rows = []
    for moving in (1, 2):
        starts = [(0.2 * i - (0.3 if i < moving else 0.0), 3.0 if i < moving else 0.0) for i in range(5)]
        balls = [replace(SMALL.at(x, 0.0, 0.0), velocity=(v, 0.0, 0.0)) for x, v in starts]
        rows += [balls, balls[::-1]]
    speeds = velocities_after(simulate(*rows, **WEIGHTLESS), 20)[:, :5, 0]
    speeds[1::2] = speeds[1::2, ::-1].copy()
    assert np.abs(speeds[:2] - [0.0, 0.0, 0.0, 0.0, 3.0]).max() < 0.01
    assert np.abs(speeds[2:] - [0.0, 0.0, 0.0, 3.0, 3.0]).max() < 0.01


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_bounces_keep_their_height(settings: dict[str, float]) -> None:
    """Several bounces on a plane, on a box that lies on it, and of a cube that lands flat."""
    drops = np.linspace(1.0, 2.0, 6)
    ground = BodySpec(physics.BOX, (1.0, 1.0, 0.5), (0.0, 0.0, 0.5), density=1e4)
    planes = [[FLOOR, SMALL.at(0.0, 0.0, 0.1 + drop)] for drop in drops]
    boxes = [[FLOOR, SMALL.at(0.0, 0.0, 1.1 + drop), ground] for drop in drops]
    cubes = [[FLOOR, CUBE.at(0.0, 0.0, 0.2 + drop)] for drop in drops]
    sim = simulate(*planes, *boxes, *cubes, **settings)
    dt = settings.get("dt", 1.0 / 30.0)
    h = dt / settings.get("substeps", 4)
    velocities_after(sim, round(1.0 / dt))
    assert tops(sim, h)[12:] == pytest.approx(0.2 + drops, rel=0.005)  # later, rounding tilts them
    velocities_after(sim, round(4.0 / dt))
    measured = tops(sim, h)[:12] - np.repeat([0.1, 1.1], 6)
    assert measured == pytest.approx(np.tile(drops, 2), rel=0.01)


def test_a_bounce_has_the_square_of_its_restitution_as_height() -> None:
    values = np.array([0.2, 0.4, 0.6, 0.8])
    sim = simulate(*([FLOOR, replace(SMALL.at(0.0, 0.0, 1.6), restitution=float(e))] for e in values))
    velocities_after(sim, round(0.65 * 30))  # it lands after 0.553 s
    assert tops(sim, 1.0 / 120.0) - 0.1 == pytest.approx(1.5 * values**2, rel=0.01)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_bodies_that_tumble_gain_no_energy_by_bounces(settings: dict[str, float]) -> None:
    scenes = [
        [FLOOR, replace(CUBE.at(0.0, 0.0, 1.0 + 0.1 * i), rotation=axis_angle((1.0, 0.3 * i, 0.2), 0.4 + 0.3 * i))]
        for i in range(8)
    ]
    sim = simulate(*scenes, **settings)
    dt = settings.get("dt", 1.0 / 30.0)
    h = dt / settings.get("substeps", 4)
    highest = tops(sim, h)
    for _ in range(round(3.0 / dt)):
        velocities_after(sim, 1)
        assert (tops(sim, h) < highest * 1.02).all()


def test_a_slow_ball_does_not_bounce() -> None:
    sim = simulate([FLOOR, replace(SMALL.at(0.0, 0.0, 0.11), restitution=0.9)])
    end = velocities_after(sim, 15)
    assert np.abs(end[0, 1]).max() < 1e-3
    assert sim[Thing].position.numpy()[0, 1, 2] == pytest.approx(0.1, abs=1e-3)


def test_the_interpreter_computes_the_same_bits() -> None:
    falling = {"velocity": (0.3, 0.0, -4.0)}
    scene = [FLOOR, SMALL.at(0.0, 0.0, 0.1), replace(SMALL.at(0.05, 0.0, 0.35), **falling)]
    scene.append(replace(CUBE.at(0.2, 0.1, 0.7), rotation=axis_angle((1.0, 0.5, 0.0), 0.3), **falling))
    compiled, interpreted = (simulate(scene, device=device) for device in ("cpu", "python"))
    for sim in (compiled, interpreted):
        end = velocities_after(sim, 3)
        assert end[0, 3, 2] > -3.0  # it has hit another body
    for name in ("position", "velocity", "spin", "rotation"):
        assert compiled[Thing].rows(name).numpy().tobytes() == interpreted[Thing].rows(name).numpy().tobytes(), name


def test_impacts_with_friction_add_no_energy() -> None:
    """Cubes that tumble on a floor: the points of an impact slide and are solved one after the other."""
    generator = np.random.default_rng(0)
    floor, worlds, h = replace(FLOOR, restitution=1.0, friction=0.5), 64, 1.0 / 120.0
    scenes = [
        [
            floor,
            replace(
                CUBE.at(0.0, 0.0, 0.6 + generator.uniform()),
                rotation=axis_angle(generator.normal(size=3), generator.uniform(0.0, 3.0)),
                velocity=tuple(3.0 * generator.normal(size=3)),
                spin=tuple(5.0 * generator.normal(size=3)),
                friction=0.5,
            ),
        ]
        for _ in range(worlds)
    ]
    sim = simulate(*scenes, sleep_speed=0.0)
    heights = [tops(sim, 0.0)]
    for _ in range(120):
        sim.step()
        heights.append(tops(sim, h))
    assert sim.errors() == []
    assert (np.diff(heights, axis=0) / heights[:-1]).max() < 0.01
    assert (heights[-1] < heights[0]).all()


@pytest.mark.parametrize("shape", [CUBE, BALL])
def test_a_moving_kinematic_body_throws_others(shape: BodySpec) -> None:
    """It keeps its speed of 5 m/s: a ball at rest leaves with (1 + e) 5 m/s."""
    paddle = replace(shape, position=(-0.6, 0.0, 0.0), velocity=(5.0, 0.0, 0.0), motion=physics.KINEMATIC)
    sim = simulate([replace(paddle, restitution=0.8), replace(BALL, restitution=0.8)], **WEIGHTLESS)
    assert velocities_after(sim, 4)[0, 1] == pytest.approx([9.0, 0.0, 0.0], abs=0.01)
