"""Observations of Escape Room against NumPy in float64, lidar included."""

from __future__ import annotations

import numpy as np
import pytest
from escape_scenes import LENGTH, STILL, level, put_agent, put_buttons, put_cube, step

import worldloom as wl
from worldloom.envs.escape_room.entities import (
    AGENT,
    BUTTON,
    CUBE,
    CUBE_BUTTONS,
    DOOR,
    FIRST_AGENT,
    FIRST_CUBE,
    NONE,
    SINGLE_BUTTON,
    WALL,
)
from worldloom.envs.escape_room.sight import split_sight

Rays = tuple[np.ndarray, np.ndarray]


def matrices(rotation: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions (x, y, z, w), float64."""
    x, y, z, w = np.moveaxis(np.asarray(rotation, np.float64), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def cast(sim: wl.Simulation, agent: int, turn: float = 0.0) -> Rays:
    """Depth and type of the 30 rays of an agent, shape (worlds, 30), by intersection with half-spaces in float64."""
    body = sim["Body"]
    position, size = body.position.numpy().astype(np.float64), body.size.numpy().astype(np.float64)
    type, frames = body.type.numpy().copy(), matrices(body.rotation.numpy())
    row = FIRST_AGENT + agent
    type[:, row] = NONE
    angle = 2.0 * np.pi * np.arange(30) / 30.0 + turn
    local = np.stack([-np.sin(angle), np.cos(angle), np.zeros(30)], -1)
    direction = np.einsum("wij,rj->wri", frames[:, row], local)
    start = (position[:, row] + (0.0, 0.0, 0.5 - 1.0))[:, None] - position
    s = np.einsum("wbij,wbi->wbj", frames, start)[:, :, None]
    d = np.einsum("wbij,wri->wbrj", frames, direction)
    with np.errstate(divide="ignore", invalid="ignore"):
        planes = np.stack([(-size[:, :, None] - s) / d, (size[:, :, None] - s) / d])
    near, far = planes.min(0).max(-1), planes.max(0).min(-1)
    distance = np.where((near <= far) & (far >= 0.0), np.maximum(near, 0.0), np.inf)
    distance[type == NONE] = np.inf
    nearest = distance.min(1)
    hit = nearest < 200.0
    types = np.where(hit, np.take_along_axis(type, distance.argmin(1), 1), NONE)
    return np.where(hit, nearest / 40.0, 0.0), types


def crowded(worlds: int) -> wl.Simulation:
    """Cubes with random places and rotations, doors at random heights, agents anywhere."""
    rng = np.random.default_rng(0)
    sim = level(worlds, STILL.id)
    body = sim["Body"]
    cubes = body.type.numpy() == CUBE
    turns = rng.normal(size=(int(cubes.sum()), 4))
    body.rotation.numpy()[cubes] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    body.position.numpy()[:, FIRST_CUBE:] += rng.normal(size=(worlds, 9, 3), scale=(3.0, 8.0, 1.0))
    doors = body.type.numpy() == DOOR
    body.position.numpy()[..., 2][doors] += rng.choice([0.0, -2.0, -4.5], size=int(doors.sum()))
    ahead = rng.uniform((-9.0, 1.0), (9.0, 44.0), size=(worlds, 2, 2))
    body.position.numpy()[:, FIRST_AGENT : FIRST_AGENT + 2, :2] = ahead
    yaw = rng.uniform(-np.pi, np.pi, size=(worlds, 2))
    body.rotation.numpy()[:, FIRST_AGENT : FIRST_AGENT + 2, 2] = np.sin(0.5 * yaw)
    body.rotation.numpy()[:, FIRST_AGENT : FIRST_AGENT + 2, 3] = np.cos(0.5 * yaw)
    return sim


def test_lidar_agrees_with_float64() -> None:
    sim = crowded(200)
    sim.step(np.zeros((sim.num_worlds, 2, 4), np.int32))
    lidar = split_sight(sim["Agent"].sight.numpy())["lidar"]
    seen = set()
    for agent in range(2):
        depth, type = cast(sim, agent)
        seen |= set(type.ravel().tolist())
        # Rays within 1e-5 rad of an edge may hit or miss it.
        steady = np.ones(depth.shape, bool)
        for turn in (-1e-5, 1e-5):
            moved, other = cast(sim, agent, turn)
            steady &= (other == type) & (np.abs(moved - depth) < 1e-3)
        assert steady.mean() > 0.99
        np.testing.assert_allclose(lidar[:, agent, :, 0][steady], depth[steady], atol=2e-6, rtol=2e-5)
        assert (np.round(6.0 * lidar[:, agent, :, 1])[steady] == type[steady]).all()
    assert seen == {NONE, CUBE, WALL, AGENT, DOOR}


def test_parts_of_an_observation() -> None:
    parts = split_sight(np.arange(94.0))
    shapes = {name: part.shape for name, part in parts.items()}
    assert shapes == {
        "self": (8,),
        "partner": (3,),
        "room_entities": (6, 3),
        "door": (3,),
        "lidar": (30, 2),
        "steps_left": (1,),
        "id": (1,),
    }
    assert sorted(np.concatenate([part.ravel() for part in parts.values()]).tolist()) == list(range(94))


def polar(place: tuple[float, float], yaw: float, target: tuple[float, float]) -> list[float]:
    dx, dy = target[0] - place[0], target[1] - place[1]
    angle = np.arctan2(dx, dy) + yaw  # clockwise from y, and from the heading
    return [np.hypot(dx, dy) / 40.0, np.arctan2(np.sin(angle), np.cos(angle)) / np.pi]


def test_positions_are_relative_to_the_agent() -> None:
    sim = level(id=STILL.id, first_room=CUBE_BUTTONS)
    place, yaw, other = (3.0, 8.0), 0.7, (-2.0, 4.0)
    put_agent(sim, 0, place, yaw)
    put_agent(sim, 1, other)
    put_buttons(sim, 0, (-7.0, 3.0), (8.0, 9.0))
    put_cube(sim, 0, (-4.0, 9.0))
    put_cube(sim, 1, (6.0, 4.0))
    sim["Agent"].max_y.numpy()[0, 0] = 11.0
    sim["Agent"].is_grabbing.numpy()[0] = (False, True)
    sim["Room"].is_open.numpy()[0, 0] = True
    sim.step(np.zeros((sim.num_worlds, 2, 4), np.int32))
    parts = split_sight(sim["Agent"].sight.numpy()[0, 0].astype(np.float64))
    expected = [0.3, 8.0 / LENGTH, 3.0 / 40.0, 0.2, 0.0, 11.0 / 40.0, yaw / np.pi, 0.0]
    assert parts["self"] == pytest.approx(expected, abs=1e-6)
    assert parts["partner"] == pytest.approx([*polar(place, yaw, other), 1.0], abs=1e-6)
    entities = [((-7.0, 3.0), BUTTON), ((8.0, 9.0), BUTTON), ((-4.0, 9.0), CUBE), ((6.0, 4.0), CUBE)]
    rows = [[*polar(place, yaw, target), type / 6.0] for target, type in entities] + 2 * [[0.0, 1.0, 0.0]]
    assert parts["room_entities"] == pytest.approx(np.array(rows), abs=1e-6)
    door = (float(sim["Room"].door_x.numpy()[0, 0]), LENGTH - 0.5)
    assert parts["door"] == pytest.approx([*polar(place, yaw, door), 1.0], abs=1e-6)
    assert sim["Agent"].sight.numpy()[0, :, 93].tolist() == [0.0, 1.0]


def test_entities_and_door_are_those_of_the_own_room() -> None:
    sim = level(id=STILL.id, first_room=SINGLE_BUTTON)
    put_agent(sim, 0, (0.0, 20.0))
    put_agent(sim, 1, (0.0, 50.0))  # behind the last door: the last room
    sim.step(np.zeros((sim.num_worlds, 2, 4), np.int32))
    first, second = (split_sight(sim["Agent"].sight.numpy()[0, i]) for i in range(2))
    assert np.round(6.0 * first["room_entities"][:, 2]).tolist() == [BUTTON, BUTTON, CUBE, CUBE, CUBE, NONE]
    assert np.round(6.0 * second["room_entities"][:, 2]).tolist() == [BUTTON, BUTTON, CUBE, CUBE, NONE, NONE]
    assert first["self"][1] == pytest.approx(20.0 / LENGTH - 1.0, abs=1e-6)
    assert second["self"][1] == pytest.approx(50.0 / LENGTH - 2.0, abs=1e-6)
    put_agent(sim, 0, (0.0, 3.0))
    sim.step(np.zeros((sim.num_worlds, 2, 4), np.int32))
    entities = split_sight(sim["Agent"].sight.numpy()[0, 0])["room_entities"]
    assert np.round(6.0 * entities[:, 2]).tolist() == [BUTTON, NONE, NONE, NONE, NONE, NONE]


def test_a_grab_is_observed_in_its_step() -> None:
    sim = level(first_room=CUBE_BUTTONS)
    put_cube(sim, 0, (0.0, 8.0))
    put_cube(sim, 1, (7.0, 10.0))
    put_agent(sim, 0, (0.0, 5.2))
    step(sim, (0, 0, 2, 1))
    first, second = (split_sight(sim["Agent"].sight.numpy()[0, i]) for i in range(2))
    assert (first["self"][7], second["partner"][2]) == (1.0, 1.0)
    assert (second["self"][7], first["partner"][2]) == (0.0, 0.0)
