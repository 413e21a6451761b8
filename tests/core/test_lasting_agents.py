"""Agents that stay for whole episodes: their observations and infos share the memory of those of their agent rows."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lasting_agents import (
    COURSES,
    EXPORTED,
    PARTY,
    SEATS,
    Guest,
    Party,
    eat,
    end,
    greet,
    invite,
    look,
    orders,
    party,
    set_guests,
)
from thorough import covering

import worldloom as wl
from worldloom.core.codegen.resets.world_lists import NO_LISTS
from worldloom.core.codegen.shared_programs import shared_program
from worldloom.core.runtime import memory
from worldloom.core.schedule.lasting_agents import lasting_agents
from worldloom.core.state.replay_log import ReplayLog
from worldloom.core.tools.compare import compare, first_difference
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")

AUTORESETS = ("same_step", "next_step", "disabled")


def labels(simulation: wl.Simulation) -> set[str]:
    return {entry.label for entry in (*simulation.schedule.step, *simulation.schedule.reset)}


def agree_for(steps: int, *simulations: wl.Simulation) -> None:
    """Step all with the same actions and changing numbers of guests; all columns must agree with the first."""
    for step in range(steps):
        set_guests(step // 2, *simulations)
        for simulation in simulations:
            simulation.step(orders(step, simulation.num_worlds))
        for other in simulations[1:]:
            assert first_difference(simulations[0], other, step) is None
        require_zeros_in_free_rows(simulations[-1])


def require_zeros_in_free_rows(simulation: wl.Simulation) -> None:
    rows = simulation[Guest].agent_rows
    active = rows.active.numpy()
    assert active.tolist() == simulation[Guest].mask.tolist()
    for name in EXPORTED:
        assert not rows[name].numpy()[~active].any()


# -- what is shared --------------------------------------------------------------------------------------------------


def test_compiled_devices_do_not_copy() -> None:
    assert "publish_Guest" in labels(party("python")) and "publish_Guest" not in labels(party("cpu"))


def test_both_tables_have_one_memory() -> None:
    simulation = party()
    table = simulation[Guest]
    for name in EXPORTED:
        assert np.shares_memory(table[name].numpy(), table.agent_rows[name].numpy())
        assert table[name].torch().data_ptr() == table.agent_rows[name].torch().data_ptr()
        assert table[name].owns_memory != table.agent_rows[name].owns_memory
    assert not np.shares_memory(table.order.numpy(), table.agent_rows.order.numpy())
    table.plate = 3.0
    assert (table.agent_rows.plate.numpy() == 3.0).all()
    assert table.rows("plate").shape == (6, COURSES, 2) and table.padded("served").shape == (3, SEATS)
    assert table.padded("plate").sum() == 3.0 * 6 * COURSES * 2


def test_memory_is_counted_once() -> None:
    simulation = party(num_worlds=8)
    columns = [c for t in simulation.tables.values() for c in t.columns.values() if not c.field.batch_wide]
    needed = memory.bytes_needed(simulation.schedule, 8)
    assert needed == sum(c.nbytes for c in columns if c.owns_memory) == 8 * simulation.bytes_per_world
    copied = memory.bytes_needed(party("python", 8).schedule, 8)
    assert copied - needed == sum(simulation[Guest][name].nbytes for name in EXPORTED)


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_explanations_name_no_copies(device: str) -> None:
    explained = party(device).explain()
    assert not any("publish" in name for kernel in explained.kernels for name in kernel.systems)
    kernel = next(k for k in explained.kernels if k.phase == "step" and "look(Guest)" in k.systems)
    assert "Guest__agents.mood" in kernel.stores and "Guest.mood" not in (*kernel.stores, *kernel.sometimes)


# -- the same results ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("autoreset", "fuse"), covering(AUTORESETS, (True, False)))
def test_python_and_cpu_agree_while_the_number_of_agents_changes(autoreset: str, fuse: bool) -> None:
    simulations = [party(device, 5, autoreset=autoreset, fuse=fuse) for device in ("python", "cpu")]
    for turn in range(4):
        agree_for(6, *simulations)
        for simulation in simulations:
            simulation.reset(np.array([turn % 2 == 0, False, True, False, True]))
        assert first_difference(*simulations, turn) is None
        require_zeros_in_free_rows(simulations[1])


def test_random_actions_agree() -> None:
    assert compare(PARTY, ("python", "cpu"), num_worlds=5, steps=40) is None


def test_episodes_begin_with_defaults() -> None:
    simulation = party(num_worlds=1, config={"guests": 2})
    simulation.step(np.full((1, SEATS), 1, np.int32))
    assert simulation[Guest].mood.numpy()[0, :2].any() and simulation[Guest].served.numpy()[0, 0] == 2
    simulation.step(np.zeros((1, SEATS), np.int32))
    assert simulation.terminated.numpy()[0]
    rows = simulation[Guest].agent_rows
    assert rows.final_served.numpy()[0].tolist() == [3, 3, 0, 0] and rows.final_mood.numpy()[0, :2].all()
    assert rows.final_active.numpy()[0].tolist() == [True, True, False, False]
    assert not rows.served.numpy().any() and not rows.mood.numpy().any()
    written = rows.plate.numpy()[0] != 0.0
    assert written[0].tolist() == [[False, False], [True, False], [False, True]]
    assert written[1].tolist() == [[False, False], [False, False], [True, True]] and not written[2:].any()


@pytest.mark.parametrize("list_width", [NO_LISTS, 0])
def test_the_code_for_cuda_agrees(list_width: int) -> None:
    cpu, machine_side = party(), party()
    machine = Machine(machine_side, uneven=16, list_width=list_width)
    assert "publish_Guest" not in machine.program.text
    for step in range(10):
        set_guests(step, cpu, machine_side)
        for simulation in (cpu, machine_side):
            simulation[Guest].agent_rows.order.assign(orders(step))
        cpu.step()
        machine.step()
        assert first_difference(cpu, machine_side, step) is None


def test_long_arrays_and_vectors_are_kept_and_cleared() -> None:
    class Watcher(wl.Entity):
        wait: wl.Action(wl.Discrete(2))
        picture: wl.Observation(40, 30)
        place: wl.Observation(2)
        reward: wl.Reward

    @wl.system
    def enter(world: Party):
        for _ in range(world.guests):
            world.spawn(Watcher)

    @wl.system
    def watch(watcher: Watcher, world: Party):
        watcher.picture[wl.clamp(world.clock, 0, 39), 29] = float(watcher.id + 1)
        if world.clock == 2:
            watcher.place = wl.vec2(1.0, float(watcher.id))

    made = wl.Definition(
        "Watchers-test", Party, {Watcher: wl.UpTo(3, agents=True)}, (enter,), (end,), (watch,), max_steps=4
    )
    assert lasting_agents(made) == {"Watcher"}
    simulations = [wl.Simulation(made, 3, device, seed=0) for device in ("python", "cpu")]
    for step in range(9):
        for simulation in simulations:
            simulation.set_config("guests", step % 4)
            simulation.step()
        assert first_difference(*simulations, step) is None
    rows = simulations[1]["Watcher__agents"]
    assert rows.final_picture.numpy().any() and rows.final_place.numpy().any()


# -- states ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), [("python", "cpu"), ("cpu", "python"), ("cpu", "cpu")])
def test_snapshots_continue_on_either_device(source: str, target: str, tmp_path: Path) -> None:
    first, second = party(source), party(target)
    agree_for(4, first)
    first.snapshot().save(tmp_path / "state")
    saved = wl.Snapshot.load(tmp_path / "state")
    assert {"Guest.plate", "Guest__agents.plate"} <= saved.tensors.keys()
    second.restore(saved)
    assert first_difference(first, second, 0) is None
    agree_for(8, first, second)


@pytest.mark.parametrize("worlds", [None, [2, 0, 1]])
def test_free_rows_stay_zero_where_a_saved_state_has_copies(worlds: list[int] | None) -> None:
    """The rows after the last entity are undefined in the entities' table of a state that the interpreter saved."""
    first, second = party("python", config={"guests": 1}), party("cpu", config={"guests": 1})
    agree_for(2, first)
    saved = first.snapshot() if worlds is None else first.snapshot(worlds)
    saved.tensors["Guest.plate"][:, SEATS - 1] = 7.0
    second.restore(saved, worlds)
    require_zeros_in_free_rows(second)
    agree_for(6, first, second)


