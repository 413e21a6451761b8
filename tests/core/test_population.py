"""Populations: visibility of spawns and despawns, references, events, overflow, exports and determinism."""

import numpy as np
import pytest
import torch
from population_model import Mood, orders
from population_worlds import VARIANTS

import worldloom as wl
from worldloom.core.state import snapshot
from worldloom.core.tools.compare import first_difference

NOTHING, SPAWN, LEAVE, FOLLOW, BUZZ, TOO_MANY, REPLACE, TWICE, CLEAR, TRADE, CAST_OUT = range(11)
ROOM = 5


class Striped(wl.Components):
    stripes: int = 3


class Bee(wl.Entity, Striped):
    number: int = 5
    place: wl.vec2 = (1.0, 2.0)
    awake: bool = True
    mate: wl.Ref["Bee"]
    cells: wl.Array(float, 2)
    small: wl.uint8 = 200
    hums: int


class Wasp(wl.Entity, Striped):
    """One at most, for worlds with room for one."""


class Buzz(wl.Event):
    who: wl.Ref[Bee]
    loud: float = 0.5


class Hive(wl.World):
    task: int
    chosen: wl.Ref[Bee]
    at_once: int  # how many bees there are in the system that changes it
    later: int  # and in the next
    at_once_alive: bool
    later_alive: bool
    got: int
    heard: int
    noise: wl.Info(int)


@wl.system
def settle_in(world: Hive):
    world.spawn(Bee, number=1, awake=False)
    world.chosen = world.spawn(Bee, number=2, place=wl.vec2(3.0, 4.0))
    world.spawn(Bee, mate=world.chosen)


@wl.system
def work(world: Hive):
    if world.task == SPAWN:
        world.chosen = world.spawn(Bee, number=10, mate=world.chosen)
        world.spawn(Bee, number=11)
        world.spawn(Wasp)
    elif world.task == LEAVE:
        for bee in world.all(Bee):
            if bee.number == 2:
                bee.despawn()
    elif world.task == FOLLOW:
        world.got = world.chosen.get().number
    elif world.task == BUZZ:
        world.spawn(Buzz, who=world.chosen)
        world.spawn(Buzz, loud=2.0)
    elif world.task == TOO_MANY:
        for k in range(7):
            world.spawn(Bee, number=100 + k)
    elif world.task == REPLACE:
        for bee in world.all(Bee):
            bee.despawn()
            world.spawn(Bee, number=bee.number + 20, mate=bee.ref)
    elif world.task == TWICE:
        for bee in world.all(Bee):
            if bee.id == 0:
                bee.despawn()
                bee.despawn()
    elif world.task == CLEAR:
        for bee in world.all(Bee):
            bee.despawn()
    elif world.task == TRADE and world.chosen.alive:
        world.chosen.get().despawn()
        world.chosen = world.spawn(Bee, number=30)
    elif world.task == CAST_OUT:
        world.chosen.get().despawn()
    world.at_once = world.count(Bee)
    world.at_once_alive = world.chosen.alive


@wl.system
def look_again(world: Hive):
    world.later = world.count(Bee)
    world.later_alive = world.chosen.alive


@wl.system
def hum(bee: Bee):
    bee.hums += 1
    bee.cells[1] += 0.5


@wl.system
def hear(buzz: Buzz, world: Hive):
    world.heard += 1
    if buzz.who.alive:
        buzz.who.get().hums += 10


@wl.system
def paint(thing: wl.Has(Striped)):
    thing.stripes += 1


@wl.system
def listen(world: Hive):
    world.noise = world.count(Buzz)


def hive(overflow: str = "error", room: int = ROOM, **options) -> wl.Definition:
    settings = {"reset": (settle_in,), "step": (work, look_again, hum, hear, paint), "observe": (listen,), **options}
    return wl.Definition(
        f"Hive-{overflow}",
        Hive,
        {Bee: wl.UpTo(room, overflow=overflow), Wasp: wl.UpTo(1, overflow="drop"), Buzz: wl.UpTo(4)},
        **settings,
    )


HIVE = hive()


@pytest.fixture(params=["python", "cpu"])
def sim(request: pytest.FixtureRequest) -> wl.Simulation:
    return wl.Simulation(HIVE, 3, request.param, seed=0)


def step(sim: wl.Simulation, *tasks: int) -> None:
    """One step for each task, the same in every world."""
    for task in tasks:
        sim.world.task.fill(task)
        sim.step()


def bees(sim: wl.Simulation, name: str = "number", world: int = 0) -> list:
    return sim[Bee][name].numpy()[world, : sim[Bee].counts.numpy()[world]].tolist()


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
    assert "an empty or stale reference to Bee was followed (system 'work', test_population.py:" in faults[0].message
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


# -- overflow --------------------------------------------------------------------------------------------------------


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
