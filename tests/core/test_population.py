"""Populations: visibility of spawns and despawns, references, events, exports and determinism."""

import numpy as np
import pytest
import torch
from hive import (
    BUZZ,
    CAST_OUT,
    CLEAR,
    FOLLOW,
    HIVE,
    LEAVE,
    NOTHING,
    REPLACE,
    ROOM,
    SPAWN,
    TRADE,
    TWICE,
    Bee,
    Buzz,
    Wasp,
    bees,
    hive,
    step,
)
from population_run import Mood, orders
from population_worlds import VARIANTS

import worldloom as wl
from worldloom.core.state import snapshot
from worldloom.core.tools.compare import first_difference

pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.fixture(params=["python", "cpu"])
def sim(request: pytest.FixtureRequest) -> wl.Simulation:
    return wl.Simulation(HIVE, 3, request.param, seed=0)


# -- who is seen when ------------------------------------------------------------------------------------------------


def test_reset_spawns_in_order_with_what_was_given_and_defaults(sim):
    assert bees(sim) == [1, 2, 5]
    assert bees(sim, "place") == [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]
    assert bees(sim, "awake") == [False, True, True]
    assert bees(sim, "small") == [200, 200, 200]
    assert bees(sim, "cells") == [[0.0, 0.0]] * 3
    assert sim[Wasp].counts.numpy().tolist() == [0, 0, 0]


def test_new_ones_are_seen_from_the_next_system_on(sim):
    step(sim, SPAWN)
    assert (sim.world.at_once.numpy() == 3).all() and (sim.world.later.numpy() == 5).all()
    assert not sim.world.at_once_alive.numpy().any() and sim.world.later_alive.numpy().all()
    assert bees(sim) == [1, 2, 5, 10, 11]
    assert bees(sim, "hums") == [1, 1, 1, 1, 1]


def test_those_who_leave_are_seen_until_the_system_is_over(sim):
    step(sim, LEAVE)
    assert (sim.world.at_once.numpy() == 3).all() and (sim.world.later.numpy() == 2).all()
    assert sim.world.at_once_alive.numpy().all() and not sim.world.later_alive.numpy().any()
    assert bees(sim) == [1, 5]


def test_who_leaves_makes_room_for_the_new_ones_of_the_same_system(sim):
    step(sim, SPAWN, REPLACE)
    assert bees(sim) == [21, 22, 25, 30, 31]
    assert sim.errors() == []
    assert bees(sim, "hums") == [1] * 5


def test_all_components_move_with_an_entity(sim):
    step(sim, NOTHING)
    sim[Bee].cells.assign(np.arange(3 * ROOM * 2, dtype=np.float32).reshape(3, ROOM, 2))
    sim[Bee].place.assign(np.arange(3 * ROOM * 2, dtype=np.float32).reshape(3, ROOM, 2))
    step(sim, TWICE)
    assert bees(sim, "cells", 1) == [[12.0, 13.5], [14.0, 15.5]]
    assert bees(sim, "place", 1) == [[12.0, 13.0], [14.0, 15.0]]


def test_leaving_twice_is_leaving_once(sim):
    step(sim, TWICE)
    assert bees(sim) == [2, 5]


def test_a_query_over_groups_finds_populations(sim):
    step(sim, SPAWN)
    assert bees(sim, "stripes") == [4] * 5
    assert sim[Wasp].rows("stripes").tolist() == [4, 4, 4]


def test_room_for_one(sim):
    step(sim, SPAWN, LEAVE, LEAVE)
    sim[Bee].counts.fill(0)
    step(sim, SPAWN)
    assert sim[Wasp].counts.numpy().tolist() == [1, 1, 1]
    assert sim[Wasp].dropped.numpy().tolist() == [1, 1, 1]


def test_nobody_at_all(sim):
    step(sim, CLEAR, NOTHING, CLEAR, NOTHING)
    assert sim[Bee].counts.numpy().tolist() == [0, 0, 0]
    assert sim[Bee].rows("number").shape == (0,)
    step(sim, SPAWN)
    assert bees(sim) == [10, 11]


# -- references ------------------------------------------------------------------------------------------------------


def test_a_reference_follows_its_entity_to_another_place(sim):
    step(sim, TWICE, FOLLOW)
    assert (sim.world.got.numpy() == 2).all() and sim.errors() == []


def test_a_stale_reference_is_known_to_be_stale(sim):
    step(sim, LEAVE, SPAWN)  # another entity takes the place
    assert bees(sim, "mate")[-1] == -1
    held = bees(sim, "mate")[-2]  # of the new one: the reference to the one that left
    assert held not in bees(sim, "wl_serial")


def test_following_a_stale_reference_is_a_fault(sim):
    step(sim, LEAVE)
    sim.world.task.assign(np.array([NOTHING, FOLLOW, NOTHING], np.int32))
    sim.step()
    faults = sim.errors()
    assert [(f.world, f.episode, f.step) for f in faults] == [(1, 0, 1)]
    assert "an empty or stale reference to Bee was followed (system 'work', hive.py:" in faults[0].message
    assert bees(sim, world=1) == [1, 2, 5] and bees(sim, world=0) == [1, 5]


def test_a_stale_reference_into_nothing_harms_nobody(sim):
    """In an empty world it refers to an empty row. The next entity in that row is not marked as despawned."""
    step(sim, CLEAR, CAST_OUT)
    assert [f.step for f in sim.errors()] == [1, 1, 1]
    step(sim, LEAVE)
    assert bees(sim) == [1, 5]


def test_serial_numbers_grow(sim):
    step(sim, SPAWN, REPLACE, TRADE)
    serials = bees(sim, "wl_serial")
    assert serials == sorted(set(serials))
    assert bees(sim) == [21, 22, 25, 30, 31]


