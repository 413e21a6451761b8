"""The interpreter refuses a broken promise ``disjoint=True``, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.tools.compare import compare

CUPS = 4


class Cup(wl.Entity):
    level: int
    place: wl.vec2
    marks: wl.Array(int, 4)
    grid: wl.Array(int, 2, 3)
    position: wl.vec2


class Hand(wl.Entity):
    colour: int
    cup: int
    seen: int
    marks: wl.Array(int, 4)


class Bar(wl.World):
    sum: int
    most: int
    marks: wl.Array(int, 4)


@wl.system
def begin(hand: Hand):
    """Hands 0 and 1 have colour 0, hands 2 and 3 have colour 1; those of one colour have different cups."""
    hand.colour, hand.cup = hand.id // 2, hand.id % 2


def simulation(*step: Any, num_worlds: int = 2) -> wl.Simulation:
    definition = wl.Definition("Promises-test", Bar, {Cup: CUPS, Hand: 4}, reset=(begin,), step=step)
    return wl.Simulation(definition, num_worlds, "python", seed=0)


def refusal(*step: Any) -> wl.DefinitionError:
    """The error of the first step, at a line of this file."""
    with pytest.raises(wl.DefinitionError) as caught:
        simulation(*step).step()
    assert caught.value.file == __file__
    return caught.value


# -- two entities ----------------------------------------------------------------------------------------------------


@wl.system(disjoint=True)
def write_write(hand: Hand, world: Bar):
    cup = world.at(Cup, hand.cup)
    cup.level = 1


@wl.system(disjoint=True)
def write_read(hand: Hand, world: Bar):
    if hand.id == 1:
        world.at(Cup, 3).level = 7
    if hand.id == 3:
        hand.seen = world.at(Cup, 3).level


@wl.system(disjoint=True)
def read_write(hand: Hand, world: Bar):
    hand.seen = world.at(Cup, 2).level
    if hand.id == 2:
        world.at(Cup, 2).level = 7


@wl.system(disjoint=True)
def read_and_write(hand: Hand, world: Bar):
    """The first reader writes, so that only the second one is another."""
    if hand.id == 0:
        hand.seen = world.at(Cup, 2).level
        world.at(Cup, 2).level = 7


@wl.system(disjoint=True)
def add(hand: Hand, world: Bar):
    world.at(Cup, hand.cup).level += 1


@wl.system(disjoint=True)
def parts_of_a_vector(hand: Hand, world: Bar):
    """One component, though two numbers of it."""
    if hand.id == 0:
        world.at(Cup, 0).place.x = 1.0
    if hand.id == 1:
        world.at(Cup, 0).place.y = 1.0


def test_two_entities_write() -> None:
    error = refusal(write_write)
    assert error.problem == (
        "in 'write_write': race: in world 0, Hand 2 writes 'level' of Cup 0,"
        f" which Hand 0 writes at the same time (line {error.line}), against disjoint=True"
    )
    assert "cup.level = 1" in str(error)
    assert error.fix.startswith("let no two Hand use the same one")


def test_one_reads_what_another_has_written() -> None:
    error = refusal(write_read)
    assert "Hand 3 reads 'level' of Cup 3, which Hand 1 writes at the same time" in error.problem
    assert "hand.seen =" in str(error)
    assert f"(line {error.line - 2})" in error.problem


def test_one_writes_what_another_has_read() -> None:
    assert "Hand 2 writes 'level' of Cup 2, which Hand 0 reads at the same time" in refusal(read_write).problem


def test_one_entity_may_read_and_write() -> None:
    sim = simulation(read_and_write)
    sim.step()
    assert (sim[Cup].level.numpy()[:, 2] == 7).all()


def test_sums_into_entities_are_stores() -> None:
    assert "Hand 2 reads 'level' of Cup 0, which Hand 0 writes" in refusal(add).problem


def test_a_vector_is_one_component() -> None:
    assert "Hand 1 reads 'place' of Cup 0, which Hand 0 writes" in refusal(parts_of_a_vector).problem


def test_a_simulation_goes_on_after_the_error() -> None:
    sim = simulation(write_write, num_worlds=1)
    for _ in range(2):
        with pytest.raises(wl.DefinitionError, match="Hand 2 writes"):
            sim.step()
    sim[Hand].cup.numpy()[:] = np.arange(4)
    sim.step()
    assert (sim[Cup].level.numpy() == 1).all()


# -- entities with a value -------------------------------------------------------------------------------------------


@wl.system(where=("colour", range(2)), disjoint=True)
def pour(hand: Hand, world: Bar):
    cup = world.at(Cup, hand.cup)
    cup.level = 3 * cup.level + hand.id


@wl.system
def meet(hand: Hand):
    hand.cup = 0


@wl.system(where=("colour", 1), disjoint=True)
def pour_one(hand: Hand, world: Bar):
    world.at(Cup, hand.cup).level = hand.id


def test_entities_of_different_values_run_one_after_the_other() -> None:
    sim = simulation(pour, pour_one)
    for _ in range(2):
        sim.step()
    assert (sim[Cup].level.numpy() == [2, 3, 0, 0]).all()


def test_entities_of_one_value_run_at_the_same_time() -> None:
    error = refusal(meet, pour)
    assert "Hand 1 reads 'level' of Cup 0, which Hand 0 writes" in error.problem
    assert error.fix == "give those Hand different values of 'colour', so that they run one after the other"
    assert "Hand 3 writes 'level' of Cup 0, which Hand 2 writes" in refusal(meet, pour_one).problem


# -- arrays ----------------------------------------------------------------------------------------------------------


@wl.system(disjoint=True)
def own_elements(hand: Hand, world: Bar):
    cup = world.at(Cup, 0)
    cup.marks[hand.id] = cup.marks[hand.id] + 1
    cup.marks[-1 - (3 - hand.id)] += 1
    cup.grid[hand.id // 3, hand.id % 3] = 5


@wl.system(disjoint=True)
def same_element(hand: Hand, world: Bar):
    world.at(Cup, 0).grid[hand.id // 4, hand.id % 3] = 5


@wl.system(disjoint=True)
def next_element(hand: Hand, world: Bar):
    cup = world.at(Cup, 0)
    cup.marks[hand.id] = cup.marks[(hand.id + 1) % 4]


def test_elements_of_an_array_are_apart() -> None:
    sim = simulation(own_elements)
    sim.step()
    assert (sim[Cup].marks.numpy()[:, 0] == 2).all()
    assert (sim[Cup].grid.numpy()[:, 0] == [[5, 5, 5], [5, 0, 0]]).all()


def test_two_entities_use_one_element() -> None:
    assert "Hand 3 writes 'grid[0, 0]' of Cup 0, which Hand 0 writes" in refusal(same_element).problem
    assert "Hand 1 writes 'marks[1]' of Cup 0, which Hand 0 reads" in refusal(next_element).problem


# -- what is no broken promise ---------------------------------------------------------------------------------------


@wl.system(disjoint=True)
def count(hand: Hand, world: Bar):
    """Fields of the world are accumulated, also one with the name of a component that is stored."""
    world.sum += 1
    world.most = max(world.most, hand.id)
    world.marks[0] += hand.id
    world.at(Cup, hand.id).marks[0] = 1
    hand.marks[0] += 1


@wl.system(disjoint=True)
def look_around(hand: Hand, world: Bar):
    """All entities may read a component that none writes; ``print`` does not count as a read."""
    for other in world.all(Hand):
        hand.seen += other.colour
    cup, first = world.at(Cup, hand.id), world.at(Cup, 0)
    cup.level = hand.seen
    print(first.level, first)


@wl.system(disjoint=True)
def miss(hand: Hand, world: Bar):
    """All but one follow a wrong index, which is a fault and leads to the first cup."""
    world.at(Cup, 3 + hand.id).level = 1


def test_accumulation_into_the_world_is_allowed() -> None:
    sim = simulation(count)
    sim.step()
    assert (sim.world.sum.numpy() == 4).all() and (sim.world.most.numpy() == 3).all()
    assert (sim.world.marks.numpy()[:, 0] == 6).all()


def test_reads_and_prints_are_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    sim = simulation(look_around)
    sim.step()
    assert (sim[Cup].level.numpy() == 2).all()
    assert "<Cup 0: level=2" in capsys.readouterr().out


def test_a_fault_is_reported_as_a_fault() -> None:
    sim = simulation(miss)
    sim.step()
    assert [fault.world for fault in sim.errors()] == [0, 0, 0, 1, 1, 1]


def test_other_systems_are_not_checked() -> None:
    assert not begin.promised and not meet.promised
    assert pour.promised == {"level"}
    assert count.promised == {"marks"}


# -- searches --------------------------------------------------------------------------------------------------------


@wl.system(disjoint=True)
def push_nearest(hand: Hand, world: Bar):
    for cup in world.nearest(Cup, wl.vec2(float(hand.id), 0.0), 1):
        cup.position = wl.vec2(9.0, 9.0)


def test_a_search_reads_all_positions() -> None:
    assert "Hand 1 reads 'position' of Cup 0, which Hand 0 writes" in refusal(push_nearest).problem


# -- iterations of shared loops --------------------------------------------------------------------------------------


@wl.system(threads=8)
def pass_on(world: Bar):
    """Pairs of cups from an even place on, then those from an odd one."""
    for start in range(2):
        for k in wl.share((CUPS - start) // 2, disjoint=True):
            left, right = world.at(Cup, start + 2 * k), world.at(Cup, start + 2 * k + 1)
            left.level, right.level = right.level + 1, left.level + 2
    world.at(Cup, 0).level += world.at(Cup, 1).level


@wl.system(threads=8)
def pass_down(world: Bar):
    for k in wl.share(CUPS - 1, disjoint=True):
        world.at(Cup, k).level = world.at(Cup, k + 1).level


@wl.system(threads=32)
def permute(hand: Hand, world: Bar):
    """Iterations store elements of their own, and accumulate into an array of the same name of other entities."""
    for k in wl.share(4, disjoint=True):
        hand.marks[(3 * k + 1) % 4] = k
        world.at(Cup, 0).marks[0] += 1
        hand.seen += 1


@wl.system(threads=32)
def collide(hand: Hand):
    for k in wl.share(4, disjoint=True):
        hand.marks[k // 2] = k


@wl.system(disjoint=True, threads=32)
def both_promises(hand: Hand, world: Bar):
    """Iterations are apart, but entities are not."""
    for k in wl.share(4, disjoint=True):
        world.at(Cup, hand.cup).marks[k] = hand.id


def test_iterations_that_are_apart() -> None:
    definition = wl.Definition("Loops-test", Bar, {Cup: CUPS, Hand: 4}, reset=(begin,), step=(pass_on, permute))
    assert compare(definition, ("python", "cpu"), num_worlds=3, steps=3) is None


def test_iterations_that_are_not_apart() -> None:
    error = refusal(pass_down)
    assert "iteration 1 writes 'level' of Cup 1, which iteration 0 reads at the same time" in error.problem
    assert error.fix.startswith("let each iteration use")
    assert "iteration 1 writes 'marks[0]' of Hand 0, which iteration 0 writes" in refusal(collide).problem


def test_promises_of_a_system_and_of_its_loop() -> None:
    assert "Hand 2 writes 'marks[0]' of Cup 0, which Hand 0 writes" in refusal(both_promises).problem
