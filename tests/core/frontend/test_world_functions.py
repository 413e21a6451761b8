"""Functions of the world: they loop over entities, and their bodies replace their calls."""

from dataclasses import replace

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.base.errors import DefinitionError
from worldloom.core.registry.fingerprint import fingerprint

FAR = 100.0


class Bird(wl.Entity):
    place: float
    nearest: int
    distance: float
    second: float
    gaps: wl.Array(float, 4)
    calls: int


class Sky(wl.World):
    step_size: wl.Config = 0.5
    flock: float


@wl.function
def span(x: float, y: float) -> float:
    return abs(x - y)


@wl.function
def find_nearest(world: Sky, place: float, ignore: int):
    """The nearest bird: (row, distance)."""
    row, best = -1, FAR
    for bird in world.all(Bird):
        if bird.id == ignore:
            continue
        if span(bird.place, place) < best:
            best = span(bird.place, place)
            row = bird.id
    return row, best


@wl.function
def find_second(world: Sky, bird: Bird):
    """Distance to the nearest bird of the nearest bird, through another function of the world."""
    row, _best = find_nearest(world, bird.place, bird.id)
    other = world.at(Bird, row)
    _row, distance = find_nearest(world, other.place, row)
    return distance


@wl.function
def move(world: Sky, bird: Bird, by: float):
    bird.place += by * world.step_size
    bird.calls += 1


class Tools:
    find_nearest = find_nearest
    move = move


TOOLS = Tools()


@wl.system
def scatter(bird: Bird, world: Sky):
    bird.place = world.random(0.0, 10.0)


@wl.system
def look(bird: Bird, world: Sky):
    find_nearest0_best = 7.0  # a name that the expansion must avoid
    bird.nearest, bird.distance = TOOLS.find_nearest(world, bird.place, bird.id)
    bird.second = find_second(world, bird)
    bird.distance += find_nearest0_best - 7.0


@wl.system(threads=32)
def fan(bird: Bird, world: Sky):
    for i in wl.share(4):
        _row, gap = find_nearest(world, bird.place + float(i), -1)
        bird.gaps[i] = gap


@wl.system
def shift(world: Sky):
    for bird in world.all(Bird):
        TOOLS.move(world, bird, 1.0)
        move(world, bird, 2)


SKY = wl.register("WorldFunctions-v0", world=Sky, entities={Bird: 6}, reset=[scatter], step=[look, fan, shift])


def expected(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    gaps = np.abs(places[:, None] - places[None]) + np.where(np.eye(len(places), dtype=bool), 1e9, 0.0)
    return gaps.argmin(axis=1), gaps.min(axis=1)


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_a_system_gets_the_results_of_a_loop_over_entities(device):
    sim = wl.Simulation("WorldFunctions-v0", 3, device, seed=4)
    places = sim[Bird].place.numpy().copy()
    sim.step()
    birds = sim[Bird]
    for world in range(3):
        rows, distances = expected(places[world])
        assert birds.nearest.numpy()[world].tolist() == rows.tolist()
        assert birds.distance.numpy()[world] == pytest.approx(distances, abs=1e-6)
        assert birds.second.numpy()[world] == pytest.approx(distances[rows], abs=1e-6)
        for i in range(4):
            gaps = np.abs(places[world][:, None] + i - places[world][None]).min(axis=1)
            assert birds.gaps.numpy()[world, :, i] == pytest.approx(gaps, abs=1e-6)
    assert birds.place.numpy() == pytest.approx(places + 1.5)
    assert (birds.calls.numpy() == 2).all()


def test_the_fingerprint_covers_the_body_of_a_function():
    def rise(amount: float):
        @wl.function
        def climb(world: Sky, bird: Bird):
            bird.place += amount

        @wl.system
        def rise(world: Sky):
            for bird in world.all(Bird):
                climb(world, bird)

        return rise

    prints = [fingerprint(replace(SKY, step=(rise(amount),))) for amount in (1.0, 1.0, 2.0)]
    assert prints[0] == prints[1] != prints[2]


def rejected(make) -> str:
    with pytest.raises(DefinitionError) as error:
        make()
    return str(error.value)


def test_calls_in_expressions_and_in_helpers_are_rejected():
    def in_expression():
        @wl.system
        def look_up(bird: Bird, world: Sky):
            if find_second(world, bird) > 1.0:
                bird.calls = 1

    def in_helper():
        @wl.function
        def twice(x: float):
            return 2.0 * find_nearest(x, x, 1)

    assert "write 'x = find_second(...)' in a system" in rejected(in_expression)
    assert "its call is part of another expression or of a helper" in rejected(in_helper)


def test_results_are_assigned_and_arguments_are_complete():
    def ignored():
        @wl.system
        def look_up(bird: Bird, world: Sky):
            find_nearest(world, bird.place, 0)

    def too_few():
        @wl.system
        def look_up(bird: Bird, world: Sky):
            bird.nearest, bird.distance = find_nearest(world, bird.place)

    def nothing():
        @wl.system
        def look_up(world: Sky):
            for bird in world.all(Bird):
                bird.distance = move(world, bird, 1.0)

    def no_variable():
        @wl.system
        def look_up(world: Sky):
            move(world, world.at(Bird, 0), 1.0)

    assert "'find_nearest' returns values" in rejected(ignored)
    assert "'find_nearest' takes 3 arguments by position" in rejected(too_few)
    assert "'move' returns nothing" in rejected(nothing)
    assert "argument 'bird' of 'move' is not a variable" in rejected(no_variable)


def test_a_function_of_the_world_returns_once_and_is_checked_where_it_is_defined():
    def early():
        @wl.function
        def first(world: Sky):
            for bird in world.all(Bird):
                return bird.place
            return 0.0

    def unknown():
        @wl.function
        def first(world: Sky):
            return world.nothing

    def untyped():
        @wl.function
        def first(world: Sky, x):
            return x

    assert "returns once, in its last statement" in rejected(early)
    assert "unknown component 'nothing'" in rejected(unknown)
    assert "parameter 'x' has no component type" in rejected(untyped)


def test_races_are_found_in_the_bodies_of_functions():
    def races():
        @wl.system
        def drift(bird: Bird, world: Sky):
            _row, gap = find_nearest(world, bird.place, bird.id)
            bird.place += gap

    assert "place" in rejected(races)
