"""Recordings: any episode of any world of a batch, played again alone, is the same bit for bit."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from thorough import covering

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.state import replay
from worldloom.core.state.replay_log import Episode, ReplayLog

pytestmark = pytest.mark.usefixtures("quick_compilation")

Columns = Callable[[wl.Simulation], dict[str, np.ndarray]]
History = list[dict[str, np.ndarray]]


class Climber(wl.Entity):
    step_up: wl.Action(wl.Discrete(3))
    height: int
    level: wl.Persistent(int)  # grows with every episode
    sight: wl.Observation(2)
    reward: wl.Reward


class Cliff(wl.World):
    top: wl.Config = 6


@wl.system
def climb(climber: Climber, world: Cliff):
    climber.height += climber.step_up
    climber.reward = float(climber.height)
    if climber.height >= world.top + climber.level:
        world.terminate()


@wl.system
def start(climber: Climber, world: Cliff):
    climber.height = world.integer(0, 2 + climber.level)
    climber.level += 1


@wl.system
def look(climber: Climber):
    climber.sight = wl.vec2(float(climber.height), climber.reward)


CLIFF = wl.Definition("Cliff-test", Cliff, {Climber: 1}, reset=(start,), step=(climb,), observe=(look,), max_steps=9)


def play(simulation: wl.Simulation, columns: Columns, steps: int, seed: int) -> tuple[ReplayLog, History]:
    """Random actions with random resets by mask and with seeds; the log, and every column after every step."""
    numbers = np.random.default_rng(seed)
    history: History = []
    with simulation.record(every=7) as recorder:
        for _ in range(steps):
            if numbers.random() < 0.15:
                mask = numbers.random(simulation.num_worlds) < 0.4
                simulation.reset(
                    mask, numbers.integers(0, 2**40, simulation.num_worlds) if numbers.random() < 0.5 else None
                )
            simulation.step(random_actions(simulation, numbers))
            history.append(columns(simulation))
    return recorder.log, history


def assert_same(log: ReplayLog, episode: Episode, history: History, columns: Columns, device: str) -> None:
    """The episode played again shows, after each step, what the batch showed of the world."""
    before = np.cumsum([0, *map(len, log.chunks)])
    with log.replay(episode.world, episode, device) as again:
        assert len(again) == len(episode)
        for (chunk, step), alone in zip(episode.step_positions, again, strict=True):
            batch = history[int(before[chunk]) + step]
            ended = (chunk, step) == episode.step_positions[-1] and (episode.terminated or episode.truncated)
            for name, values in columns(alone).items():
                if ".final_" in name and not ended:
                    continue  # of an episode that is not played
                world = episode.world if len(batch[name]) > 1 else 0
                assert values[0].tobytes() == batch[name][world].tobytes(), (
                    f"{name} of {episode} at {chunk}, {step} on {device}"
                )


@pytest.mark.parametrize(
    ("name", "autoreset"), covering(["crowd", "race", "cliff"], ["same_step", "next_step", "disabled"])
)
def test_random_episodes_of_a_random_batch(
    request: pytest.FixtureRequest, columns: Columns, name: str, autoreset: str
) -> None:
    made = CLIFF if name == "cliff" else replace(request.getfixturevalue(name), max_steps=6)
    simulation = wl.Simulation(made, 6, seed=8, autoreset=autoreset, world_offset=3)
    log, history = play(simulation, columns, 40, seed=2)
    assert len(log) == 40
    episodes = [e for world in range(6) for e in log.episodes(world)]
    assert len(episodes) >= 12
    if autoreset == "same_step":
        assert sum(map(len, episodes)) == 240  # every step is part of an episode
    order = np.random.default_rng(0).permutation(len(episodes))
    for place in order[:8]:
        assert_same(log, episodes[place], history, columns, "cpu")
    for place in order[:2]:
        assert_same(log, episodes[place], history, columns, "python")


def test_to_an_episode_by_its_seed_or_by_the_steps_before_it(
    crowd: wl.Definition, columns: Columns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing outlives a reset, the episode begins at once; else it is reached from the snapshot before it."""
    assert replay._reset_is_complete(wl.Simulation(crowd, 1, "python", seed=0))
    assert not replay._reset_is_complete(wl.Simulation(CLIFF, 1, "python", seed=0))
    assert not replay._reset_is_complete(
        wl.Simulation(replace(crowd, step=(*crowd.step, lambda simulation: None)), 1, "python", seed=0)
    )
    log, history = play(wl.Simulation(crowd, 3, seed=8, config={"max_steps": 4}), columns, 30, seed=2)
    inside = [e for e in log.episodes(1) if e.step_positions[0][1] > 0]
    assert inside
    steps = []
    for jump in (True, False):
        monkeypatch.setattr(replay, "_reset_is_complete", lambda simulation, jump=jump: jump)
        taken = []
        monkeypatch.setattr(replay.Replay, "_take_step", _counted(replay.Replay._take_step, taken))
        for episode in inside:
            assert_same(log, episode, history, columns, "cpu")
        steps.append(len(taken))
    assert steps[0] == sum(map(len, inside)) < steps[1]


