"""Generated levels of Escape Room: walls, doors, buttons, cubes and agents as specified."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import THOROUGH

import worldloom as wl
from worldloom.envs.escape_room.entities import (
    AGENT,
    CUBE,
    CUBE_BLOCKING,
    CUBE_BUTTONS,
    DOOR,
    DOUBLE_BUTTON,
    FIRST_AGENT,
    FIRST_CUBE,
    FIRST_END_WALL,
    MAX_CUBES,
    RANDOM_ROOM,
    SINGLE_BUTTON,
    WALL,
)

LEVELS = 10_000 if THOROUGH else 400
LENGTH, WIDTH, GAP = 40.0 / 3.0, 20.0, 20.0 / 3.0
CLOSE = 1e-4  # m


@pytest.fixture(scope="module", params=["fixed", "random"])
def levels(request: pytest.FixtureRequest) -> wl.Simulation:
    sim = wl.Simulation("EscapeRoom-v0", num_worlds=LEVELS, device="cpu", seed=7)
    if request.param == "random":
        for name in ("first_room", "second_room", "third_room"):
            sim.set_config(name, RANDOM_ROOM)
        sim.reset()
    return sim


def within(values: np.ndarray, low: float, high: float) -> bool:
    """Whether values lie between bounds and nearly reach both."""
    edge = 0.1 * (high - low) + CLOSE
    return low - CLOSE <= values.min() <= low + edge and high - edge <= values.max() <= high + CLOSE


def columns(sim: wl.Simulation, kind: str, *names: str) -> list[np.ndarray]:
    return [sim[kind][name].numpy() for name in names]


def test_kinds_of_rooms(levels: wl.Simulation) -> None:
    (kind,) = columns(levels, "Room", "kind")
    if int(levels.get_config("first_room")) == RANDOM_ROOM:
        for room in range(3):
            counts = np.bincount(kind[:, room], minlength=4) / LEVELS
            assert (np.abs(counts - 0.25) < 0.1).all()
    else:
        assert (kind == [DOUBLE_BUTTON, CUBE_BLOCKING, CUBE_BUTTONS]).all()


def test_borders_surround_the_rooms(levels: wl.Simulation) -> None:
    position, size, type = columns(levels, "Body", "position", "size", "type")
    assert position[0, 3:6].tolist() == [[0.0, -0.5, 2.5], [10.5, 20.0, 2.5], [-10.5, 20.0, 2.5]]
    assert size[0, 3:6].tolist() == [[11.0, 0.5, 2.5], [0.5, 20.0, 2.5], [0.5, 20.0, 2.5]]
    assert (type[:, 3:6] == WALL).all() and (position[:, 3:6] == position[0, 3:6]).all()


def test_end_walls_leave_the_gap_of_the_door(levels: wl.Simulation) -> None:
    position, size, type = columns(levels, "Body", "position", "size", "type")
    (door_x,) = columns(levels, "Room", "door_x")
    rows = slice(FIRST_END_WALL, FIRST_END_WALL + 9)
    position, size = (column[:, rows].reshape(-1, 3, 3, 3) for column in (position, size))
    low, high = position - size, position + size
    assert (type[:, rows].reshape(-1, 3, 3) == [WALL, WALL, DOOR]).all()
    np.testing.assert_allclose(low[:, :, 0, 0], -0.5 * WIDTH, atol=CLOSE)
    np.testing.assert_allclose(high[:, :, 0, 0], door_x - 0.5 * GAP, atol=CLOSE)
    np.testing.assert_allclose(low[:, :, 1, 0], door_x + 0.5 * GAP, atol=CLOSE)
    np.testing.assert_allclose(high[:, :, 1, 0], 0.5 * WIDTH, atol=CLOSE)
    np.testing.assert_allclose(position[:, :, 2, 0], door_x, atol=CLOSE)
    np.testing.assert_allclose(2.0 * size[:, :, 2, 0], 0.8 * GAP, atol=CLOSE)
    np.testing.assert_allclose(low[..., 2], 0.0, atol=CLOSE)
    np.testing.assert_allclose(high[..., 2], 1.75 * 2.5, atol=CLOSE)
    ends = np.array([[LENGTH], [2.0 * LENGTH], [3.0 * LENGTH]])
    np.testing.assert_allclose(high[..., 1] - ends, 0.0, atol=CLOSE)
    np.testing.assert_allclose(low[..., 1] - ends, -1.0, atol=CLOSE)
    assert within(door_x, 0.75 * GAP - 10.0, 10.0 - 0.75 * GAP)


def test_buttons_by_kind_of_room(levels: wl.Simulation) -> None:
    (kind, count, persistent) = columns(levels, "Room", "kind", "num_buttons", "stays_open")
    place = (
        levels["Button"].position.numpy().reshape(-1, 3, 2, 2) - np.array([0.0, LENGTH]) * np.arange(3)[:, None, None]
    )
    assert (count == np.where(kind == SINGLE_BUTTON, 1, 2)).all()
    assert (persistent == (kind != CUBE_BUTTONS)).all()
    for one in set(kind.ravel().tolist()):
        (first, second) = (place[kind == one][:, i] for i in range(2))
        if one == SINGLE_BUTTON:
            assert within(first[:, 0], -4.35, 4.35) and within(first[:, 1], LENGTH / 4.0, LENGTH - 1.65)
            continue
        inner = 1.3 if one == DOUBLE_BUTTON else 6.3
        low, high = (LENGTH / 4.0, LENGTH - 1.65) if one == DOUBLE_BUTTON else (1.3, 0.75 * LENGTH)
        assert within(first[:, 0], -8.7, -inner) and within(second[:, 0], inner, 8.7)
        assert within(first[:, 1], low, high) and within(second[:, 1], low, high)


def test_cubes_by_kind_of_room(levels: wl.Simulation) -> None:
    kind, count, door_x = columns(levels, "Room", "kind", "num_cubes", "door_x")
    position, size, type, group = columns(levels, "Body", "position", "size", "type", "collision_group")
    rows = slice(FIRST_CUBE, FIRST_CUBE + 3 * MAX_CUBES)
    type, group = (column[:, rows].reshape(-1, 3, MAX_CUBES) for column in (type, group))
    cubes = position[:, rows].reshape(-1, 3, MAX_CUBES, 3)
    assert (count == np.choose(kind, [0, 0, 3, 2])).all()
    used = np.arange(MAX_CUBES) < count[..., None]
    assert (type == np.where(used, CUBE, 0)).all() and (group == used).all()
    assert (cubes[used][:, 2] == 1.5).all() and (size[:, rows] == 1.5).all()
    local = cubes - LENGTH * np.arange(3)[:, None, None] * np.array([0.0, 1.0, 0.0])
    blocking, buttons = local[kind == CUBE_BLOCKING], local[kind == CUBE_BUTTONS]
    offsets = door_x[kind == CUBE_BLOCKING][:, None] + [-3.0, 0.0, 3.0]
    np.testing.assert_allclose(blocking[..., 0], offsets, atol=CLOSE)
    np.testing.assert_allclose(blocking[..., 1], LENGTH - 2.5, atol=CLOSE)
    assert within(buttons[:, 0, 0], -5.0, -1.5) and within(buttons[:, 1, 0], 1.5, 5.0)
    assert within(buttons[:, :2, 1], 2.0, LENGTH - 3.0)


def test_agents_start_near_the_rear_wall(levels: wl.Simulation) -> None:
    """A turned agent near a wall is moved so far that its corners are outside of it."""
    position, rotation, type = columns(levels, "Body", "position", "rotation", "type")
    agents = slice(FIRST_AGENT, FIRST_AGENT + 2)
    assert (type[:, agents] == AGENT).all() and (position[:, agents, 2] == 1.0).all()
    assert within(position[:, 1, 0], 1.25, 8.75) and within(position[:, 2, 0], -8.75, -1.25)
    assert within(position[:, agents, 1], 1.1, 2.0)
    assert (rotation[:, agents, :2] == 0.0).all()
    assert within(np.degrees(2.0 * np.arcsin(rotation[:, agents, 2])), -22.5, 22.5)
    assert (levels["Agent"].max_y.numpy() == position[:, agents, 1]).all()


def test_no_cube_or_agent_is_in_a_wall(levels: wl.Simulation) -> None:
    position, size, type, rotation = columns(levels, "Body", "position", "size", "type", "rotation")
    sine = 2.0 * rotation[..., 2] * rotation[..., 3]
    reach = size[..., :2] * (np.abs(sine) + np.sqrt(1.0 - sine**2))[..., None]  # half extents about a turned square
    solid = (type == WALL) | (type == DOOR)
    moving = (type == CUBE) | (type == AGENT)
    apart = np.abs(position[:, :, None, :2] - position[:, None, :, :2])
    depth = (reach[:, :, None] + size[:, None, :, :2] - apart).min(axis=-1)
    depth[~(moving[:, :, None] & solid[:, None, :])] = -1.0
    assert depth.max() < CLOSE


def test_every_episode_has_another_level() -> None:
    sim = wl.Simulation("EscapeRoom-v0", num_worlds=4, device="cpu", seed=0)
    first = sim["Room"].door_x.numpy().copy()
    sim.reset()
    second = sim["Room"].door_x.numpy().copy()
    assert len(np.unique(np.stack([first, second]))) == 24
