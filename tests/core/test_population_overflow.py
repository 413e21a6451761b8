"""Populations: overflow is an error, a reset or a drop, and is reported."""

import numpy as np
import pytest
from hive import FOLLOW, HIVE, LEAVE, NOTHING, SPAWN, TOO_MANY, Bee, bees, hive, step, work

import worldloom as wl


@pytest.fixture(params=["python", "cpu"])
def sim(request: pytest.FixtureRequest) -> wl.Simulation:
    return wl.Simulation(HIVE, 3, request.param, seed=0)


def overflowing(sim: wl.Simulation) -> None:
    """World 1 spawns too many."""
    sim.world.task.assign(np.array([SPAWN, TOO_MANY, NOTHING], np.int32))
    sim.step()


def test_too_many_are_an_error_that_names_the_world(sim):
    with pytest.raises(
        wl.CapacityError, match="world 1, episode 0, step 0: 5 more Bee were spawned than there is room for"
    ) as caught:
        overflowing(sim)
    assert [(f.world, f.step) for f in caught.value.faults] == [(1, 0)]
    assert sim.truncated.numpy().tolist() == [False, True, False]
    assert [bees(sim, world=k) for k in range(3)] == [[1, 2, 5, 10, 11], [1, 2, 5], [1, 2, 5]]
    assert sim.errors() == []
    step(sim, NOTHING)
    assert sim.world.step.numpy().tolist() == [2, 1, 2] and sim[Bee].dropped.numpy().tolist() == [0, 5, 0]


def test_other_faults_are_kept_when_too_many_raise(sim):
    step(sim, LEAVE)
    sim.world.task.assign(np.array([FOLLOW, TOO_MANY, NOTHING], np.int32))
    with pytest.raises(wl.CapacityError, match="world 1"):
        sim.step()
    assert [f.world for f in sim.errors()] == [0]


def test_too_many_raise_even_where_no_more_faults_are_kept():
    sim = wl.Simulation(HIVE, 300, "cpu", seed=0)
    step(sim, LEAVE, FOLLOW)  # 300 unread faults, of which 256 are kept
    sim.world.task.assign(np.array([NOTHING, TOO_MANY, *[NOTHING] * 298], np.int32))
    with pytest.raises(
        wl.CapacityError, match="worlds spawned more than there is room for; the columns 'dropped' say where"
    ):
        sim.step()
    assert sim[Bee].dropped.numpy().tolist() == [0, 5, *[0] * 298]
    assert len(sim.errors()) == 256


def test_steps_that_are_enqueued_are_looked_at_later(sim):
    sim.world.task.fill(TOO_MANY)
    sim.enqueue_step()
    with pytest.raises(
        wl.CapacityError,
        match=r"world 0, .* \(and 2 more such faults\).*\. "
        r"Those worlds were reset; a program that catches this error can go on\.$",
    ):
        sim.check_capacity()
    sim.check_capacity()


def test_too_many_may_be_a_reset_of_the_world():
    sim = wl.Simulation(hive("reset"), 3, "python", seed=0)
    overflowing(sim)
    assert [(f.world, f.message[:10]) for f in sim.errors()] == [(1, "5 more Bee")]
    assert sim.truncated.numpy().tolist() == [False, True, False] and bees(sim, world=1) == [1, 2, 5]
    assert sim[Bee].dropped.numpy().tolist() == [0, 5, 0]


def test_too_many_may_be_dropped_and_counted():
    sim = wl.Simulation(hive("drop"), 3, "python", seed=0)
    overflowing(sim)
    assert sim.errors() == [] and not sim.truncated.numpy().any()
    assert bees(sim, world=1) == [1, 2, 5, 100, 101]
    overflowing(sim)
    assert bees(sim, world=1) == [1, 2, 5, 100, 101]
    assert sim[Bee].dropped.numpy().tolist() == [2, 12, 0]


def test_too_many_at_the_very_end_are_a_fault_of_that_step():
    sim = wl.Simulation(hive("reset", step=(work,), observe=()), 3, "python", seed=0)
    overflowing(sim)
    assert [(f.world, f.step) for f in sim.errors()] == [(1, 0)]
    assert sim.truncated.numpy().tolist() == [False, True, False]


def test_too_many_in_a_reset_are_an_error():
    with pytest.raises(wl.CapacityError, match="1 more Bee were spawned"):
        wl.Simulation(hive(room=2), 1, "python", seed=0)


def test_capacities_may_be_given_to_a_simulation():
    assert wl.Simulation(HIVE, 1, "python", seed=0, counts={"Bee": 9})[Bee].place.shape == (1, 9, 2)
    sim = wl.Simulation(HIVE, 1, "python", seed=0, counts={Bee: wl.UpTo(4, overflow="drop")})
    step(sim, SPAWN)
    assert bees(sim) == [1, 2, 5, 10] and sim[Bee].dropped.numpy().tolist() == [1]
    with pytest.raises(wl.DefinitionError, match="the number of 'Bee' has per_world=0"):
        wl.Simulation(HIVE, 1, "python", counts={Bee: 0})