def _counted(function: Callable[..., None], calls: list[int]) -> Callable[..., None]:
    original = getattr(function, "original", function)

    def counted(*arguments: object) -> None:
        calls.append(1)
        original(*arguments)

    counted.original = original  # type: ignore[attr-defined]
    return counted


def test_what_others_do_to_the_worlds_is_kept(crowd: wl.Definition, columns: Columns) -> None:
    simulation = wl.Simulation(crowd, 4, seed=8)
    numbers, history = np.random.default_rng(0), []
    saved = simulation.snapshot()

    def disturb(step: int) -> None:
        if step == 5:
            simulation.set_config("wind", 0.7)
        elif step == 9:
            simulation.copy_worlds(0, [2, 3])
        elif step == 12:
            simulation.restore(saved)
        elif step == 15:
            simulation["Walker"].energy = 9.0
        elif step == 18:
            simulation.restore(saved[1], worlds=[2])

    recorder = simulation.record(every=100)
    for step in range(24):
        disturb(step)
        simulation.step(random_actions(simulation, numbers))
        history.append(columns(simulation))
    log = recorder.stop()
    assert [len(chunk) for chunk in log.chunks] == [5, 4, 3, 3, 3, 6]
    for world in range(4):
        for episode in log.episodes(world):
            assert_same(log, episode, history, columns, "cpu")


def test_what_was_written_behind_the_recorder_is_noticed(crowd: wl.Definition) -> None:
    simulation = wl.Simulation(crowd, 3, seed=8)
    still = np.zeros((3, 5), np.int32)
    with simulation.record() as recorder:
        simulation.step(still)
        simulation["Walker"].energy.numpy()[1, 2] += 0.5
        simulation.step(still)
    log = recorder.log
    assert len(list(log.replay(0, 0))) == 2
    message = "the replay of world 1, episode 0 leaves the log at its step 1: the world's columns were written to"
    with pytest.raises(InputError, match=message):
        log.replay(1, 0).run()
    assert len(list(log.replay(1, 0, verify=False))) == 2
    with simulation.record(verify=False) as recorder:
        simulation.step(still)
    assert recorder.log.chunks[0].digests is None
    recorder.log.replay(1, 0).run()


def test_a_step_that_failed_is_left_out(race: wl.Definition, columns: Columns) -> None:
    def stumble(simulation: wl.Simulation) -> None:
        if simulation.num_worlds == 2 and len(history) == 2 and not failed:
            failed.append(True)
            raise RuntimeError("stumbled")

    failed: list[bool] = []
    history: History = []
    simulation = wl.Simulation(
        replace(race, step=(*race.step[:1], stumble, *race.step[1:])), 2, seed=8, config={"goal": 9}
    )
    with simulation.record() as recorder:
        for _ in range(5):
            try:
                simulation.step(np.zeros((2, 2), np.int32))
            except RuntimeError:
                continue
            history.append(columns(simulation))
    assert [len(chunk) for chunk in recorder.log.chunks] == [2, 2]
    for episode in recorder.log.episodes(1):
        assert_same(recorder.log, episode, history, columns, "python")


