"""Continuous Tag on a GPU: as on the CPU step by step, with exact tags, and with thousands of agents."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions
from worldloom.envs.tag.continuous import continuous_tag

SHAPES = {
    "few, all seen": {"taggers": 1, "runners": 4},
    "few, nearest seen": {"taggers": 3, "runners": 6, "neighbours": 2},
    "many, all seen": {"taggers": 5, "runners": 30},
    "many, nearest seen": {"taggers": 70, "runners": 60, "neighbours": 10},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_gpu_plays_the_same_game(shape: str, close, synchronise) -> None:
    """Each step from the same state, in exact mode, so that no decision flips by rounding."""
    made = continuous_tag(
        "TagContinuousOnGpu-v0", tagging_distance=0.05, episode_length=15, edge_hit_penalty=-0.5, **SHAPES[shape]
    )
    cpu, gpu = (wl.Simulation(made, 40, device, seed=2, exact=True) for device in ("cpu", "cuda:0"))
    rng = np.random.default_rng(0)
    ends = 0
    for step in range(40):
        actions = random_actions(cpu, rng)
        cpu.step(actions)
        gpu.step(actions)
        close(cpu, gpu, f"step {step}", atol=0.0, rtol=0.0)
        ends += int(cpu.truncated.numpy().sum() + cpu.terminated.numpy().sum())
        synchronise(cpu, gpu)
    assert ends >= 80 and cpu.errors() == [] and gpu.errors() == []


def test_fast_mode_stays_close(close, synchronise) -> None:
    made = continuous_tag("TagContinuousOnGpu-v0", taggers=2, runners=40, neighbours=5, tagging_distance=0.0)
    cpu, gpu = (wl.Simulation(made, 40, device, seed=2) for device in ("cpu", "cuda:0"))
    rng = np.random.default_rng(0)
    for step in range(20):
        actions = random_actions(cpu, rng)
        cpu.step(actions)
        gpu.step(actions)
        for kind in ("Tagger", "Runner"):
            for name in ("position", "speed"):
                np.testing.assert_allclose(
                    gpu[kind][name].numpy(), cpu[kind][name].numpy(), atol=1e-4, err_msg=f"{kind}.{name}, step {step}"
                )
            same = np.isclose(gpu[kind].sight.numpy(), cpu[kind].sight.numpy(), atol=1e-4).all(axis=-1)
            assert same.mean() > 0.99, f"step {step}"  # neighbours at equal distances may change places
        synchronise(cpu, gpu)


def test_every_one_of_many_tags_in_one_step_is_paid() -> None:
    """A thousand runners around one tagger, in many worlds: no sum loses a term."""
    made = continuous_tag("TagContinuousOnGpu-v0", taggers=3, runners=1000, neighbours=1, tagging_distance=0.3)
    sim = wl.Simulation(made, 64, "cuda:0", seed=0, autoreset="disabled")
    position = np.random.default_rng(0).uniform(4.0, 6.0, (64, 1000, 2)).astype(np.float32)
    sim["Runner"].position.assign(position)
    sim["Tagger"].position.assign(
        np.broadcast_to(np.array([[5.0, 5.0], [0.0, 0.0], [10.0, 10.0]], np.float32), (64, 3, 2)).copy()
    )
    sim.step({"Tagger.steer": np.zeros((64, 3, 2), np.int32), "Runner.steer": np.zeros((64, 1000, 2), np.int32)})
    np.testing.assert_array_equal(sim["Tagger"].reward.numpy(), np.broadcast_to([1000.0, 0.0, 0.0], (64, 3)))
    np.testing.assert_array_equal(sim["Runner"].reward.numpy(), -1.0)
    np.testing.assert_array_equal(sim.world.runners_left.numpy(), 0)
    assert sim.terminated.numpy().all() and not sim.truncated.numpy().any()


@pytest.mark.parametrize(("taggers", "runners", "worlds"), [(20, 800, 2000), (2000, 8000, 4)])
def test_many_agents_fit_and_run(taggers: int, runners: int, worlds: int) -> None:
    made = continuous_tag(
        "TagContinuousOnGpu-v0",
        taggers=taggers,
        runners=runners,
        neighbours=10,
        grid_length=20.0,
        tagging_distance=0.002,
    )
    sim = wl.Simulation(made, worlds, "cuda:0", seed=0)
    rng = np.random.default_rng(0)
    steer = {
        f"{kind}.steer": rng.integers(0, 11, (worlds, n, 2)).astype(np.int32)
        for kind, n in (("Tagger", taggers), ("Runner", runners))
    }
    left = sim.world.runners_left.numpy()
    for _ in range(5):
        sim.step(steer)
        now = sim.world.runners_left.numpy()
        assert (now <= left).all()
        left = now
    assert sim.errors() == []
    np.testing.assert_array_equal(left, sim["Runner"].in_game.numpy().sum(axis=1))
    assert (left < runners).any()
    position, there = sim["Runner"].position.numpy()[0], np.isfinite(sim["Sign"].place.numpy()[0, taggers:, 0])
    one = int(np.flatnonzero(there)[0])
    gaps = np.hypot(*(position - position[one]).T)
    gaps[(np.arange(runners) == one) | ~there] = np.inf
    others = np.hypot(*(sim["Tagger"].position.numpy()[0] - position[one]).T)
    nearest = np.sort(np.concatenate([others, gaps]))[:10]
    seen = sim["Runner"].sight.numpy()[0, one]
    np.testing.assert_allclose(np.hypot(seen[:10], seen[10:20]) * np.sqrt(2.0) * 20.0, nearest, atol=1e-4)