# -- events ----------------------------------------------------------------------------------------------------------


def test_events_last_until_the_next_step(sim):
    step(sim, BUZZ)
    assert (sim.world.heard.numpy() == 2).all()
    assert (sim.world.noise.numpy() == 2).all()
    assert sim[Buzz].padded("loud", -1.0).tolist() == [[0.5, 2.0, -1.0, -1.0]] * 3
    assert bees(sim, "hums") == [1, 11, 1]
    step(sim, NOTHING)
    assert sim[Buzz].counts.numpy().tolist() == [0, 0, 0]
    assert (sim.world.noise.numpy() == 0).all() and (sim.world.heard.numpy() == 2).all()


def test_events_go_with_a_reset(sim):
    step(sim, BUZZ)
    sim.reset(np.array([True, False, False]))
    assert sim[Buzz].counts.numpy().tolist() == [0, 2, 2]
    assert sim.world.noise.numpy().tolist() == [0, 2, 2]


# -- exports ---------------------------------------------------------------------------------------------------------


def test_exports(sim):
    sim.world.task.assign(np.array([SPAWN, LEAVE, CLEAR], np.int32))
    sim.step()
    table = sim[Bee]
    assert table.counts.numpy().tolist() == [5, 2, 0]
    assert table.offsets.tolist() == [0, 5, 7]
    assert table.mask.tolist() == [[True] * 5, [True, True, False, False, False], [False] * 5]
    assert table.rows("number").tolist() == [1, 2, 5, 10, 11, 1, 5]
    assert table.rows("place").shape == (7, 2) and table.rows("cells").shape == (7, 2)
    assert table.rows("awake").tolist() == [False, True, True, True, True, False, True]
    assert table.padded("number", -1).tolist() == [[1, 2, 5, 10, 11], [1, 5, -1, -1, -1], [-1] * 5]
    assert table.padded("place").shape == (3, ROOM, 2) and table.padded("awake").dtype == torch.bool
    assert not table.padded("cells")[1:, 2:].any()
    assert table.place.shape == (3, ROOM, 2)
    assert repr(table).startswith("<table Bee: up to 5 per world, columns stripes, number")


# -- what changes nothing --------------------------------------------------------------------------------------------


def run_motes(worlds: int, **options) -> list[bytes]:
    """What the first ten worlds hold after each of 40 steps; every ten worlds are given the same orders."""
    rules = VARIANTS[0]
    rng, mood = (
        np.random.default_rng(1),
        Mood(0, leave=0.1, breed=0.3, shed=0.3, spark=0.2, turn=0.2, wardens=0.3, world=0.3, resets=0.0),
    )
    out = []
    with wl.Simulation(rules.definition, worlds, "cpu", seed=2, **options) as sim:
        for _ in range(40):
            for table, values in orders(mood, rng, 10, rules).items():
                sim[table].order.assign(np.tile(values, (worlds // 10, *[1] * (values.ndim - 1))))
            sim.step()
            watched = [sim["World"].checksum.numpy()[:10], *[sim[kind].counts.numpy()[:10] for kind in rules.limits]]
            watched += [
                sim[kind].padded(name).numpy()[:10]
                for kind, name in (("Mote", "weight"), ("Mote", "wl_serial"), ("Husk", "origin"))
            ]
            out.append(b"".join(values.tobytes() for values in watched))
    return out


def test_batches_and_threads_change_nothing():
    runs = [run_motes(10, threads=1), run_motes(10, threads=2), run_motes(1_000, threads=2)]
    assert runs[0] == runs[1] == runs[2]
    assert len(set(runs[0])) == 40


def test_fusion_changes_nothing():
    rng = np.random.default_rng(0)
    fused, single = (wl.Simulation(hive("reset"), 8, "cpu", seed=0, fuse=fuse) for fuse in (True, False))
    assert len(single.program.step) > len(fused.program.step)
    for number in range(60):
        tasks = rng.integers(0, 11, 8, dtype=np.int32)
        for each in (fused, single):
            each.world.task.assign(tasks)
            each.step()
        assert first_difference(fused, single, number) is None
    assert [str(f) for f in fused.errors()] == [str(f) for f in single.errors()] != []


def test_what_was_taken_can_be_put_back(sim):
    step(sim, SPAWN)
    kept = snapshot.copy_columns(sim)
    step(sim, REPLACE, TRADE, LEAVE)
    after = [bees(sim), bees(sim, "wl_serial"), bees(sim, "mate")]
    snapshot.restore(sim, kept)
    assert bees(sim) == [1, 2, 5, 10, 11]
    step(sim, REPLACE, TRADE, LEAVE)
    assert [bees(sim), bees(sim, "wl_serial"), bees(sim, "mate")] == after


def test_what_lies_in_empty_places_is_not_compared():
    one, two = (wl.Simulation(HIVE, 3, "python", seed=0) for _ in range(2))
    two[Bee].number.numpy()[1, 3:] = 77
    two[Bee].cells.numpy()[2, 4] = 7.0
    assert first_difference(one, two, 0) is None
    two[Bee].place.numpy()[2, 1, 1] = 9.0
    found = first_difference(one, two, 4)
    assert (found.column, found.world, found.place) == ("Bee.place", 2, (1, 1))
    two[Bee].counts.numpy()[0] = 4
    found = first_difference(one, two, 4)
    assert (found.column, found.world, found.elsewhere) == ("World.Bee__count", 0, ("Bee.place",))


def test_what_only_populations_have_is_told() -> None:
    with (
        wl.Simulation("CartPole-v1", 2) as sim,
        pytest.raises(
            AttributeError, match=r"the number of 'Cart' is fixed: 'counts' is for kinds registered with wl\.UpTo"
        ),
    ):
        print(sim["Cart"].counts)
