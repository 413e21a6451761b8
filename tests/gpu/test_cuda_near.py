"""Neighbour queries on a GPU: the same entities in the same order as on the CPU, and the same grids bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.codegen import kernel_spec
from worldloom.core.model import grid as grids
from worldloom.core.model.grid import PARTS

WORLDS, DOTS, MOST_BUGS, BEST = 48, 1000, 300, 8


class Dot(wl.Entity):
    position: wl.vec2
    deep: wl.vec3
    reach: float
    found: int
    order: int  # every entity found, in order, in one number
    best: wl.Array(int, BEST)
    deep_order: int
    deep_best: int
    bug_order: int
    bug: int


class Bug(wl.Entity):
    position: wl.vec2
    age: int


class Field(wl.World):
    seen: int


@wl.system
def hatch(world: Field):
    for _ in range(world.integer(0, 200)):
        world.spawn(Bug, position=wl.vec2(float(world.integer(0, 64)), float(world.integer(0, 64))) * 0.125)


@wl.system
def scatter(dot: Dot, world: Field):
    dot.position = wl.vec2(float(world.integer(0, 512)), float(world.integer(0, 512))) * 0.015625
    dot.deep = wl.vec3(dot.position.x, dot.position.y, float(world.integer(0, 512)) * 0.015625)
    dot.reach = 0.5


@wl.system
def look(dot: Dot, world: Field):
    dot.found = 0
    dot.order = 17
    for other in world.near(Dot, dot.position, dot.reach):
        dot.found += 1
        dot.order = (dot.order * 31 + other.id) % 1000003
    for i in range(BEST):
        dot.best[i] = -1
    n = 0
    for other in world.nearest(Dot, dot.position, BEST):
        dot.best[n] = other.id
        n += 1  # noqa: SIM113


@wl.system
def look_deep(dot: Dot, world: Field):
    dot.deep_order = 17
    for other in world.near(Dot, dot.deep, dot.reach, by="deep"):
        if other.id == dot.id:
            continue
        if dot.deep_order % 13 == 0:
            break
        dot.deep_order = (dot.deep_order * 31 + other.id) % 1000003
    dot.deep_best = 17
    for other in world.nearest(Dot, dot.deep, 3, by="deep"):
        dot.deep_best = (dot.deep_best * 31 + other.id) % 1000003


@wl.system
def look_around(dot: Dot, world: Field):
    dot.bug_order = 17
    for bug in world.near(Bug, dot.position, dot.reach):
        dot.bug_order = (dot.bug_order * 31 + bug.id) % 1000003
    dot.bug = -1
    for bug in world.nearest(Bug, dot.position, 1):
        dot.bug = bug.id


@wl.system
def survey(world: Field):
    world.seen = 17
    for bug in world.near(Bug, wl.vec2(4.0, 4.0), 2.0):
        world.seen = (world.seen * 31 + bug.id) % 1000003


@wl.system
def live(bug: Bug, world: Field):
    """Moves by whole eighths, which every device adds without rounding."""
    bug.age += 1
    bug.position += wl.vec2(float(world.integer(-1, 2)), float(world.integer(-1, 2))) * 0.125
    if world.integer(0, 10) == 0:
        world.spawn(Bug, position=bug.position)
    if bug.age > 8:
        bug.despawn()


@wl.system
def move(dot: Dot, world: Field):
    dot.position += wl.vec2(float(world.integer(-1, 2)), float(world.integer(-1, 2))) * 0.015625


MEADOW = wl.Definition(
    "CudaNeighbours-v0",
    world=Field,
    entities={Dot: DOTS, Bug: wl.UpTo(MOST_BUGS, overflow="drop")},
    reset=(hatch, scatter),
    step=(look, look_deep, look_around, survey, live, move),
    observe=(look,),
    max_steps=20,
)


def assert_same(one: wl.Simulation, two: wl.Simulation, when: str) -> None:
    """Every column is equal bit for bit, as far as entities are there, and the grids are too."""
    counts = one[Bug].counts.numpy()
    there = np.arange(MOST_BUGS) < counts[:, None]
    for table in one.tables.values():
        for column in table:
            a, b = column.numpy(), two.tables[table.table_name][column.field.name].numpy()
            if table.table_name == "Bug":
                a, b = a[there], b[there]
            assert a.tobytes() == b.tobytes(), f"{column.name}, {when}"
    for grid in MEADOW.grids.values():
        for part in PARTS:
            if grid.table == "Dot":
                name = grid.column(part)
                assert one.world[name].numpy().tobytes() == two.world[name].numpy().tobytes(), f"{name}, {when}"


@pytest.fixture(params=[0, 10**6], ids=["in cells", "of all"])
def meadow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> wl.Definition:
    """The world whose nearest are found in the cells of a grid, or among all."""
    monkeypatch.setattr(grids, "BRUTE_FORCE_LIMIT", request.param)
    return replace(MEADOW)


def test_moving_worlds_find_the_same_neighbours(meadow: wl.Definition):
    with wl.Simulation(meadow, WORLDS, "cpu", seed=7) as cpu, wl.Simulation(meadow, WORLDS, "cuda:0", seed=7) as cuda:
        for step in range(45):
            cpu.step()
            cuda.step()
            if step % 5 == 0 or step > 40:
                assert_same(cpu, cuda, f"step {step}")
        assert cpu[Dot].found.numpy().mean() > 2


def places_of(name: str) -> np.ndarray:
    """Places of all dots, shape (WORLDS, DOTS, 3)."""
    generator = np.random.default_rng(1)
    places = generator.normal(size=(WORLDS, DOTS, 3)).astype(np.float32)
    if name == "all equal":
        places[:] = 0.1
    elif name == "few places":
        places = np.round(places)
    elif name == "huge":
        places *= np.float32(1e38)
    elif name == "tiny":
        places *= np.float32(1e-30)
    elif name == "not finite":
        places[:, ::7], places[:, 1::7], places[:, 2::7, 0] = np.nan, np.inf, -np.inf
    elif name == "outliers":
        places[:, 0], places[:, 1] = 1e4, -1e5
    return places


@pytest.mark.parametrize("name", ["random", "all equal", "few places", "huge", "tiny", "not finite", "outliers"])
def test_places_of_all_kinds(name: str, meadow: wl.Definition):
    places = places_of(name)
    size = float(np.nanmedian(np.abs(places[np.isfinite(places)])))
    reach = np.random.default_rng(2).uniform(0.0, 0.5 * size, (WORLDS, DOTS)).astype(np.float32)
    reach[:, :4] = 0.0, np.inf, np.nan, -1.0
    with wl.Simulation(meadow, WORLDS, "cpu", seed=7) as cpu, wl.Simulation(meadow, WORLDS, "cuda:0", seed=7) as cuda:
        for simulation in (cpu, cuda):
            simulation[Dot].position, simulation[Dot].deep, simulation[Dot].reach = places[..., :2], places, reach
            simulation[Bug].position = places[:, :MOST_BUGS, :2]
            simulation.step()
        for column in ("found", "order", "best", "deep_order", "deep_best", "bug_order", "bug"):
            assert (cpu[Dot][column].numpy() == cuda[Dot][column].numpy()).all(), column
        assert (cpu.world.seen.numpy() == cuda.world.seen.numpy()).all()


def test_any_size_of_block_makes_the_same_grid(monkeypatch: pytest.MonkeyPatch):
    found = []
    for threads in (32, 128, 512):
        monkeypatch.setattr(kernel_spec, "block_dim", lambda device, threads=threads: threads if device.is_cuda else 1)
        with wl.Simulation(MEADOW, 5, "cuda:0", seed=1) as simulation:
            simulation.step()
            found.append(
                [
                    simulation.world[grid.column(part)].numpy()
                    for grid in MEADOW.grids.values()
                    if grid.table == "Dot"
                    for part in PARTS
                ]
            )
    for other in found[1:]:
        assert all(one.tobytes() == two.tobytes() for one, two in zip(found[0], other, strict=True))