def test_copies_of_worlds_that_change_places() -> None:
    simulations = [party(device) for device in ("python", "cpu")]
    agree_for(3, *simulations)
    for simulation in simulations:
        simulation.copy_worlds([1, 2, 0], [0, 1, 2])
    assert first_difference(*simulations, 0) is None
    agree_for(5, *simulations)


def test_copies_of_simulations_have_memory_of_their_own() -> None:
    simulation = party()
    agree_for(3, simulation)
    simulation.step(orders(0))
    copied = copy.deepcopy(simulation)
    agree_for(4, simulation, copied)
    assert not np.shares_memory(copied[Guest].plate.numpy(), simulation[Guest].plate.numpy())


def test_replays_have_the_same_digests(tmp_path: Path) -> None:
    simulation = party(num_worlds=2)
    recorder = simulation.record()
    agree_for(10, simulation)
    recorder.stop().save(tmp_path / "log")
    log = ReplayLog.load(tmp_path / "log", PARTY)
    for world in range(2):
        for device in ("python", "cpu"):
            with log.replay(world, 1, device) as replay:  # the digests of its steps are verified
                assert replay.run().num_worlds == 1


# -- where copies stay -----------------------------------------------------------------------------------------------


class Clown(wl.Entity):
    joke: int
    tell: wl.Action(wl.Discrete(2))
    mood: wl.Observation(2)
    heard: wl.Info(int)
    reward: wl.Reward


