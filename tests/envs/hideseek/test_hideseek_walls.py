"""HideSeek: one connection or one door at a time, in prepared walls of the unit square."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.envs.hideseek.entities import EXTENT, Arena, Level, Solid
from worldloom.envs.hideseek.walls import (
    CONNECTION_DOOR,
    DOOR,
    add_wall,
    choose_wall,
    connect_walls,
    cut_door,
    find_opposite,
)

WORLDS = 200
HORIZONTAL, VERTICAL = 0, 1


@wl.system(threads=32)
def connect_square(level: Level, world: Arena):
    for side in range(4):
        _added = add_wall(world, level, side % 2, float(side // 2), 0.0, 1.0)
    orientation, number = connect_walls(world, level)
    if number >= 0:
        cut_door(world, level, orientation, number, CONNECTION_DOOR)


@wl.system(threads=32)
def open_square(level: Level, world: Arena):
    for side in range(4):
        _added = add_wall(world, level, side % 2, float(side // 2), 0.0, 1.0)
    orientation, number = choose_wall(world, level)
    if number >= 0:
        cut_door(world, level, orientation, number, DOOR)


@wl.system(threads=32)
def open_short_walls(level: Level, world: Arena):
    """Two walls that are too short for a door, and two that are long enough."""
    _first = add_wall(world, level, 0, 0.0, 0.0, 0.59)
    _second = add_wall(world, level, 0, 1.0, 0.2, 0.79)
    _third = add_wall(world, level, 1, 0.0, 0.0, 0.61)
    _fourth = add_wall(world, level, 1, 1.0, 0.0, 1.0)
    orientation, number = choose_wall(world, level)
    if number >= 0:
        cut_door(world, level, orientation, number, DOOR)


@wl.system(threads=32)
def search_opposite(level: Level, world: Arena):
    """Pairs of parallel walls that may be connected, as doors that only hold the number that was found."""
    orientation = world.hiders
    _first = add_wall(world, level, orientation, 0.0, 0.0, 0.5)
    _second = add_wall(world, level, orientation, 1.0, 0.0, world.hidden_reward)  # its end
    _third = add_wall(world, level, orientation, 0.5, world.outside_penalty, world.outside_penalty + 0.1)  # its start
    level.num_doors = find_opposite(world, level, orientation, 0, 0)


def run(reset, **config: float) -> wl.Simulation:
    name = f"HideSeek{reset.name.title().replace('_', '')}-v0"
    definition = wl.Definition(name, Arena, {Level: 1, Solid: wl.UpTo(1)}, reset=(reset,))
    return wl.Simulation(definition, 1 if config else WORLDS, "python", seed=4, config=config)


def walls(sim: wl.Simulation, world: int, orientation: int) -> np.ndarray:
    """Line, low and high end of the walls of an orientation."""
    count = sim["Level"].counts.numpy()[world, 0, orientation]
    return sim["Level"].walls.numpy()[world, 0, orientation, :count, :3]


def unit_doors(sim: wl.Simulation) -> np.ndarray:
    """The door of each world in the unit square: low x, low y, high x, high y."""
    numbers = sim["Level"].num_doors.numpy()[:, 0]
    assert (numbers <= 1).all()
    return 0.5 + sim["Level"].doors.numpy()[numbers == 1, 0, 0] / (2.0 * EXTENT)


def nearly_fills(values: np.ndarray, low: float, high: float) -> bool:
    """Whether values lie between bounds and reach both to a tenth of their distance."""
    near = 0.1 * (high - low)
    return low - 1e-5 <= values.min() < low + near and high - near < values.max() <= high + 1e-5


def test_a_connection_is_at_40_to_60_percent_with_a_door_at_30_to_70() -> None:
    """It splits both walls that it connects. Its door is a tenth wide, and a tenth at both ends stays closed."""
    sim = run(connect_square)
    places, centres, orientations = [], [], []
    doors = unit_doors(sim)
    assert len(doors) == WORLDS
    for world in range(WORLDS):
        counts = sim["Level"].counts.numpy()[world, 0]
        assert sorted(counts.tolist()) == [4, 4]  # two sides, split in two; two sides, and the connection in two parts
        door = doors[world]
        new = HORIZONTAL if door[1] == door[3] else VERTICAL
        orientations.append(new)
        pieces = walls(sim, world, new)[2:]
        place = pieces[0, 0]
        assert (pieces[:, 0] == place).all()
        np.testing.assert_allclose(np.sort(pieces[:, 1:].ravel())[[0, -1]], [0.0, 1.0])
        halves = walls(sim, world, 1 - new)
        np.testing.assert_allclose(
            np.sort(halves[:, 1:].ravel()), np.sort([0.0, 0.0, 1.0, 1.0, *[place] * 4]), atol=1e-6
        )
        low, high = np.sort(door[[new, 2 + new]])
        assert high - low == pytest.approx(0.1, abs=1e-5)
        np.testing.assert_allclose(np.sort(pieces[:, 1:].ravel())[1:3], [low, high], atol=1e-5)
        places.append(place)
        centres.append(0.5 * (low + high))
    assert nearly_fills(np.array(places), 0.4, 0.6)
    assert nearly_fills(np.array(centres), 0.1 + 0.3 * 0.8, 0.1 + 0.7 * 0.8)
    assert 0.35 < np.mean(orientations) < 0.65


def test_a_door_is_a_fifth_wide_at_30_to_70_percent_of_a_side() -> None:
    doors = unit_doors(run(open_square))
    assert len(doors) == WORLDS
    along = np.where(doors[:, 0] == doors[:, 2], VERTICAL, HORIZONTAL)
    low, high = (np.take_along_axis(doors[:, k : k + 2], along[:, None], 1)[:, 0] for k in (0, 2))
    np.testing.assert_allclose(high - low, 0.2, atol=1e-5)
    assert nearly_fills(0.5 * (low + high), 0.2 + 0.3 * 0.6, 0.2 + 0.7 * 0.6)
    sides = {(int(k), round(float(door[1 - k]))) for k, door in zip(along, doors, strict=True)}
    assert sides == {(0, 0), (0, 1), (1, 0), (1, 1)}  # all four sides, outer ones included


def test_walls_up_to_0_6_get_no_door() -> None:
    sim = run(open_short_walls)
    doors = unit_doors(sim)
    assert 0.35 * WORLDS < len(doors) < 0.65 * WORLDS
    assert (doors[:, 0] == doors[:, 2]).all() and set(np.round(doors[:, 0]).tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("orientation", "end", "between", "found"),
    [
        (HORIZONTAL, 0.5, 0.8, True),
        (HORIZONTAL, 0.29, 0.8, False),  # a horizontal wall shorter than 0.3
        (HORIZONTAL, 0.31, 0.8, True),
        (VERTICAL, 0.49, 0.8, False),  # a vertical wall shorter than 0.5
        (VERTICAL, 0.51, 0.8, True),
        (HORIZONTAL, 0.5, 0.2, False),  # a third wall between them
        (HORIZONTAL, 0.5, 0.59, False),  # within 0.1 of what overlaps
        (HORIZONTAL, 0.5, 0.61, True),
    ],
)
def test_walls_are_connected_where_they_are_long_and_nothing_is_between(
    orientation: int, end: float, between: float, found: bool
) -> None:
    sim = run(search_opposite, hiders=orientation, hidden_reward=end, outside_penalty=between)
    assert int(sim["Level"].num_doors.numpy()[0, 0]) == (1 if found else -1)
