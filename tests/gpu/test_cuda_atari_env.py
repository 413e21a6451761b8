"""Atari worlds on the GPU: every column equals the CPU's through resets, lost lives and snapshots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.tools.compare import compare

pytest.importorskip("ale_py")

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("Pong-v5", {}),
    ("Breakout-v5", {"episodic_life": True, "repeat_action_probability": 0.25, "frame_skip": (2, 5)}),
    ("Breakout-v5", {"exact_start": True, "noop_max": 5, "max_episode_steps": 20}),
    ("Breakout-v5", {"like": "vector", "episodic_life": True, "gray_scale": False, "stack_num": 2}),
    ("ALE/Breakout-v5", {"max_num_frames_per_episode": 200}),
    ("Pong-v5+Breakout-v5+Adventure-v5+Pitfall2-v5", {"img_height": 100, "img_width": 60}),
    ("SpaceInvaders-v5", {"obs_type": "ram"}),
    ("Boxing-v5", {"players": 2}),
    ("Quadrapong-v5", {}),
    ("Pong-v5", {"television": "pal", "img_height": 0, "img_width": 0, "gray_scale": False}),
]


@pytest.mark.parametrize(("id_", "settings"), SETTINGS)
def test_every_column_is_the_cpus(id_: str, settings: dict[str, Any]) -> None:
    assert compare(wl.definition(id_, **settings), ("cpu", "cuda:0"), num_worlds=24, steps=100) is None


@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_tensors_stay_on_the_device(mode: str) -> None:
    torch = pytest.importorskip("torch")
    device, host = (
        wl.make("Breakout-v5", 16, device=where, env_type="torch", autoreset=mode, seed=0, episodic_life=True)
        for where in ("cuda:0", "cpu")
    )
    (seen, _), (expected, _) = device.reset(), host.reset()
    generator = np.random.default_rng(0)
    for _ in range(120):
        assert seen.is_cuda and torch.equal(seen.cpu(), expected)
        actions = torch.from_numpy(generator.integers(0, 4, 16, np.int32))
        (seen, rewards, ends, *_), (expected, got, over, *_) = device.step(actions.cuda()), host.step(actions)
        assert torch.equal(rewards.cpu(), got) and torch.equal(ends.cpu(), over)


def test_snapshots_move_between_devices() -> None:
    definition = wl.definition("Breakout-v5")
    device, host = (wl.Simulation(definition, 8, where, seed=3) for where in ("cuda:0", "cpu"))
    generator = np.random.default_rng(0)
    actions = [generator.integers(0, 4, (8, 1), np.int32) for _ in range(90)]
    for action in actions[:40]:
        device.step(action)
    host.restore(device.snapshot())
    for action in actions[40:]:
        device.step(action)
        host.step(action)
    for name in ("machine", "pictures", "screen", "lives"):
        assert np.array_equal(device["Console"][name].numpy(), host["Console"][name].numpy()), name


def test_a_picture_is_drawn_from_the_device() -> None:
    sims = [wl.Simulation("Pong-v5", 3, where, seed=0) for where in ("cuda:0", "cpu")]
    draw = sims[0].definition.render
    assert draw is not None
    assert np.array_equal(*(draw(sim, 2) for sim in sims))