class Tired(Clown):
    kept: wl.Persistent(wl.Info(int))


class Grumpy(Clown):
    anger: wl.Info(int) = 1


@wl.system
def leave(guest: Guest):
    if guest.eaten > 3:
        guest.despawn()


@wl.system
def leave_all(world: Party):
    for guest in world.all(Guest):
        guest.despawn()


@wl.system
def follow(world: Party):
    if world.count(Guest) < SEATS:
        world.spawn(Guest, number=1)


@wl.system
def invite_served(world: Party):
    world.spawn(Guest, number=1, served=3)


@wl.system
def envy(guest: Guest, world: Party):
    for other in world.all(Guest):
        guest.eaten = max(guest.eaten, other.served)


@wl.system
def serve_all(guest: Guest, world: Party):
    for other in world.all(Guest):
        other.served += 1


@wl.system
def clear_first(world: Party):
    world.at(Guest, 0).mood = 0.0


@wl.system
def meet(one: Guest, other: Guest):
    one.served += 1


@wl.system(where=("served", 2))
def rest(guest: Guest):
    guest.eaten = 0


class Nothing(wl.Launch):
    def launch(self, prepared: object, shard: wl.Shard) -> None:
        pass


def note(simulation: wl.Simulation) -> None:
    pass


COPIED: dict[str, Callable[[], wl.Definition]] = {
    "despawn in step": lambda: replace(PARTY, step=(eat, end, leave)),
    "despawn of others": lambda: replace(PARTY, step=(eat, end, leave_all)),
    "despawn in reset": lambda: replace(PARTY, reset=(invite, leave, greet)),
    "spawn in step": lambda: replace(PARTY, step=(eat, follow, end)),
    "spawn with an info": lambda: replace(PARTY, reset=(invite_served,)),
    "read of others": lambda: replace(PARTY, step=(envy, end)),
    "addition to others": lambda: replace(PARTY, step=(serve_all, end)),
    "store over the world": lambda: replace(PARTY, step=(clear_first, end)),
    "pair": lambda: replace(PARTY, step=(meet, end)),
    "condition": lambda: replace(PARTY, step=(rest, end)),
    "launch": lambda: replace(PARTY, step=(eat, Nothing(), end)),
    "callable": lambda: replace(PARTY, observe=(look, note)),
    "another option": lambda: replace(
        PARTY, step=(wl.Alternatives("way", {"alone": [eat], "together": [eat, envy]}), end)
    ),
    "persistent": lambda: replace(PARTY, entities={Tired: wl.UpTo(2, agents=True)}, reset=(), step=(end,), observe=()),
    "default": lambda: replace(PARTY, entities={Grumpy: wl.UpTo(2, agents=True)}, reset=(), step=(end,), observe=()),
}


