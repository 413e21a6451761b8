"""Snapshots, copies of worlds and recordings on a GPU: bit for bit, without a synchronization, and between devices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.state.replay_log import ReplayLog

GPU = "cuda:0"
Columns = Callable[[wl.Simulation], dict[str, np.ndarray]]


def assert_equal(have: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> None:
    for name, values in want.items():
        assert have[name].tobytes() == values.tobytes(), name


def test_a_hundred_thousand_worlds_go_on_bit_for_bit(columns: Columns) -> None:
    simulation = wl.Simulation("CartPole-v1", 100_000, GPU, seed=11)
    actions = torch.randint(0, 2, (7, 100_000, 1), dtype=torch.int32, device=GPU)

    def play_on(steps: int) -> None:
        for i in range(steps):
            simulation.step(actions[i % 7])

    play_on(40)
    taken = simulation.snapshot()
    assert all(tensor.is_cuda for tensor in taken.tensors.values())
    play_on(1000)
    wanted = columns(simulation)
    assert wanted["World.episode"].min() > 5
    simulation.restore(taken)
    play_on(1000)
    assert_equal(columns(simulation), wanted)


def test_copies_are_made_at_once_and_without_waiting(crowd: wl.Definition, columns: Columns) -> None:
    config = {"reach": np.linspace(0.5, 1.0, 501, dtype=np.float32)}
    simulation = wl.Simulation(crowd, 501, GPU, seed=4, config=config)
    numbers = np.random.default_rng(1)
    for _ in range(5):
        simulation.step(random_actions(simulation, numbers))
    simulation.copy_worlds(0, [1])  # the exports of the columns are made once
    for _ in range(5):
        targets = numbers.permutation(501)[:200]
        sources = numbers.integers(0, 501, 200)
        before = columns(simulation)
        out_of, into = (torch.from_numpy(ids).to(GPU) for ids in (sources, targets))
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            simulation.copy_worlds(out_of, into)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        for name, values in columns(simulation).items():
            wanted = before[name].copy()
            if len(wanted) == 501:
                wanted[targets] = before[name][sources]
            assert values.tobytes() == wanted.tobytes(), name
    simulation.copy_worlds(3, [0, 500])
    place = simulation["Walker"].place.numpy()
    np.testing.assert_array_equal(place[[0, 500]], place[[3, 3]])
    with pytest.raises(InputError, match="the targets are numbers of worlds"):
        simulation.copy_worlds(0, torch.ones(3, device=GPU))


def test_states_go_from_one_device_to_the_other(crowd: wl.Definition, columns: Columns, tmp_path: Path) -> None:
    numbers = np.random.default_rng(1)
    for here, there in ((GPU, "cpu"), ("cpu", GPU)):
        one, two = wl.Simulation(crowd, 33, here, seed=4, config={"wind": 0.3}), wl.Simulation(crowd, 33, there, seed=5)
        one.step(random_actions(one, numbers))
        one.snapshot().save(tmp_path / "state")
        two.restore(wl.Snapshot.load(tmp_path / "state"))
        assert_equal(columns(two), columns(one))
        one.step(random_actions(one, numbers))
        two.restore(one.snapshot(worlds=[7, 8]), worlds=[0, 32])
        place = two["Walker"].place.numpy()
        np.testing.assert_array_equal(place[[0, 32]], one["Walker"].place.numpy()[[7, 8]])
    on_gpu = wl.Snapshot.load(tmp_path / "state", GPU)
    assert all(tensor.is_cuda for tensor in on_gpu.tensors.values())


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
def test_episodes_are_played_again(columns: Columns, autoreset: str, tmp_path: Path) -> None:
    simulation = wl.Simulation("CartPole-v1", 300, GPU, seed=8, autoreset=autoreset)
    numbers, history = np.random.default_rng(2), []
    with simulation.record(every=16) as recorder:
        for step in range(70):
            if step % 9 == 8:
                simulation.reset(torch.rand(300, device=GPU) < 0.2)
            if step == 40:
                simulation.reset(numbers.random(300) < 0.2, numbers.integers(0, 99, 300))
            simulation.step(torch.randint(0, 2, (300, 1), dtype=torch.int32, device=GPU))
            history.append(columns(simulation))
    recorder.log.save(tmp_path / "log")
    log = ReplayLog.load(tmp_path / "log")
    before = np.cumsum([0, *map(len, log.chunks)])
    episodes = [e for world in range(0, 300, 29) for e in log.episodes(world)]
    for episode in episodes[::3]:
        for (chunk, step), alone in zip(episode.step_positions, log.replay(episode.world, episode, GPU), strict=True):
            batch = history[int(before[chunk]) + step]
            for name, values in columns(alone).items():
                if ".final_" not in name:
                    world = episode.world if len(batch[name]) > 1 else 0
                    assert values[0].tobytes() == batch[name][world].tobytes(), (
                        f"{name} of {episode} at {chunk}, {step}"
                    )


def test_a_recording_of_a_gpu_is_played_in_python() -> None:
    simulation = wl.Simulation("FrozenLake-v1", 50, GPU, seed=8)  # whole numbers, which no device rounds
    cells = []
    with simulation.record(every=10) as recorder:
        for _ in range(40):
            simulation.step(torch.randint(0, 4, (50, 1), dtype=torch.int32, device=GPU))
            cells.append(simulation["Walker"].cell.numpy()[:, 0].copy())
    log = recorder.log
    before = np.cumsum([0, *map(len, log.chunks)])
    for world in (0, 17, 49):
        for episode in log.episodes(world)[:3]:
            for (chunk, step), alone in zip(episode.step_positions, log.replay(world, episode, "python"), strict=True):
                assert alone["Walker"].cell.numpy()[0, 0] == cells[int(before[chunk]) + step][world]


def test_a_graph_is_not_captured_while_steps_are_recorded() -> None:
    simulation = wl.Simulation("CartPole-v1", 64, GPU, seed=8)
    with simulation.record() as recorder:
        simulation.enqueue_step()
        graph = torch.cuda.CUDAGraph()
        with (
            pytest.raises(InputError, match="a graph that is being captured cannot be recorded"),
            torch.cuda.graph(graph),
        ):
            simulation.enqueue_step()
    assert len(recorder.log) == 1
