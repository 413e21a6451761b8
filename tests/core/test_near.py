"""Neighbour queries: their results and order, the same interpreted and compiled."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from near_world import BEST, DOTS, MEADOW, MOST_BUGS, Bug, Dot, Loner
from thorough import sample

import worldloom as wl
from worldloom.core.model.grid import PARTS, Grid
from worldloom.core.tools.compare import compare, first_difference

pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[wl.Simulation, wl.Simulation]]:
    """The same two worlds interpreted and compiled."""
    with wl.Simulation(MEADOW, 2, "python", seed=3) as python, wl.Simulation(MEADOW, 2, "cpu", seed=3) as cpu:
        yield python, cpu


def distances(places: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Squares of distances, added as systems add them."""
    with np.errstate(all="ignore"):
        apart = (places - point) ** 2
        total = apart[:, 0] + apart[:, 1]
        return total if places.shape[1] == 2 else total + apart[:, 2]


def expected_near(places: np.ndarray, point: np.ndarray, radius: np.ndarray) -> list[int]:
    with np.errstate(all="ignore"):
        return np.flatnonzero(np.sqrt(distances(places, point)) <= radius).tolist()


def expected_nearest(places: np.ndarray, point: np.ndarray, k: int) -> list[int]:
    squared_distances = distances(places, point)
    known = np.flatnonzero(~np.isnan(squared_distances))
    return known[np.argsort(squared_distances[known], kind="stable")][:k].tolist()


def listed(row: np.ndarray) -> list[int]:
    return row[row >= 0].tolist()