def test_an_episode_whose_end_differs_is_noticed_on_every_device(race: wl.Definition) -> None:
    simulation = wl.Simulation(race, 2, seed=8)
    with simulation.record(verify=False) as recorder:
        simulation.step(np.zeros((2, 2), np.int32))
        simulation.world.step.numpy()[0] = 3  # the race is over after four steps
        simulation.step(np.zeros((2, 2), np.int32))
    with pytest.raises(InputError, match="world 0, episode 0 leaves the log at its step 1"):
        recorder.log.replay(0, 0, "cpu").run()


def test_files(crowd: wl.Definition, columns: Columns, tmp_path: Path) -> None:
    log, history = play(
        wl.Simulation(crowd, 4, seed=8, counts={"Lamp": 2}, config={"max_steps": 5}), columns, 25, seed=3
    )
    path = tmp_path / "crowd.safetensors"
    log.save(path)
    again = ReplayLog.load(path, crowd)
    assert repr(again) == repr(log) == "<replay log: 25 steps of 4 Crowd-test on cpu>"
    for episode in again.episodes(2):
        assert_same(again, episode, history, columns, "python")
    with pytest.raises(InputError, match="there is no world 'Crowd-test'"):
        ReplayLog.load(path)
    with pytest.raises(InputError, match="was recorded in another 'Crowd-test'"):
        ReplayLog.load(path, replace(crowd, max_steps=3))
    with pytest.raises(InputError, match="was recorded in another 'Crowd-test' than 'CartPole-v1'"):
        ReplayLog.load(path, "CartPole-v1")
    with pytest.raises(InputError, match="holds a replay log, not a snapshot"):
        wl.Snapshot.load(path)
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 40).astype(int):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="cannot be used as a replay log"):
            ReplayLog.load(path, crowd)


def test_some_worlds_and_the_last_steps(crowd: wl.Definition, columns: Columns) -> None:
    simulation = wl.Simulation(crowd, 6, seed=8, autoreset="disabled")
    numbers, history = np.random.default_rng(0), []
    recorder = simulation.record(every=4, last=8, worlds=[5, 1])
    for _ in range(30):
        simulation.step(random_actions(simulation, numbers))
        history.append(columns(simulation))
    log = recorder.stop()
    assert [len(chunk) for chunk in log.chunks] == [4, 4, 2]
    (episode,) = log.episodes(5)
    assert (episode.number, episode.first_step, len(episode)) == (0, 20, 10)
    assert_same(log, episode, history[20:], columns, "cpu")
    with pytest.raises(InputError, match="world 0 is not in this log of 2 worlds"):
        log.replay(0, 0)
    with pytest.raises(
        InputError, match="episode 4 of world 1 is not in this log: of that world it has those from 0 to 0"
    ):
        log.replay(1, 4)


def test_a_recorder_changes_nothing_and_leaves_nothing(race: wl.Definition, columns: Columns) -> None:
    simulations = [wl.Simulation(race, 3, seed=8) for _ in range(2)]
    with simulations[0].record() as recorder:
        with pytest.raises(InputError, match="being recorded already"):
            simulations[0].record()
        for simulation in simulations:
            simulation.enqueue_step()
            simulation.step(torch.ones((3, 2), dtype=torch.int32))
            simulation.reset(np.array([True, False, False]))
    for simulation in simulations:
        simulation.step(np.zeros((3, 2), np.int32))
    for name, values in columns(simulations[0]).items():
        np.testing.assert_array_equal(values, columns(simulations[1])[name], err_msg=name)
    assert len(recorder.log) == len(recorder.stop()) == 2
    used = weakref.ref(simulations[0].tables["Runner"].age)
    with simulations[0].record() as recorder:
        simulations[0].close()
    assert len(recorder.log) == 0
    assert recorder.log.episodes(0) == []
    gc.collect()
    assert used() is None  # the recorder holds nothing of a closed simulation
    for wrong, message in (
        ({"every": 0}, "every is a whole number"),
        ({"last": 0}, "last is a whole number"),
        ({"worlds": []}, "no world is to be recorded"),
    ):
        with pytest.raises(InputError, match=message):
            simulations[1].record(**wrong)
    assert simulations[1].recorder is None
