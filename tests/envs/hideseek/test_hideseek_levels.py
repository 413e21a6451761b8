"""HideSeek: generated levels. WORLDLOOM_LEVELS sets their number."""

from __future__ import annotations

import os

import numpy as np
import pytest
from thorough import THOROUGH

import worldloom as wl
from worldloom import physics
from worldloom.core.measure.random_actions import random_actions
from worldloom.envs.hideseek.entities import EXTENT, FREE, MAX_WALLS, UNOWNABLE
from worldloom.envs.hideseek.packing import PILE

LEVELS = int(os.environ.get("WORLDLOOM_LEVELS", "10000" if THOROUGH else "300"))
UNIT = 2.0 * EXTENT  # m, the side of the arena
DOOR_WIDTHS = (0.1 * UNIT, 0.2 * UNIT)


@pytest.fixture(scope="module")
def levels(quick_compilation: None) -> wl.Simulation:
    return wl.Simulation("HideSeek-v0", LEVELS, "cpu", seed=5)


def solids_of(levels: wl.Simulation, world: int) -> dict[str, np.ndarray]:
    count = int(levels["Solid"].counts.numpy()[world])
    names = ("shape", "size", "position", "rotation", "motion", "owner", "mass", "friction", "angular_factor")
    return {name: levels["Solid"][name].numpy()[world, :count] for name in names}


def numbers(levels: wl.Simulation, name: str) -> np.ndarray:
    return levels.world[name].numpy()


def walls_of(levels: wl.Simulation, world: int) -> np.ndarray:
    return levels["Level"].obstacles.numpy()[world, 0, : numbers(levels, "num_walls")[world]].astype(float)


def footprint(position: np.ndarray, rotation: np.ndarray, size: np.ndarray, ramp: bool) -> tuple[float, ...]:
    """Bounding rectangle of a standing body, from its corners."""
    yaw = 2.0 * np.arctan2(float(rotation[2]), float(rotation[3]))
    low, high = (-4.0 / 3.0 * size[1], 2.0 / 3.0 * size[1]) if ramp else (-size[1], size[1])
    corners = np.array([(x, y) for x in (-size[0], size[0]) for y in (low, high)])
    placed = corners @ np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]]) + position[:2]
    return (*placed.min(axis=0), *placed.max(axis=0))


def overlaps(a: tuple[float, ...], b: tuple[float, ...], slack: float = 1e-4) -> bool:
    return a[0] < b[2] - slack and b[0] < a[2] - slack and a[1] < b[3] - slack and b[1] < a[3] - slack


