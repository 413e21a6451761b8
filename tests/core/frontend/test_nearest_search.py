"""``world.nearest`` by brute force and in a grid: both return what sorting all distances returns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.frontend.targets.nearest_search import first_ring
from worldloom.core.model import grid
from worldloom.core.model.grid import Grid
from worldloom.core.schedule.entries import GridNode
from worldloom.core.schedule.schedule import plan

pytestmark = pytest.mark.usefixtures("quick_compilation")

DOTS, MOST_BUGS, BEST, DEEP_BEST, BUGS = 70, 90, 12, 5, 1


class Dot(wl.Entity):
    position: wl.vec2
    deep: wl.vec3
    point: wl.vec2  # the position that it searches from
    best: wl.Array(int, BEST)
    deep_best: wl.Array(int, DEEP_BEST)
    bug: int


class Bug(wl.Entity):
    position: wl.vec2


class Field(wl.World):
    pass


@wl.system
def hatch(world: Field):
    for _ in range(MOST_BUGS):
        world.spawn(Bug)


@wl.system
def look(dot: Dot, world: Field):
    for i in range(BEST):
        dot.best[i] = -1
    n = 0
    for other in world.nearest(Dot, dot.point, BEST):
        dot.best[n] = other.id
        n += 1  # noqa: SIM113
    for i in range(DEEP_BEST):
        dot.deep_best[i] = -1
    n = 0
    for other in world.nearest(Dot, dot.deep, DEEP_BEST, by="deep"):
        dot.deep_best[n] = other.id
        n += 1  # noqa: SIM113
    dot.bug = -1
    for bug in world.nearest(Bug, dot.point, BUGS):
        dot.bug = bug.id


MEADOW = wl.Definition(
    "Nearest-v0", world=Field, entities={Dot: DOTS, Bug: wl.UpTo(MOST_BUGS)}, reset=(hatch,), step=(look,)
)


def crowds() -> dict[str, tuple[np.ndarray, np.ndarray, int]]:
    """One world each: positions of the dots (DOTS, 3), points to search from (DOTS, 2), and the number of bugs."""
    generator = np.random.default_rng(11)
    spread = generator.uniform(-1.0, 1.0, (DOTS, 3)).astype(np.float32)
    heap = np.where(np.arange(DOTS)[:, None] % 10 > 0, 0.001 * spread, 50.0 * spread).astype(np.float32)
    lattice = np.stack(np.meshgrid(np.arange(7), np.arange(5), np.arange(2)), -1).reshape(DOTS, 3).astype(np.float32)
    gone, endless, line = spread.copy(), spread.copy(), spread.copy()
    gone[generator.permutation(DOTS)[:62]] = np.nan
    endless[::6], endless[1::6], endless[2::6, 0] = np.inf, -np.inf, np.nan
    line[:, 1:] = line[:, :1]
    found = {
        "spread": (spread, spread[:, :2], MOST_BUGS),
        "from outside": (spread, 7.0 * spread[::-1, :2], 40),
        "heap": (heap, heap[:, :2], MOST_BUGS),
        "lattice": (lattice[generator.permutation(DOTS)], lattice[:, :2] + np.float32(0.5), MOST_BUGS),
        "gone": (gone, spread[:, :2], 3),
        "endless": (endless, endless[:, :2], MOST_BUGS),
        "line": (line, line[:, :2], 1),
        "tiny": (1e-24 * spread, np.zeros((DOTS, 2)), MOST_BUGS),
        "huge": (3e38 * spread, 2e38 * spread[:, :2], MOST_BUGS),
        "nobody": (np.full((DOTS, 3), np.nan), spread[:, :2], 0),
    }
    return {
        name: (places.astype(np.float32), at.astype(np.float32), bugs) for name, (places, at, bugs) in found.items()
    }


@np.errstate(all="ignore")
def expected(places: np.ndarray, point: np.ndarray, k: int) -> list[int]:
    """The slots that a query returns, padded with -1."""
    squared_distances = (places - point) ** 2
    total = squared_distances[:, 0] + squared_distances[:, 1]
    total = total if places.shape[1] == 2 else total + squared_distances[:, 2]
    known = np.flatnonzero(~np.isnan(total))
    found = known[np.argsort(total[known], kind="stable")][:k].tolist()
    return found + [-1] * (k - len(found))


@pytest.mark.parametrize("most", [0, 10**6], ids=["in cells", "of all"])
def test_a_search_gives_what_sorting_all_distances_gives(most: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(grid, "BRUTE_FORCE_LIMIT", most)
    worlds = crowds()
    places, points = np.stack([p for p, _, _ in worlds.values()]), np.stack([at for _, at, _ in worlds.values()])
    counts = np.int32([bugs for _, _, bugs in worlds.values()])
    bugs = places[:, np.arange(MOST_BUGS) % DOTS, 1:]
    with wl.Simulation(replace(MEADOW), len(worlds), "cpu", seed=0) as simulation:
        dots = simulation[Dot]
        dots.position, dots.deep, dots.point = places[..., :2], places, points
        simulation[Bug].position = bugs
        simulation.world["Bug__count"].assign(counts)
        simulation.step()
        best, deep_best, bug = dots.best.numpy(), dots.deep_best.numpy(), dots.bug.numpy()
    for world, name in enumerate(worlds):
        for dot in range(DOTS):
            at = points[world, dot]
            assert best[world, dot].tolist() == expected(places[world, :, :2], at, BEST), (name, dot)
            assert deep_best[world, dot].tolist() == expected(places[world], places[world, dot], DEEP_BEST), (name, dot)
            assert bug[world, dot] == expected(bugs[world, : counts[world]], at, BUGS)[0], (name, dot)


def grids_made(most: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(grid, "BRUTE_FORCE_LIMIT", most)
    return [
        entry.label for entry in plan(replace(MEADOW), "same_step", checks=False).step if isinstance(entry, GridNode)
    ]


def test_the_nearest_of_few_need_no_grid(monkeypatch: pytest.MonkeyPatch):
    assert grids_made(MOST_BUGS, monkeypatch) == []
    assert grids_made(MOST_BUGS - 1, monkeypatch) == ["grid of Bug by position"]
    assert grids_made(0, monkeypatch) == ["grid of Dot by position", "grid of Dot by deep", "grid of Bug by position"]


def test_the_first_cells_hold_about_as_many_as_are_wanted():
    assert [first_ring(Grid("Dot", "position", 2, 1024), k) for k in (1, 6, 7, 16, 17, 64)] == [1, 1, 2, 2, 3, 5]
    assert [first_ring(Grid("Dot", "position", 3, 1000), k) for k in (1, 18, 19, 64)] == [1, 1, 2, 2]
    assert first_ring(Grid("Dot", "position", 2, 64 * 64 * 4), 24) == 1, "where cells are few, each holds more"