@pytest.mark.parametrize("name", COPIED)
def test_other_worlds_have_copies(name: str) -> None:
    made = COPIED[name]()
    assert lasting_agents(made) == frozenset()
    simulations = [wl.Simulation(made, 2, device, seed=0) for device in ("python", "cpu")]
    assert any(label.startswith("publish_") for label in labels(simulations[1]))
    if name != "callable":
        for step in range(6):
            for simulation in simulations:
                simulation.step()
            assert first_difference(*simulations, step) is None


@pytest.mark.parametrize("name", ["Guest.number", "Guest.plate", "Guest__agents.plate", "Guest__agents.order"])
def test_columns_in_memory_of_the_caller_have_copies(name: str) -> None:
    assert lasting_agents(PARTY, [name]) == frozenset() and lasting_agents(PARTY, ["World.clock"]) == {"Guest"}
    if name == "Guest__agents.plate":
        mine = np.zeros((3, SEATS, COURSES, 2), np.float32)
        simulations = [party("python"), party(external={name: mine})]
        agree_for(6, *simulations)
        assert np.array_equal(mine, simulations[0][Guest].agent_rows.plate.numpy())


def test_one_of_two_populations_has_copies() -> None:
    @wl.system
    def retire(clown: Clown):
        if clown.tell == 1:
            clown.despawn()

    kinds = {Guest: wl.UpTo(2, agents=True), Clown: wl.UpTo(2, agents=True)}
    made = wl.Definition("Ring-test", Party, kinds, reset=(invite,), step=(retire, end))
    assert lasting_agents(made) == {"Guest"}
    simulations = [wl.Simulation(made, 2, device, seed=0) for device in ("python", "cpu")]
    for step in range(5):
        for simulation in simulations:
            simulation.step({Guest: np.zeros((2, 2), np.int32), Clown: np.ones((2, 2), np.int32)})
        assert first_difference(*simulations, step) is None


def test_other_options_keep_the_memory() -> None:
    made = replace(PARTY, step=(wl.Alternatives("way", {"one": [eat], "two": [eat, eat]}), end))
    simulations = [wl.Simulation(made, 2, device, seed=0) for device in ("python", "cpu")]
    for turn, option in enumerate(("one", "two", "one")):
        for simulation in simulations:
            simulation.use_options({"way": option})
        for step in range(4):
            for simulation in simulations:
                simulation.step(orders(step, 2))
            assert first_difference(*simulations, 4 * turn + step) is None
    assert "publish_Guest" not in labels(simulations[1])


def test_programs_of_both_schedules_are_told_apart() -> None:
    shared, copied = party(), party(external={"Guest.plate": np.zeros((3, SEATS, COURSES, 2), np.float32)})
    programs = [shared_program(PARTY, s.schedule, "same_step", True, True, False, False, 3) for s in (shared, copied)]
    assert programs[0] is shared.program and programs[1] is copied.program and programs[0] is not programs[1]
