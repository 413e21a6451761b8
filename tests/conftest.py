"""Shared fixtures: two small worlds, and access to all columns of a simulation."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thorough import THOROUGH

import worldloom as wl
from worldloom.core.codegen import program
from worldloom.core.registry import registry

pytest_plugins = ["file_times", "mujoco_messages"]

sys.path.insert(0, str(Path(__file__).parent / "parity"))  # the NumPy references, which tests of several folders use
# PyTorch uses one thread, here and in processes that tests start: more threads slow small networks down.
os.environ.setdefault("OMP_NUM_THREADS", "1")
gc.disable()  # until all tests are collected: the collector would scan thousands of items and modules again and again


class Runner(wl.Entity):
    """Stays (0), terminates (1), or is truncated (2)."""

    move: wl.Action(wl.Discrete(3))
    age: int  # steps while active
    number: int  # random at the start of every episode
    sight: wl.Observation(2)
    reward: wl.Reward


class Track(wl.World):
    goal: wl.Config = 4  # steps until the world terminates
    pace: wl.Config = 1.0


@wl.system
def run(runner: Runner, world: Track):
    if not runner.active:
        return
    runner.age += 1
    runner.reward = world.pace
    if runner.move == 1:
        runner.terminate()
    elif runner.move == 2:
        runner.truncate()


@wl.system
def arrive(world: Track):
    if world.step + 1 >= world.goal:
        world.terminate()


@wl.system
def line_up(runner: Runner, world: Track):
    runner.number = world.integer(1, 1000000)


@wl.system
def watch(runner: Runner):
    runner.sight = wl.vec2(float(runner.age), float(runner.number))


RACE = wl.Definition("Race-test", Track, {Runner: 2}, reset=(line_up,), step=(run, arrive), observe=(watch,))


Sight = wl.vec(5)


class Walker(wl.Entity):
    """Walks at random, refers to its nearest neighbour, and terminates when its energy is used up."""

    heading: wl.Action(wl.Discrete(4))
    place: wl.vec2
    energy: float = 3.0
    partner: wl.Ref("Walker")
    partner_energy: float
    cards: wl.Array(int, 6)
    dice: int
    sight: wl.Observation(5)
    reward: wl.Reward


class Lamp(wl.Entity):
    place: wl.vec2
    visitors: int
    warmth: float


class Plaza(wl.World):
    reach: wl.Config = 0.8
    wind: wl.Config = 0.1
    crowding: int


@wl.system
def wander(walker: Walker, world: Plaza):
    turn = 1.5707963 * float(walker.heading)
    step = wl.vec2(wl.cos(turn), wl.sin(turn)) * 0.2
    walker.place += step + wl.vec2(world.normal() * world.wind, world.random(-1.0, 1.0) * world.wind)
    walker.dice = world.integer(6)
    world.shuffle(walker.cards)


@wl.system
def visit(walker: Walker, world: Plaza):
    for lamp in world.all(Lamp):
        if wl.length(lamp.place - walker.place) < world.reach:
            lamp.visitors += 1
            lamp.warmth += 0.25
            world.crowding += walker.dice


@wl.system
def choose_partner(walker: Walker, world: Plaza):
    nearest = 1000.0
    for other in world.all(Walker):
        distance = wl.length(other.place - walker.place)
        if other.id != walker.id and distance < nearest:
            nearest = distance
            walker.partner = other.ref


@wl.system
def talk(walker: Walker):
    if walker.partner.alive:
        walker.partner_energy = walker.partner.get().energy


@wl.system
def tire(walker: Walker, world: Plaza):
    walker.energy -= 0.05 + 0.05 * float(walker.dice)
    walker.energy += 0.01 * walker.partner_energy
    walker.reward = walker.energy
    if walker.energy < 0.0:
        walker.terminate()


@wl.system
def scatter(walker: Walker, world: Plaza):
    walker.place = wl.vec2(world.random(-1.0, 1.0), world.random(-1.0, 1.0))
    for i in range(6):
        walker.cards[i] = i


@wl.system
def hang(lamp: Lamp, world: Plaza):
    lamp.place = wl.vec2(float(lamp.id) - 1.0, 0.0)


@wl.system
def gaze(walker: Walker, world: Plaza):
    light = 0.0
    for lamp in world.all(Lamp):
        light += lamp.warmth
    walker.sight = Sight(walker.place.x, walker.place.y, walker.energy, float(walker.cards[0]), light)


CROWD = wl.Definition(
    "Crowd-test",
    Plaza,
    {Walker: 5, Lamp: 3},
    reset=(scatter, hang),
    step=(wander, visit, choose_partner, talk, tire),
    observe=(gaze,),
    max_steps=40,
)


def pytest_collection_finish() -> None:
    """Enable garbage collection again."""
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def no_fetched_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide data that the user of this machine has fetched, so that tests see the same worlds everywhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORLDLOOM_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(autouse=True)
def forget_registered_worlds() -> Iterator[None]:
    """Forget the worlds that a test registers, so that tests may use the same ids."""
    earlier = set(registry._REGISTRY)
    yield
    for id in registry._REGISTRY.keys() - earlier - registry._LAZY_DEFINITIONS.keys():
        del registry._REGISTRY[id]


@pytest.fixture(scope="module", autouse=True)
def freeze_garbage_collector() -> None:
    """Exclude imported modules and objects of earlier files from garbage collection: scanning them takes seconds."""
    gc.collect()
    gc.freeze()


_QUICK_PROGRAMS: set[Any] = set()
"""Keys of the programs that were compiled without optimizations. Files share them."""
_QUICK_MODULES: list[Any] = []


@pytest.fixture(scope="module")
def quick_compilation() -> Iterator[None]:
    """Compile the worlds of a file without optimizations, in half the time; ``make test-thorough`` optimizes them.

    For files about what worlds do. Those about how compiled code computes use what users run.
    """
    if THOROUGH:
        yield
        return
    earlier, get_module = set(program._CACHE), program.get_module

    def get_quick_module(name: str) -> Any:
        module = get_module(name)
        module.options["optimization_level"] = 0
        _QUICK_MODULES.append(module)
        return module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "get_module", get_quick_module)
        yield
    _QUICK_PROGRAMS.update(set(program._CACHE) - earlier)


@pytest.fixture(scope="module", autouse=True)
def optimized_compilation(request: pytest.FixtureRequest) -> None:
    """Forget the worlds that were compiled without optimizations, in files that do not use ``quick_compilation``."""
    if "quick_compilation" in request.fixturenames:
        return
    for key in _QUICK_PROGRAMS & set(program._CACHE):
        del program._CACHE[key]
    for module in _QUICK_MODULES:
        module.options["optimization_level"] = None
    _QUICK_PROGRAMS.clear()
    _QUICK_MODULES.clear()


@pytest.fixture(scope="session")
def race() -> wl.Definition:
    """Two agents that terminate one by one; the world terminates after ``goal`` steps."""
    return RACE


@pytest.fixture(scope="session")
def crowd() -> wl.Definition:
    """Two interacting kinds: loops, references, shared sums, random numbers, shuffles, agents that terminate."""
    return CROWD


@pytest.fixture(scope="session")
def columns() -> Callable[[wl.Simulation], dict[str, np.ndarray]]:
    """A copy of every column of a simulation, by ``Table.name``."""
    return lambda sim: {c.name: np.array(c.numpy()) for t in sim.tables.values() for c in t}


@pytest.fixture(scope="module")
def without_event_waits() -> Iterator[None]:
    """Resumed runs do not wait for the next second, which would give their TensorBoard events a later file name."""
    from worldloom.learn.runs import event_files

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_files, "_wait_for_later_name", lambda folder: None)
        yield


@pytest.fixture
def without_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process draw no learning curve, which takes longer than a short training."""
    monkeypatch.setattr("worldloom.cli.training.run_media.draw_run_curve", lambda run, target: None)
