"""What follows the end of an episode: a reset in the same step, in the next one, or none; per world and per agent."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl

pytestmark = pytest.mark.usefixtures("quick_compilation")

DEVICES = ["python", "cpu"]
STAY = np.zeros((3, 2), np.int32)


def flags(sim: wl.Simulation) -> tuple[list[bool], list[bool]]:
    return sim.terminated.numpy().tolist(), sim.truncated.numpy().tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_same_step_keeps_the_last_observation(race: wl.Definition, device: str) -> None:
    sim = wl.Simulation(race, 3, device, seed=1)
    first = sim["Runner"].number.numpy().copy()
    for step in range(1, 4):
        sim.step(STAY)
        assert flags(sim) == ([False] * 3, [False] * 3)
        assert (sim["Runner"].sight.numpy()[..., 0] == step).all()
    assert not sim["Runner"].final_sight.numpy().any(), "no episode is over yet"
    sim.step(STAY)
    assert flags(sim) == ([True] * 3, [False] * 3)
    final, sight = sim["Runner"].final_sight.numpy(), sim["Runner"].sight.numpy()
    assert (final[..., 0] == 4).all() and (final[..., 1] == first).all()
    assert (sight[..., 0] == 0).all() and (sight[..., 1] == sim["Runner"].number.numpy()).all()
    assert (sim["Runner"].number.numpy() != first).any()
    assert (sim["Runner"].reward.numpy() == 1.0).all(), "the reward of the last step stays"
    assert (sim.world.step.numpy() == 0).all() and (sim.world.episode.numpy() == 1).all()
    kept = final.copy()
    sim.step(STAY)
    assert flags(sim) == ([False] * 3, [False] * 3)
    assert (sim["Runner"].sight.numpy()[..., 0] == 1).all()
    np.testing.assert_array_equal(sim["Runner"].final_sight.numpy(), kept)


@pytest.mark.parametrize("device", DEVICES)
def test_next_step_ignores_the_action_and_gives_no_reward(race: wl.Definition, device: str) -> None:
    sim = wl.Simulation(
        race, 3, device, seed=1, autoreset="next_step", config={"goal": np.array([2, 3, 100], np.int32)}
    )
    first = sim["Runner"].number.numpy().copy()
    sim.step(STAY)
    sim.step(STAY)
    assert flags(sim) == ([True, False, False], [False] * 3)
    assert (sim["Runner"].sight.numpy()[0, :, 0] == 2).all(), "the last observation of the old episode"
    leave = np.array([[1, 1], [0, 0], [0, 0]], np.int32)
    sim.step(leave)
    assert flags(sim) == ([False, True, False], [False] * 3)
    assert sim["Runner"].reward.numpy().tolist() == [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]
    assert sim["Runner"].active.numpy().all() and not sim["Runner"].terminated.numpy()[0].any(), (
        "the action was ignored"
    )
    assert sim["Runner"].sight.numpy()[..., 0].tolist() == [[0, 0], [3, 3], [3, 3]]
    assert (sim["Runner"].number.numpy()[0] != first[0]).any() and (sim["Runner"].number.numpy()[1:] == first[1:]).all()
    assert sim.world.step.numpy().tolist() == [0, 3, 3] and sim.world.episode.numpy().tolist() == [1, 0, 0]
    sim.step(STAY)
    assert sim["Runner"].sight.numpy()[..., 0].tolist() == [[1, 1], [0, 0], [4, 4]]
    assert sim["Runner"].reward.numpy().tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    assert "final_sight" not in sim["Runner"].all_columns, "there is nothing to keep"


def test_next_step_does_not_look_at_ignored_actions(race: wl.Definition) -> None:
    sim = wl.Simulation(race, 2, "cpu", seed=1, autoreset="next_step", config={"goal": 1})
    sim.step(STAY[:2])
    sim.step(np.full((2, 2), 99, np.int32))
    assert sim.errors() == []


@pytest.mark.parametrize("device", DEVICES)
def test_disabled_goes_on_until_it_is_reset(race: wl.Definition, device: str) -> None:
    sim = wl.Simulation(race, 3, device, seed=1, autoreset="disabled")
    for _ in range(4):
        sim.step(STAY)
    assert flags(sim) == ([True] * 3, [False] * 3)
    assert (sim["Runner"].sight.numpy()[..., 0] == 4).all()
    sim.step(STAY)
    assert (sim.world.step.numpy() == 5).all() and (sim.world.episode.numpy() == 0).all()
    sim.reset(mask=np.array([False, True, False]))
    assert sim.world.step.numpy().tolist() == [5, 0, 5]
    assert flags(sim) == ([True, False, True], [False] * 3)


@pytest.mark.parametrize("device", DEVICES)
def test_agents_leave_one_by_one(race: wl.Definition, device: str) -> None:
    sim = wl.Simulation(race, 3, device, seed=1, config={"goal": 100})
    sim.step(np.array([[1, 0], [0, 2], [1, 2]], np.int32))
    runner = sim["Runner"]
    assert runner.terminated.numpy().tolist() == [[True, False], [False, False], [True, False]]
    assert runner.truncated.numpy().tolist() == [[False, False], [False, True], [False, True]]
    assert flags(sim) == ([False, False, True], [False] * 3), "a world is over when everyone has left"
    assert runner.active.numpy().tolist() == [[False, True], [True, False], [True, True]], "the third world was reset"
    assert runner.final_sight.numpy()[..., 0].tolist() == [[0, 0], [0, 0], [1, 1]]
    sim.step(np.array([[1, 0], [0, 0], [0, 0]], np.int32))
    assert not runner.terminated.numpy().any(), "the flag shows in one step only"
    assert runner.sight.numpy()[..., 0].tolist() == [[1, 2], [2, 1], [1, 1]]
    assert runner.reward.numpy().tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    sim.step(np.array([[0, 1], [1, 0], [0, 0]], np.int32))
    assert flags(sim) == ([True, True, False], [False] * 3)
    assert runner.active.numpy().all()


@pytest.mark.parametrize("device", DEVICES)
def test_the_end_of_the_world_ends_it_for_those_who_are_left(race: wl.Definition, device: str) -> None:
    sim = wl.Simulation(race, 2, device, seed=1, config={"goal": 2})
    sim.step(np.array([[1, 0], [0, 0]], np.int32))
    sim.step(STAY[:2])
    assert sim["Runner"].terminated.numpy().tolist() == [[False, True], [True, True]]
    assert not sim["Runner"].truncated.numpy().any()


@pytest.mark.parametrize("device", DEVICES)
def test_max_steps_truncates_and_changes_while_running(race: wl.Definition, device: str) -> None:
    sim = wl.Simulation(race, 3, device, seed=1, config={"goal": 100, "max_steps": 2})
    sim.step(STAY)
    assert flags(sim) == ([False] * 3, [False] * 3)
    sim.step(STAY)
    assert flags(sim) == ([False] * 3, [True] * 3)
    assert sim["Runner"].truncated.numpy().all() and not sim["Runner"].terminated.numpy().any()
    sim.set_config("max_steps", np.array([1, 3, 0], np.int32))
    ends = []
    for _ in range(3):
        sim.step(STAY)
        ends.append(sim.truncated.numpy().tolist())
    assert ends == [[True, False, False], [True, False, False], [True, True, False]]


@pytest.mark.parametrize("device", DEVICES)
def test_terminated_and_truncated_at_once(race: wl.Definition, device: str) -> None:
    sim = wl.Simulation(
        race,
        3,
        device,
        seed=1,
        config={"goal": np.array([1, 5, 1], np.int32), "max_steps": np.array([1, 1, 5], np.int32)},
    )
    sim.step(STAY)
    assert flags(sim) == ([True, False, True], [True, True, False])


def test_an_episode_does_not_depend_on_the_one_before(race: wl.Definition, columns) -> None:
    """A world that played an episode and a fresh one agree in everything once both have the same seed and episode."""
    played = wl.Simulation(race, 3, "cpu", seed=1)
    for _ in range(3):
        played.step(np.array([[1, 0], [0, 2], [0, 0]], np.int32))
    played.reset(seeds=8)
    fresh = wl.Simulation(race, 3, "cpu", seed=8)
    for name, values in columns(fresh).items():
        if not name.endswith(("final_sight", ".move")):
            np.testing.assert_array_equal(columns(played)[name], values, err_msg=name)


class Bee(wl.Entity):
    go: wl.Action(wl.Discrete(2))
    sight: wl.Observation(1, finite=True)


class Hive(wl.World):
    pass


@wl.system
def leave_late(bee: Bee, world: Hive):
    if bee.id == 1 and world.step == 900:
        bee.terminate()


@wl.system
def see_nothing_at_four(bee: Bee, world: Hive):
    bee.sight[0] = 1.0 / (float(world.step) - 4.0)


@pytest.mark.parametrize("device", ["python", "cpu"])
@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
def test_agents_are_told_when_a_fault_ends_their_world(device, autoreset):
    """Agents that could leave one by one have flags of their own, which must not miss the end."""
    hive = wl.Definition("Hive-test", Hive, {Bee: 2}, step=(leave_late,), observe=(see_nothing_at_four,), max_steps=50)
    simulation = wl.Simulation(hive, 2, device, seed=0, autoreset=autoreset)
    for step in range(1, 5):
        simulation.step()
        assert simulation.truncated.numpy().all() == (step == 4)
        assert simulation[Bee].truncated.numpy().all() == (step == 4)
