"""Launches on the GPU: as systems that do the same, as on the CPU, in one graph, and inside the graphs of trainings."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from launch_worlds import CHURN, OF_LAUNCHES, OF_SYSTEMS, PAINT, Cell, Tank, churn, fill, grow_old, judge, pay

import worldloom as wl
from worldloom.core.model.launch import LaunchNode
from worldloom.core.tools.compare import first_difference
from worldloom.learn import DQN, PPO, DQNConfig, PolicyConfig, PPOConfig

MODES = ("same_step", "next_step", "disabled")


def actions(rng: np.random.Generator, worlds: int) -> np.ndarray:
    return rng.integers(0, 3, (worlds, 2)).astype(np.int32)


@pytest.mark.parametrize("mode", MODES)
def test_launches_do_what_systems_do_and_what_the_cpu_does(mode: str) -> None:
    sims = [
        wl.Simulation(made, 301, device, seed=3, autoreset=mode)
        for made, device in ((OF_SYSTEMS, "cuda:0"), (OF_LAUNCHES, "cuda:0"), (OF_LAUNCHES, "cpu"))
    ]
    rng = np.random.default_rng(0)
    for step in range(20):
        given = actions(rng, 301)
        for sim in sims:
            sim.step(given)
        if step % 8 == 7:
            mask = rng.integers(0, 2, 301).astype(bool)
            for sim in sims:
                sim.reset(mask)
        for other in sims[1:]:
            assert first_difference(sims[0], other, step) is None
    assert (sims[0].world.episode.numpy() > 0).any()


def test_a_step_is_one_graph() -> None:
    sim = wl.Simulation(OF_LAUNCHES, 64, "cuda:0", seed=0)
    assert not sim.has_host_calls and [len(part) for part in sim.executor.segments] == [1, 1]


def test_launched_one_by_one_and_in_a_graph_of_pytorch() -> None:
    whole, single, captured = (wl.Simulation(OF_LAUNCHES, 50, "cuda:0", seed=1) for _ in range(3))
    rng = np.random.default_rng(0)
    kept = captured.snapshot()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        captured.enqueue_step()  # everything is compiled before a graph is captured
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured.enqueue_step()
    captured.restore(kept)
    for step in range(15):
        given = actions(rng, 50)
        for sim in (single, captured):
            sim[Cell].push.assign(given)
        whole.step(given)
        single.enqueue_step()
        graph.replay()
        torch.cuda.synchronize()
        for other in (single, captured):
            assert first_difference(whole, other, step) is None


def test_a_new_configuration_is_recorded_anew() -> None:
    sims = [wl.Simulation(OF_LAUNCHES, 40, device, seed=1) for device in ("cpu", "cuda:0")]
    for sim in sims:
        sim.step(np.ones((40, 2), np.int32))
        sim.set_config("rate", np.arange(40, dtype=np.int32))
        sim.step(np.ones((40, 2), np.int32))
    assert first_difference(*sims, 2) is None


def test_profiled_and_tuned_with_the_state_put_back() -> None:
    sim = wl.Simulation(OF_LAUNCHES, 64, "cuda:0", seed=1)
    for _ in range(4):
        sim.step(np.ones((64, 2), np.int32))
    before = {c.name: c.numpy().copy() for t in sim.tables.values() for c in t}
    found = sim.profile(3)
    assert {"churn", "paint", "judge"} <= {k.name for k in found.kernels} and all(
        k.seconds > 0.0 for k in found.kernels
    )
    assert len([e for e in found.events if e.name == "churn"]) == 3
    sim.tune()
    for table in sim.tables.values():
        for column in table:
            np.testing.assert_array_equal(column.numpy(), before[column.name], err_msg=column.name)
    assert any(isinstance(entry, LaunchNode) for entry in sim.program.step)


@pytest.mark.parametrize("learn", ["ppo", "dqn"])
def test_trainings_capture_them(learn: str) -> None:
    common = {
        "num_envs": 32,
        "total_steps": 32 * 64,
        "device": "cuda:0",
        "seed": 0,
        "policy": PolicyConfig(hidden=(16,)),
    }
    if learn == "ppo":
        trainer = PPO(OF_LAUNCHES, PPOConfig(num_steps=16, **common))
    else:
        trainer = DQN(OF_LAUNCHES, DQNConfig(replay_capacity=1024, batch_size=32, learning_starts=256, **common))
    assert trainer._captured
    trainer.learn()
    (learner,) = trainer.learners.values()
    assert all(bool(torch.isfinite(p).all()) for p in learner.policy.parameters())


# -- long arrays -----------------------------------------------------------------------------------------------------


class Reel(wl.Entity):
    frames: wl.Observation(4, 84, 84, dtype=wl.uint8, low=0, high=255, channels="first")
    odd: wl.Array(wl.uint8, 1031) = 3
    words: wl.Array(wl.int16, 1030) = -2
    points: wl.Array(wl.vec3, 1025) = wl.vec3(1.0, 2.0, 3.0)
    film: wl.Persistent(wl.Array(wl.uint8, 600))
    screens: wl.Array(wl.uint8, 2, 250, 160)


class Cinema(wl.World):
    hall: wl.Info(wl.uint8, 2000)


@wl.system
def show(reel: Reel, world: Cinema):
    for i in range(84):
        reel.frames[3, i, 83] = wl.uint8(world.step + 1)
    for i in range(1031):
        reel.odd[i] = wl.uint8(world.step + 1)
    for i in range(160):
        reel.screens[1, 249, i] = wl.uint8(7)


@wl.system
def age(reel: Reel, world: Cinema):
    reel.words[1029] += wl.int16(1)
    reel.points[1024] += wl.vec3(1.0, 0.0, 0.0)
    reel.film[599] += wl.uint8(1)
    if (world.id + world.step) % 5 == 0:
        world.terminate()


@wl.system
def close_hall(world: Cinema):
    world.hall[1999] = wl.uint8(9)


CINEMA = wl.Definition("CudaCinema-test", Cinema, {Reel: 1}, step=(show, age, close_hall))


@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_long_arrays_as_on_the_cpu(mode: str) -> None:
    sims = [wl.Simulation(CINEMA, 130, device, seed=0, autoreset=mode) for device in ("cpu", "cuda:0")]
    for step in range(8):
        for sim in sims:
            sim.step()
        assert first_difference(*sims, step) is None
    mask = np.arange(130) % 2 == 0
    for sim in sims:
        sim.reset(mask)
    assert first_difference(*sims, 8) is None
    assert (sims[1][Reel].film.numpy()[..., 599] == sims[0][Reel].film.numpy()[..., 599]).all() and sims[1][
        Reel
    ].film.numpy().any()


def test_columns_of_more_than_2_to_the_31_numbers() -> None:
    """27,000 worlds with two screens each: 2.2 GB in one column, whose last rows are reached like the first."""
    if torch.cuda.mem_get_info()[0] < 12e9:
        pytest.skip("needs 12 GB of memory on the GPU")
    sim = wl.Simulation(CINEMA, 27_000, "cuda:0", seed=0)
    sim.step()
    over = np.arange(27_000) % 5 == 0
    last = sim[Reel].screens.torch()[:, 0, 1, 249, 159].cpu().numpy()
    np.testing.assert_array_equal(last, np.where(over, 0, 7))


def test_launches_among_systems() -> None:
    mixed = wl.Definition(
        "Tank-test",
        Tank,
        {Cell: 2},
        reset=(fill, churn),
        step=(CHURN, grow_old, pay, judge),
        observe=(PAINT,),
        max_steps=9,
    )
    sims = [wl.Simulation(made, 33, "cuda:0", seed=5) for made in (OF_SYSTEMS, mixed)]
    rng = np.random.default_rng(0)
    for step in range(12):
        given = actions(rng, 33)
        for sim in sims:
            sim.step(given)
        assert first_difference(*sims, step) is None
