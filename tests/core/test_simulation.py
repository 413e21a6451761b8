"""Simulations: stepping with actions from anywhere, resets of some worlds, faults, and many simulations at once."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from thorough import covering

import worldloom as wl
from worldloom.core.model.fields import Role

DEVICES = ["python", "cpu"]


class Arm(wl.Entity):
    grip: wl.Action(wl.Discrete(3))
    joints: wl.Action(wl.MultiDiscrete(2, 5))
    force: wl.Action(wl.Box(-1.0, 1.0, shape=(3,)))
    held: int
    sum: float
    reward: wl.Reward


class Bench(wl.World):
    signal: wl.Action(wl.Discrete(4))
    heard: int


@wl.system
def move(arm: Arm):
    arm.held += arm.grip + 10 * arm.joints[0] + 100 * arm.joints[1]
    arm.sum = arm.force.x + arm.force.y + arm.force.z


@wl.system
def hear(world: Bench):
    world.heard = world.signal


BENCH = wl.Definition("Bench-test", Bench, {Arm: 2}, step=(move, hear))


# -- actions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["int32", "int64", "uint8", "torch", "list"])
def test_actions_from_anywhere(race: wl.Definition, device: str, kind: str) -> None:
    sim = wl.Simulation(race, 3, device, seed=1)
    values = [[1, 0], [0, 2], [0, 0]]
    sim.step({"torch": torch.tensor, "list": list}.get(kind, lambda v: np.array(v, kind))(values))
    assert sim["Runner"].move.numpy().tolist() == values
    assert sim["Runner"].active.numpy().tolist() == [[False, True], [True, False], [True, True]]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "actions",
    [
        np.array([0, 1, 1, 0], np.int32),
        np.array([[0], [1], [1], [0]], np.int64),
        torch.tensor([0, 1, 1, 0]),
        [0, 1, 1, 0],
    ],
    ids=str,
)
def test_one_agent_needs_no_axis_of_entities(device: str, actions) -> None:
    sim = wl.Simulation("CartPole-v1", 4, device, seed=1)
    sim.step(actions)
    assert sim["Cart"].push.numpy().tolist() == [[0], [1], [1], [0]]
    assert np.sign(sim["Cart"].velocity.numpy()[:, 0]).tolist() == [-1, 1, 1, -1]


def test_without_actions_those_in_the_columns_are_taken(race: wl.Definition) -> None:
    sim = wl.Simulation(race, 3, "cpu", seed=1)
    sim["Runner"].move.torch()[2, 1] = 1
    sim.step()
    assert sim["Runner"].active.numpy().tolist() == [[True, True], [True, True], [True, False]]


@pytest.mark.parametrize("device", DEVICES)
def test_several_actions_by_name(device: str) -> None:
    sim = wl.Simulation(BENCH, 2, device, seed=0)
    assert list(sim.definition.actions()) == ["World.signal", "Arm.grip", "Arm.joints", "Arm.force"]
    sim.step(
        {
            "Arm.grip": np.array([[0, 1], [2, 0]]),
            "Arm.joints": torch.tensor([[[1, 4], [0, 0]], [[0, 3], [1, 1]]]),
            "Arm.force": np.full((2, 2, 3), 0.25, np.float32),
            "World.signal": [3, 1],
        }
    )
    assert sim["Arm"].held.numpy().tolist() == [[410, 1], [302, 110]]
    assert (sim["Arm"].sum.numpy() == 0.75).all() and sim.world.heard.numpy().tolist() == [3, 1]
    sim.step({"World.signal": [2, 2]})
    assert sim["Arm"].held.numpy().tolist() == [[820, 2], [604, 220]], "what is left out keeps its value"


# -- resets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", [np.array, torch.tensor, list], ids=["numpy", "torch", "list"])
def test_a_masked_reset_leaves_the_others_alone(race: wl.Definition, columns, device: str, kind) -> None:
    sim = wl.Simulation(race, 5, device, seed=1)
    sim.step(np.array([[0, 0], [1, 0], [0, 0], [0, 2], [0, 0]], np.int32))
    before = columns(sim)
    picked = [False, True, False, True, False]
    sim.reset(mask=kind(picked))
    after = columns(sim)
    for name, values in after.items():
        if values.shape[0] == 5:
            np.testing.assert_array_equal(values[~np.array(picked)], before[name][~np.array(picked)], err_msg=name)
    assert after["World.episode"].tolist() == [0, 1, 0, 1, 0] and after["World.step"].tolist() == [1, 0, 1, 0, 1]
    assert after["Runner.active"].all() and not after["Runner.terminated"].any() and not after["Runner.truncated"].any()
    assert (after["Runner.number"][picked] != before["Runner.number"][picked]).all()
    assert (after["Runner.sight"][picked][..., 0] == 0).all() and (
        after["Runner.sight"][picked][..., 1] == after["Runner.number"][picked]
    ).all()
    assert after["Runner.reward"].tolist() == [[1, 1], [0, 0], [1, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize("device", DEVICES)
def test_the_same_seed_gives_the_same_episodes(race: wl.Definition, device: str) -> None:
    sim = wl.Simulation(race, 4, device, seed=3, config={"goal": 2})

    def episodes() -> list:
        seen = []
        for _ in range(6):
            seen.append(sim["Runner"].number.numpy().tolist())
            sim.step(np.zeros((4, 2), np.int32))
        return seen

    first = episodes()
    assert len({str(s) for s in first}) == 3, "a new episode every other step"
    sim.reset(seeds=3)
    assert episodes() == first
    sim.reset()
    assert episodes() != first, "without a seed the next episodes follow"
    sim.reset(seeds=np.array([3, 3, 99, 3]))
    mixed = episodes()
    assert [[row for k, row in enumerate(s) if k != 2] for s in mixed] == [
        [row for k, row in enumerate(s) if k != 2] for s in first
    ]
    assert mixed[0][2] != first[0][2]


@pytest.mark.parametrize("device", DEVICES)
def test_seeds_of_some_worlds(race: wl.Definition, device: str) -> None:
    sim = wl.Simulation(race, 3, device, seed=3)
    sim.step(np.zeros((3, 2), np.int32))
    start = sim["Runner"].number.numpy().copy()
    sim.reset(mask=np.array([True, False, False]), seeds=torch.tensor([3, 7, 7]))
    assert sim.world.seed.numpy().tolist() == [3, 3, 3] and sim.world.episode.numpy().tolist() == [0, 0, 0]
    np.testing.assert_array_equal(sim["Runner"].number.numpy(), start)
    assert sim.world.step.numpy().tolist() == [0, 1, 1]
    sim.reset(mask=np.array([False, True, False]), seeds=2**40 + 5)
    assert (sim["Runner"].number.numpy()[1] != start[1]).any() and (
        sim["Runner"].number.numpy()[[0, 2]] == start[[0, 2]]
    ).all()


# -- looking in ------------------------------------------------------------------------------------------------------


def test_tables_by_class_and_by_name() -> None:
    sim = wl.Simulation(BENCH, 2, "python", seed=0)
    assert sim[Arm] is sim["Arm"] and sim[Bench] is sim.world and sim["Arm"].held is sim[Arm]["held"]
    assert list(sim.columns(Role.ACTION)) == ["World.signal", "Arm.grip", "Arm.joints", "Arm.force"]
    assert list(sim.columns(Role.REWARD)) == ["Arm.reward"]


def test_memory_per_world_is_the_sum_of_its_columns() -> None:
    sizes = {sim.bytes_per_world for sim in (wl.Simulation("CartPole-v1", n, "cpu", seed=0) for n in (1, 10, 1000))}
    assert len(sizes) == 1
    sim = wl.Simulation("CartPole-v1", 10, "cpu", seed=0)
    columns = [c for table in sim.tables.values() for c in table.all_columns.values()]
    assert sizes.pop() == sum(c.numpy().nbytes for c in columns if not c.field.batch_wide) / 10


def test_other_numbers_of_entities(race: wl.Definition) -> None:
    runner = next(iter(race.entities))
    for counts in ({"Runner": 4}, {runner: 4}):
        sim = wl.Simulation(race, 3, "python", seed=1, counts=counts)
        assert sim["Runner"].sight.shape == (3, 4, 2)
        sim.step(np.zeros((3, 4), np.int32))
    assert race.entities[runner] == 2, "the definition stays as it was"


# -- many simulations ------------------------------------------------------------------------------------------------


def test_simulations_do_not_disturb_each_other(race: wl.Definition, columns) -> None:
    """Several worlds, seeds and configurations in turn, and each as if it were alone."""
    stay = np.zeros((4, 2), np.int32)
    alone = wl.Simulation(race, 4, "cpu", seed=1, config={"pace": 2.0})
    for _ in range(10):
        alone.step(stay)
    wanted = columns(alone)
    one = wl.Simulation(race, 4, "cpu", seed=1, config={"pace": 2.0})
    two = wl.Simulation(race, 4, "cpu", seed=2, config={"pace": np.arange(4.0)})
    pole = wl.Simulation("CartPole-v1", 3, "cpu", seed=1)
    for _ in range(10):
        two.step(stay + 1)
        one.step(stay)
        pole.step(np.ones(3, np.int32))
    two.close()
    for name, values in columns(one).items():
        np.testing.assert_array_equal(values, wanted[name], err_msg=name)


def test_simulations_in_threads_of_their_own(race: wl.Definition, columns) -> None:
    stay = np.zeros((64, 2), np.int32)
    sims = [wl.Simulation(race, 64, "cpu", seed=5, threads=2) for _ in range(3)]

    def work(sim: wl.Simulation) -> None:
        for _ in range(50):
            sim.step(stay)

    threads = [threading.Thread(target=work, args=(sim,)) for sim in sims[1:]]
    for thread in threads:
        thread.start()
    work(sims[0])
    for thread in threads:
        thread.join()
    for sim in sims[1:]:
        for name, values in columns(sim).items():
            np.testing.assert_array_equal(values, columns(sims[0])[name], err_msg=name)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory of this process from /proc")
@pytest.mark.parametrize(("number", "closed"), [(20, True), (12, False)], ids=["closed", "dropped"])
def test_simulations_leave_nothing_behind(race: wl.Definition, number: int, closed: bool) -> None:
    """Each holds 4 MB or more."""
    worlds = 50_000

    def live(times: int) -> None:
        for seed in range(times):
            sim = wl.Simulation(race, worlds, "cpu", seed=seed, threads=2)
            assert sim.bytes_per_world * worlds > 4_000_000
            sim.set_config("pace", np.ones(worlds, np.float32))
            sim.step(np.zeros((worlds, 2), np.int32))
            if closed:
                sim.close()
            del sim
            if seed % 10 == 9:
                gc.collect()

    live(10)
    gc.collect()
    memory, threads, objects = resident_bytes(), threading.active_count(), len(gc.get_objects())
    live(number)
    gc.collect()
    assert threading.active_count() == threads
    assert resident_bytes() - memory < 20_000_000
    assert len(gc.get_objects()) - objects < 2_000


@pytest.mark.parametrize("threads", [1, 2])
def test_closing_frees_without_the_garbage_collector(race: wl.Definition, threads: int) -> None:
    import weakref

    sim = wl.Simulation(race, 10, "cpu", seed=0, threads=threads)
    sim.step(np.zeros((10, 2), np.int32))
    kept = sim["Runner"].sight.numpy()
    gone, executor, column = weakref.ref(sim), weakref.ref(sim.executor), weakref.ref(sim["Runner"].move.array)
    gc.disable()
    try:
        sim.close()
        assert executor() is None and column() is None
        del sim
        assert gone() is None
    finally:
        gc.enable()
    assert kept[0, 0, 0] == 1.0, "an export keeps its memory"


def test_a_with_block_closes(race: wl.Definition) -> None:
    with wl.Simulation(race, 2, "cpu", seed=0) as sim:
        sim.step()
    with pytest.raises(wl.InputError, match="closed"):
        sim.step()


class Leaver(wl.Entity):
    age: int
    sight: wl.Observation(2, finite=True)


class Hall(wl.World):
    noise: wl.Config = 0.0


@wl.system
def leave(leaver: Leaver):
    leaver.age += 1
    if leaver.age == 2:
        leaver.truncate()


@wl.system
def peek(leaver: Leaver, world: Hall):
    leaver.sight = wl.vec2(float(leaver.age), 1.0 / (1.0 - world.noise) - 1.0)


HALL = wl.Definition("Hall-test", Hall, {Leaver: 2}, step=(leave,), observe=(peek,))


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_a_world_left_by_truncation_is_truncated(device: str) -> None:
    sim = wl.Simulation(HALL, 2, device, seed=0)
    sim.step()
    sim.step()
    assert sim.truncated.numpy().tolist() == [True, True] and sim.terminated.numpy().tolist() == [False, False]


@pytest.mark.parametrize(("autoreset", "device"), covering(["same_step", "next_step", "disabled"], ["cpu", "python"]))
def test_an_observation_that_is_not_finite_ends_its_episode_in_the_same_step(device: str, autoreset: str) -> None:
    sim = wl.Simulation(HALL, 3, device, seed=0, autoreset=autoreset)
    sim.set_config("noise", np.array([0.0, 1.0, 0.0], np.float32))
    sim.step()
    assert sim.truncated.numpy().tolist() == [False, True, False]
    assert {f.world for f in sim.errors()} == {1}


def test_seeds_below_zero_are_refused() -> None:
    with pytest.raises(wl.InputError, match="seeds are 0 or more"):
        wl.Simulation("CartPole-v1", 2, seed=-1)


def test_simulations_can_be_made_in_threads() -> None:
    """Warp records what any thread launches, so that laying out and recording take turns."""
    failures: list[Exception] = []

    def work(seed: int) -> None:
        try:
            for _ in range(5):
                with wl.Simulation("CartPole-v1", 64, "cpu", seed=seed) as sim:
                    sim.set_config("force", np.full(64, 9.0, np.float32))
                    for _ in range(5):
                        sim.step(np.ones((64, 1), np.int32))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_large_whole_numbers_do_not_wrap_into_actions() -> None:
    sim = wl.Simulation("CartPole-v1", 2, "cpu", seed=0)
    sim.step(np.array([[2**32 + 1], [1]]))
    assert [f.world for f in sim.errors()] == [0]


class Pond(wl.World):
    depth: wl.Config = 2.0


@wl.system
def freeze(world: Pond):
    world.truncate()


def test_configurations_have_limits_where_the_world_says_so() -> None:
    made = wl.Definition(
        "Pond-test", Pond, {}, step=(freeze,), limits={"depth": (1.0, 9.0), "max_steps": (0, 5)}
    ).checked
    sim = wl.Simulation(made, 2, "python")
    for name, value, words in (
        ("depth", 0.5, "configuration 'depth' of world 'Pond-test' must be between 1 and 9, not 0.5"),
        ("depth", np.array([3.0, np.nan]), "not nan"),
        ("max_steps", 6, "must be between 0 and 5, not 6"),
    ):
        with pytest.raises(wl.InputError, match=words):
            sim.set_config(name, value)
    sim.set_config("depth", np.array([1.0, 9.0]))
    with pytest.raises(wl.DefinitionError, match="there are limits for 'width', which is no configuration of Pond"):
        wl.Definition("Pond-test", Pond, {}, step=(freeze,), limits={"width": (0.0, 1.0)}).checked
