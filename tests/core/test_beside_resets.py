"""Observations beside resets: which kernels are split, and that their order does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from listed_worlds import FIELD, Crow, Field, actions, drop, end, fly, note, peer, sow, watch
from thorough import covering

import worldloom as wl
from worldloom.core.codegen import kernel_spec
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import Entry, generate
from worldloom.core.codegen.resets import beside_resets
from worldloom.core.tools.compare import first_difference
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")

WORLDS = 5


@pytest.fixture(autouse=True)
def all_worlds_qualify(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few kernels follow observations, they run beside them, and go through lists several times."""
    monkeypatch.setattr(beside_resets, "MIN_KERNELS", 1)
    monkeypatch.setattr(kernel_spec, "WORLD_LIST_THREADS", 64)


def is_beside(entry: Entry) -> bool:
    return isinstance(entry, KernelSpec) and entry.beside


def beside(definition: wl.Definition, autoreset: str = "same_step") -> set[str]:
    """The systems of the kernels that run beside others."""
    with wl.Simulation(definition, 1, "python", autoreset=autoreset) as sim:
        program = generate(sim.schedule, True, True, uneven=16)
    assert not any(map(is_beside, program.reset))
    return {label for entry in program.step if isinstance(entry, KernelSpec) and entry.beside for label in entry.labels}


@pytest.mark.parametrize(("last", "width"), covering([False, True], [2**31 - 1, 0]))
def test_the_order_of_kernels_that_run_at_the_same_time_does_not_matter(last: bool, width: int) -> None:
    turns = np.array([2, 100, 3, 2, 100], np.int32)
    cpu, other = (wl.Simulation(FIELD, WORLDS, "cpu", seed=3, config={"turns": turns}) for _ in range(2))
    machine = Machine(other, uneven=16, list_width=width)
    assert any(map(is_beside, machine.program.step))
    if last:
        machine.program.step.sort(key=is_beside)
    rng, begun = np.random.default_rng(1), set[int]()
    for step in range(3):
        moves = actions(rng, WORLDS)
        cpu.step({"Crow.hop": moves})
        other[Crow].agent_rows.hop = moves
        machine.step()
        begun.add(int(cpu.terminated.numpy().sum()))
        assert first_difference(cpu, other, step) is None
    assert begun == {0, 1, 2}


def test_observations_of_a_step_run_beside_its_resets() -> None:
    assert {"peer(Crow)", "publish_Crow"} <= beside(FIELD)
    assert not beside(FIELD, "next_step") and not beside(FIELD, "disabled")


def test_one_condition_leaves_worlds_and_rows_out() -> None:
    """Threads wait for both loads together where most worlds go on, and for the first one where few do."""
    with wl.Simulation(FIELD, 1, "python") as sim:
        text = generate(sim.schedule, True, True, uneven=16).text
    finished, count = "wl_get_bool(World__finished__col, world)", "wl_get_int32(World__Crow__count__col, world)"
    assert f"if wp.int32({finished}) | wp.int32(slot >= wp.min({count}, 3)) != 0: return" in text
    assert f"| wp.int32({finished})" not in text and "wp.int32(not " not in text


def test_few_resets_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_resets, "MIN_KERNELS", 100)
    assert not beside(FIELD)


def nothing(simulation: wl.Simulation) -> None:
    """A callable between two kernels."""


def test_nothing_runs_beside_a_callable() -> None:
    observe = (note, nothing, peer)
    definition = wl.Definition("Met-test", Field, FIELD.entities, reset=(sow, drop), step=(fly, end), observe=observe)
    assert not beside(definition)


class Leaf(wl.Entity):
    place: int


@wl.system
def scatter(world: Field):
    for _ in range(world.integer(3)):
        world.spawn(Leaf, place=world.integer(50))


@pytest.mark.parametrize("pool", [None, 64], ids=["rows of its own", "rows of all worlds"])
def test_a_population_of_all_worlds_keeps_the_order(pool: int | None) -> None:
    definition = wl.Definition(
        "Leaf-test", Field, {**FIELD.entities, Leaf: wl.UpTo(4, batch=pool)}, reset=(sow, drop, scatter),
        step=(fly, end), observe=(note, peer, watch),
    )  # fmt: skip
    assert bool(beside(definition)) == (pool is None)


class Nest(wl.Entity):
    hop: wl.Action(wl.Discrete(3))
    eggs: int
    reward: wl.Reward


class Pebble(wl.Entity):
    weight: int


class Yard(wl.World):
    total: int


@wl.system
def settle(world: Yard):
    world.spawn(Nest, eggs=world.integer(3))


@wl.system
def count_nests(world: Yard):
    world.total += world.count(Nest)


@wl.system
def leave(nest: Nest):
    if nest.eggs == 7:
        nest.despawn()


@wl.system
def add_hundred(world: Yard):
    world.total += 100


@wl.system
def lay(nest: Nest, world: Yard):
    nest.eggs += 1
    nest.reward = float(nest.eggs)
    if nest.eggs > 4:
        world.terminate()


@wl.system
def weigh(pebble: Pebble, world: Yard):
    for other in world.all(Pebble):
        world.total += other.weight


def test_a_column_that_a_kernel_of_resets_stores_in_all_worlds_is_not_written_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rewards of a nest that leaves are collected in all worlds, between two systems of resets in one kernel: it
    holds ``total`` in registers meanwhile, and stores it in all worlds."""
    definition = wl.Definition(
        "Yard-test", Yard, {Nest: wl.UpTo(1, agents=True), Pebble: 300},
        reset=(settle, count_nests, leave, lay, add_hundred), step=(lay,), observe=(weigh,),
    )  # fmt: skip
    assert not beside(definition)
    monkeypatch.setattr(beside_resets, "_stored_anywhere", lambda group: set())
    assert beside(definition) == {"weigh(Pebble)"}