def test_bodies_have_the_shapes_masses_and_frictions_of_the_table(levels: wl.Simulation) -> None:
    for world in range(0, LEVELS, max(LEVELS // 20, 1)):
        solids, boxes = solids_of(levels, world), int(numbers(levels, "num_boxes")[world])
        kinds = ["box"] * boxes + ["ramp"] * 2 + ["agent"] * 5 + ["floor"]
        kinds += ["wall"] * (len(solids["shape"]) - len(kinds))
        for row, kind in enumerate(kinds):
            solid = {name: column[row] for name, column in solids.items()}
            assert solid["owner"] == (FREE if kind in ("box", "ramp") else UNOWNABLE)
            assert solid["motion"] == (physics.STATIC if kind in ("floor", "wall") else physics.DYNAMIC)
            assert solid["shape"] == {"ramp": physics.WEDGE, "floor": physics.PLANE}.get(kind, physics.BOX)
            assert solid["friction"] == np.float32({"box": 4, "ramp": 1, "agent": 0.01, "floor": 0.1, "wall": 2}[kind])
            if kind in ("box", "ramp", "agent"):
                assert solid["mass"] == (1.0 if kind == "agent" else 2.0)
                assert solid["angular_factor"].tolist() == ([0, 0, 1] if kind == "agent" else [1, 1, 1])
                assert solid["position"][2] == pytest.approx(2.0 / 3.0 if kind == "ramp" else 1.0, abs=1e-6)
                assert (solid["rotation"][:2] == 0.0).all()
            if kind == "wall":
                assert solid["position"][2] == solid["size"][2] == 1.25
                assert np.isclose(solid["size"][:2], 0.2, atol=1e-5).any()
            if kind == "ramp":
                assert solid["size"].tolist() == [1.0, 1.5, 1.0]
            if kind == "agent":
                assert solid["size"].tolist() == [1.0, 1.0, 1.0]


def test_boxes_are_three_to_eight_elongated_first(levels: wl.Simulation) -> None:
    boxes = numbers(levels, "num_boxes")
    assert set(boxes.tolist()) == set(range(3, 9))
    for world in range(LEVELS):
        sizes = levels["Solid"].size.numpy()[world, : boxes[world]]
        elongated = (sizes == (4.0, 0.75, 1.0)).all(axis=1)
        count = int(elongated.sum())
        assert 3 <= count <= max(3, boxes[world] - 1) and elongated[:count].all()
        assert (sizes[count:] == (1.0, 1.0, 1.0)).all()


def test_walls_close_the_arena_but_for_doors(levels: wl.Simulation) -> None:
    """Pieces of wall and doors of each side add up to it; inner walls start and end at others or at doors."""
    counts = numbers(levels, "num_walls")
    assert 4 < counts.max() <= MAX_WALLS and counts.min() >= 4
    for world in range(LEVELS):
        walls = walls_of(levels, world)
        doors = levels["Level"].doors.numpy()[world, 0, : numbers(levels, "num_doors")[world]].astype(float)
        for axis in (0, 1):
            for side in (-EXTENT, EXTENT):
                middle = (walls[:, axis] + walls[:, axis + 2]) / 2.0
                thin = np.isclose(walls[:, axis + 2] - walls[:, axis], 0.4, atol=1e-4)
                on_side = walls[thin & np.isclose(middle, side, atol=1e-4)]
                gaps = doors[(doors[:, axis] == side) & (doors[:, axis + 2] == side)]
                covered = np.concatenate([on_side, gaps])[:, [1 - axis, 3 - axis]]
                ordered = covered[np.argsort(covered[:, 0])]
                assert ordered[0, 0] == -EXTENT and ordered[-1, 1] == EXTENT
                np.testing.assert_allclose(ordered[1:, 0], ordered[:-1, 1], atol=1e-4)


def test_doors_are_gaps_of_the_right_width(levels: wl.Simulation) -> None:
    """A tenth of the arena in connections, a fifth elsewhere, and no wall in them."""
    widths = []
    for world in range(LEVELS):
        walls = walls_of(levels, world)
        for door in levels["Level"].doors.numpy()[world, 0, : numbers(levels, "num_doors")[world]].astype(float):
            width = float(np.abs(door[2:] - door[:2]).sum())
            widths.append(width)
            inside = (*(door[:2] + 0.3 * (door[2:] - door[:2])), *(door[2:] - 0.3 * (door[2:] - door[:2])))
            grown = (inside[0] - 0.1, inside[1] - 0.1, inside[2] + 0.1, inside[3] + 0.1)
            assert not any(overlaps(grown, tuple(wall)) for wall in walls)
    kinds = np.abs(np.array(widths)[:, None] - DOOR_WIDTHS).argmin(axis=1)
    exact = np.abs(np.array(widths) - np.array(DOOR_WIDTHS)[kinds]) < 1e-3
    assert exact.mean() > 0.98  # doors of connections shorter than a door are narrower
    assert (np.array(widths)[~exact] < DOOR_WIDTHS[0]).all()
    assert 0.1 < kinds.mean() < 0.9


def test_levels_have_up_to_five_connections_and_six_doors(levels: wl.Simulation) -> None:
    """Inner walls exist in both orientations; test_hideseek_walls.py has where they are."""
    inner = np.zeros(2, int)
    for world in range(LEVELS):
        doors = levels["Level"].doors.numpy()[world, 0, : numbers(levels, "num_doors")[world]]
        widths = np.abs(doors[:, 2:] - doors[:, :2]).sum(axis=1)
        connections = widths < 0.15 * UNIT
        assert connections.sum() <= 5 and (~connections).sum() <= 6
        assert (np.abs(doors[connections]) < EXTENT).all()
        inner += [int((doors[connections, 0] == doors[connections, 2]).sum()), 0]
        inner += [0, int((doors[connections, 1] == doors[connections, 3]).sum())]
    assert inner.min() > 0


def test_no_body_starts_in_a_wall_or_another(levels: wl.Simulation) -> None:
    """After 20 rejections, which are counted, it may be in another body, never in a wall; agents may overlap."""
    unexplained = placed = in_walls = 0
    for world in range(LEVELS):
        solids, first = solids_of(levels, world), int(numbers(levels, "first_agent")[world])
        boxes = int(numbers(levels, "num_boxes")[world])
        walls = [tuple(wall) for wall in walls_of(levels, world)]
        bodies: list[tuple[float, ...]] = []
        blocked = 0
        for row in range(first + 5):
            assert (np.abs(solids["position"][row, :2]) <= EXTENT).all()
            ramp = boxes <= row < first
            area = footprint(solids["position"][row], solids["rotation"][row], solids["size"][row], ramp)
            in_walls += any(overlaps(area, wall) for wall in walls)
            blocked += any(overlaps(area, other) for other in bodies)
            if row < first:
                bodies.append(area)
            placed += 1
        unexplained += max(blocked - int(numbers(levels, "forced_placements")[world]), 0)
    assert in_walls == unexplained == 0
    assert numbers(levels, "forced_placements").sum() < 0.01 * placed


def test_packed_bodies_stand_side_by_side(quick_compilation: None) -> None:
    """No two overlap, walls leave their place free, and most have neighbours within the gap."""
    sim = wl.Simulation("HideSeek-v0", 40, "cpu", seed=2, config={"packed": True, "max_boxes": 9})
    neighbours = 0
    for world in range(40):
        solids, first = solids_of(sim, world), int(numbers(sim, "first_agent")[world])
        boxes = int(numbers(sim, "num_boxes")[world])
        areas = [
            footprint(solids["position"][row], solids["rotation"][row], solids["size"][row], boxes <= row < first)
            for row in range(first + 5)
        ]
        assert all(PILE[0] - 1e-4 <= area[0] and area[3] <= PILE[3] for area in areas)
        walls = [tuple(wall) for wall in walls_of(sim, world)]
        assert len(walls) >= 4 and not any(overlaps(area, wall) for area in areas for wall in walls)
        pairs = [(a, b) for k, a in enumerate(areas) for b in areas[:k]]
        assert not any(overlaps(a, b) for a, b in pairs)
        neighbours += sum(overlaps(a, b, slack=-0.21) for a, b in pairs)
    assert neighbours > 40 * 15
    rng = np.random.default_rng(0)
    for _ in range(5):
        sim.step(random_actions(sim, rng))
    floor = (numbers(sim, "first_agent") + numbers(sim, "num_agents"))[:, None]
    first, second = (sim["Pair"].padded(name).numpy() for name in ("a", "b"))
    live = np.arange(first.shape[1]) < sim["Pair"].counts.numpy()[:, None]
    assert (live & (first < floor) & (second < floor)).sum() > 40 * 10 and sim.errors() == []


def test_yaws_cover_half_a_turn(levels: wl.Simulation) -> None:
    first = numbers(levels, "first_agent")
    yaws = []
    for world in range(LEVELS):
        z, w = levels["Solid"].rotation.numpy()[world, : first[world] + 5, 2:].T
        yaws.extend(2.0 * np.arctan2(z, w))
    assert 0.0 <= min(yaws) < 0.1 and np.pi - 0.1 < max(yaws) <= np.pi


def test_a_level_depends_on_seed_and_world_alone(quick_compilation: None, levels: wl.Simulation) -> None:
    few = wl.Simulation("HideSeek-v0", 3, "cpu", seed=5, threads=1)
    for name in ("position", "size"):
        for world in range(3):
            count = int(few["Solid"].counts.numpy()[world])
            ours, theirs = few["Solid"][name].numpy(), levels["Solid"][name].numpy()
            np.testing.assert_array_equal(ours[world, :count], theirs[world, :count])
