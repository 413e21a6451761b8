"""Neighbour queries: their results and order, the same interpreted and compiled; and when their grids are made."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.model.grid import PARTS, Grid
from worldloom.core.schedule.entries import FINISHED, RESET_REQUESTED, GridNode, SystemNode
from worldloom.core.schedule.schedule import plan
from worldloom.core.tools.compare import compare, first_difference

DOTS, MOST_BUGS, BEST = 40, 30, 5


class Dot(wl.Entity):
    position: wl.vec2
    deep: wl.vec3
    point: wl.vec2  # where it looks from
    reach: float
    near: wl.Array(int, DOTS)
    best: wl.Array(int, BEST)
    deep_near: wl.Array(int, DOTS)
    deep_best: wl.Array(int, BEST)
    bugs: wl.Array(int, MOST_BUGS)
    bug: int
    loners: int
    odd: int
    pairs: int


class Bug(wl.Entity):
    position: wl.vec2
    age: int


class Loner(wl.Entity):
    place: wl.vec3


class Field(wl.World):
    first: int
    seen: int


@wl.system
def scatter(dot: Dot, world: Field):
    dot.position = wl.vec2(world.random(), world.random())
    dot.deep = wl.vec3(world.random(), world.random(), world.random())
    dot.point = dot.position
    dot.reach = 0.2


@wl.system
def hatch(world: Field):
    for _ in range(world.integer(0, 25)):
        world.spawn(Bug, position=wl.vec2(world.random(), world.random()))


@wl.system
def look(dot: Dot, world: Field):
    for i in range(DOTS):
        dot.near[i] = -1
    n = 0
    for other in world.near(Dot, dot.point, dot.reach):
        dot.near[n] = other.id
        n += 1  # noqa: SIM113
    for i in range(BEST):
        dot.best[i] = -1
    n = 0
    for other in world.nearest(Dot, dot.point, BEST):
        dot.best[n] = other.id
        n += 1  # noqa: SIM113


@wl.system
def look_deep(dot: Dot, world: Field):
    for i in range(DOTS):
        dot.deep_near[i] = -1
    n = 0
    for other in world.near(Dot, dot.deep, dot.reach, by="deep"):
        dot.deep_near[n] = other.id
        n += 1  # noqa: SIM113
    for i in range(BEST):
        dot.deep_best[i] = -1
    n = 0
    for other in world.nearest(Dot, dot.deep, BEST, by="deep"):
        dot.deep_best[n] = other.id
        n += 1  # noqa: SIM113


@wl.system
def look_around(dot: Dot, world: Field):
    for i in range(MOST_BUGS):
        dot.bugs[i] = -1
    n = 0
    for bug in world.near(Bug, dot.point, dot.reach):
        dot.bugs[n] = bug.id
        n += 1  # noqa: SIM113
    dot.bug = -1
    for bug in world.nearest(Bug, dot.point, 1):
        dot.bug = bug.id
    dot.loners = 0
    for _loner in world.near(Loner, dot.deep, dot.reach, by="place"):
        dot.loners += 1


@wl.system
def jump_about(dot: Dot, world: Field):
    dot.odd = 0
    for other in world.near(Dot, wl.vec2(world.random(), 0.5), 0.4):
        if other.id % 2 == 0:
            continue
        if dot.odd > 100:
            break
        dot.odd += other.id
    dot.pairs = 0
    for one in world.nearest(Dot, dot.point, 4):
        if one.id == dot.id:
            continue
        for two in world.near(Dot, one.position, 0.1):
            if two.id == one.id:
                break
            dot.pairs += 1
        if dot.pairs > 3:
            break


@wl.system
def survey(world: Field):
    world.first = -1
    world.seen = 0
    for bug in world.near(Bug, wl.vec2(0.5, 0.5), 0.3):
        if world.first < 0:
            world.first = bug.id
        world.seen += 1


@wl.system
def live(bug: Bug, world: Field):
    bug.age += 1
    bug.position += wl.vec2(world.random(-0.05, 0.05), world.random(-0.05, 0.05))
    if world.random() < 0.2:
        world.spawn(Bug, position=bug.position)
    if bug.age > 6:
        bug.despawn()


@wl.system
def move(dot: Dot, world: Field):
    dot.position += wl.vec2(world.random(-0.05, 0.05), world.random(-0.05, 0.05))
    dot.point = dot.position


MEADOW = wl.Definition(
    "Neighbours-v0",
    world=Field,
    entities={Dot: DOTS, Bug: wl.UpTo(MOST_BUGS, overflow="drop"), Loner: 1},
    reset=(scatter, hatch),
    step=(look, look_deep, look_around, jump_about, survey, live, move),
    max_steps=9,
)


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


@pytest.mark.parametrize("case", CASES)
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


# -- when grids are made ---------------------------------------------------------------------------------------------


def labels(definition: wl.Definition, phase: str, autoreset: str = "same_step") -> list[str]:
    entries = getattr(plan(definition, autoreset, checks=False), phase)  # type: ignore[arg-type]
    return [e.label for e in entries if isinstance(e, GridNode) or (isinstance(e, SystemNode) and not e.system.engine)]


GRIDS = {"Dot": "grid of Dot by position", "deep": "grid of Dot by deep", "Bug": "grid of Bug by position"}


def test_a_grid_is_made_once_while_nothing_changes():
    assert labels(MEADOW, "step")[:9] == [
        GRIDS["Dot"],
        "look(Dot)",
        GRIDS["deep"],
        "look_deep(Dot)",
        GRIDS["Bug"],
        "grid of Loner by place",
        "look_around(Dot)",
        "jump_about(Dot)",
        "survey",
    ]


def test_a_grid_is_made_anew_when_places_or_numbers_change():
    changed = wl.register(
        "Neighbours-v1",
        world=Field,
        entities={Dot: 4, Bug: wl.UpTo(4), Loner: 1},
        step=[survey, live, survey, look, move, look],
    )
    assert labels(changed, "step") == [
        GRIDS["Bug"], "survey", "live(Bug)", GRIDS["Bug"], "survey",
        GRIDS["Dot"], "look(Dot)", "move(Dot)", GRIDS["Dot"], "look(Dot)",
    ]  # fmt: skip


def test_a_callable_may_have_moved_anything():
    called = wl.register("Neighbours-v2", world=Field, entities={Dot: 4}, step=[look, lambda simulation: None, look])
    assert labels(called, "step").count(GRIDS["Dot"]) == 2


def test_after_a_reset_only_the_worlds_that_were_reset_get_new_grids():
    shown = wl.register(
        "Neighbours-v3", world=Field, entities={Dot: 4}, reset=[scatter], step=[move], observe=[look], max_steps=3
    )
    schedule = plan(shown, "same_step", checks=False)
    assert [e.mask for e in schedule.step if isinstance(e, GridNode)] == [None, FINISHED]
    assert [e.mask for e in schedule.reset if isinstance(e, GridNode)] == [RESET_REQUESTED]
    late = plan(shown, "next_step", checks=False)
    assert [e.mask for e in late.step if isinstance(e, GridNode)] == [None]
    assert compare(shown, num_worlds=3, steps=8) is None


def test_grids_are_as_fine_as_there_may_be_entities():
    assert [Grid("Dot", "position", 2, n).cells for n in (1, 3, 4, 8, 9, 1000, 10**6)] == [1, 1, 2, 2, 3, 31, 64]
    assert [Grid("Dot", "position", 3, n).cells for n in (1, 7, 8, 27, 1000, 10**6)] == [1, 1, 2, 3, 10, 16]


def test_what_a_grid_keeps_is_not_shown():
    """Its columns mean nothing between two steps."""
    with wl.Simulation(MEADOW, 1, "python", seed=0) as simulation:
        assert not [c.name for c in simulation.world if "__position__" in c.name]