def points(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, where each dot looks from, and how far, in two worlds: shapes (2, DOTS, 2), (2, DOTS, 2), (2, DOTS)."""
    generator = np.random.default_rng(5)
    places = generator.normal(size=(2, DOTS, 2)).astype(np.float32)
    reach = generator.uniform(0.0, 2.0, (2, DOTS)).astype(np.float32)
    at = places.copy()
    if name == "duplicates":
        places[:, 10:] = places[:, :30]
    elif name == "all equal":
        places[:], at = 0.3, np.repeat(np.float32([[0.3, 0.3], [0.3, 0.4]]), DOTS // 2, axis=0)[None].repeat(2, 0)
        reach[:, ::2] = 0.0
    elif name == "on a lattice, on the radius":
        places = (
            np.stack(np.meshgrid(np.arange(8), np.arange(5)), -1).reshape(1, DOTS, 2).repeat(2, 0).astype(np.float32)
        )
        at, reach = places.copy(), np.full((2, DOTS), 2.0, np.float32)
        at[1] += 0.5
    elif name == "radius 0":
        places[:, 20:] = places[:, :20]
        at, reach[:] = places.copy(), 0.0
    elif name == "radius huge":
        reach[:, ::3], reach[:, 1::3], reach[:, 2::3] = np.inf, 3e38, 1e20
    elif name == "radius negative or no number":
        reach[0], reach[1] = -1.0, np.nan
    elif name == "looking from outside":
        at = (10.0 * at).astype(np.float32)
        reach *= 10.0
        at[:, ::9], reach[:, ::9] = -np.inf, np.inf
    elif name == "on a line":
        places[..., 1] = 7.0
    elif name == "outliers":
        places[:, 0], places[:, 1] = 1e4, -1e5
    elif name == "huge":
        places *= np.float32(1e38)
        at = places.copy()
        reach *= np.float32(1e37)
        reach[:, ::7] = np.inf
    elif name == "tiny":
        places *= np.float32(1e-30)
        at = places.copy()
        reach *= np.float32(1e-30)
        reach[:, ::2] = 0.0
    elif name == "subnormal":
        places = (places * np.float32(1e-42)).astype(np.float32)
        at = places.copy()
        reach[:] = 0.0
    elif name == "not finite":
        places[0, ::5], places[0, 1::5], places[1, :3, 0], places[1, 3:6] = np.nan, np.inf, np.nan, -np.inf
        at = places.copy()
        reach[:, ::4] = np.inf
    elif name == "no numbers at all":
        places[:] = np.nan
    elif name == "far from the origin":
        places = (places + np.float32(1e6)).astype(np.float32)
        at = places.copy()
    elif name == "just in reach":
        at[..., 0] += np.float32(1e6)
        reach = np.sqrt(((places - at) ** 2).sum(-1, dtype=np.float32))
    else:
        assert name == "random"
    return places, at, reach


CASES = (
    "random",
    "duplicates",
    "all equal",
    "on a lattice, on the radius",
    "radius 0",
    "radius huge",
    "radius negative or no number",
    "looking from outside",
    "on a line",
    "outliers",
    "huge",
    "tiny",
    "subnormal",
    "not finite",
    "no numbers at all",
    "far from the origin",
    "just in reach",
)


@pytest.mark.parametrize("case", sample(CASES, 9))
def test_queries_equal_brute_force_and_each_other(case: str, both: tuple[wl.Simulation, wl.Simulation]):
    places, at, reach = points(case)
    deep = np.concatenate([places, np.roll(places[..., :1], 7, axis=1)], axis=-1)
    loner = np.float32([[[0.1, 0.2, 0.3]], [[np.nan, 0.0, 0.0]]])
    counts = np.zeros(2, np.int32)
    for simulation in both:
        simulation.reset(seeds=CASES.index(case))
        dots = simulation[Dot]
        dots.position, dots.point, dots.reach, dots.deep = places, at, reach, deep
        simulation[Loner].place = loner
        simulation[Bug].position = places[:, :MOST_BUGS]
        counts = simulation[Bug].counts.numpy().copy()
        simulation.step()
    python, cpu = both
    assert first_difference(python, cpu, 1) is None
    for name in (grid.column(part) for grid in MEADOW.grids.values() if grid.table != "Bug" for part in PARTS):
        assert python.world[name].numpy().tobytes() == cpu.world[name].numpy().tobytes(), name
    table = cpu[Dot]
    for world in range(2):
        for dot in range(0, DOTS, 3):
            point, radius = at[world, dot], reach[world, dot]
            assert sorted(listed(table.near.numpy()[world, dot])) == expected_near(places[world], point, radius)
            assert listed(table.best.numpy()[world, dot]) == expected_nearest(places[world], point, BEST)
            assert sorted(listed(table.deep_near.numpy()[world, dot])) == expected_near(
                deep[world], deep[world, dot], radius
            )
            assert listed(table.deep_best.numpy()[world, dot]) == expected_nearest(deep[world], deep[world, dot], BEST)
            there = places[world, : counts[world]]
            assert sorted(listed(table.bugs.numpy()[world, dot])) == expected_near(there, point, radius)
            assert table.bug.numpy()[world, dot] == (expected_nearest(there, point, 1) or [-1])[0]
            assert table.loners.numpy()[world, dot] == len(expected_near(loner[world], deep[world, dot], radius))


def test_the_order_is_that_of_the_cells_and_then_of_the_slots(both: tuple[wl.Simulation, wl.Simulation]):
    places, at, reach = points("random")
    places[:, 20:] = places[:, :20]
    reach[:] = 100.0
    _, cpu = both
    cpu.reset(seeds=0)
    cpu[Dot].position, cpu[Dot].point, cpu[Dot].reach = places, at, reach
    cpu.step()
    cells = Grid("Dot", "position", 2, DOTS).cells
    assert cells == 6
    for world in range(2):
        low, high = places[world].min(0), places[world].max(0)
        along = np.minimum((places[world] - low) * (np.float32(cells) / (high - low)), cells - 1).astype(int)
        order = np.lexsort((np.arange(DOTS), along[:, 0], along[:, 1]))
        assert (cpu[Dot].near.numpy()[world] == order).all()


def test_worlds_with_nobody_to_find(both: tuple[wl.Simulation, wl.Simulation]):
    for simulation in both:
        simulation.reset(seeds=0)
        simulation.world["Bug__count"].assign(np.zeros(2, np.int32))
        simulation.step()
        assert (simulation[Dot].bugs.numpy() == -1).all()
        assert (simulation[Dot].bug.numpy() == -1).all()
        assert (simulation.world.first.numpy() == -1).all()


def test_moving_worlds_are_the_same_interpreted_and_compiled():
    """Entities that move, come and go, episodes that end, and loops left early."""
    assert compare(MEADOW, num_worlds=2, steps=12) is None
