"""Hanabi on a GPU: the same games as on the CPU, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions

IDS = (
    "Hanabi-v0",
    "Hanabi-v0:agents=current,dtype=float32",
    "Hanabi-v0:players=3,random_start_player=true",
    "Hanabi-v0:players=5,observation_type=minimal",
    "HanabiSmall-v0:players=4",
    "HanabiVerySmall-v0",
)


@pytest.mark.parametrize("id", IDS)
def test_a_gpu_plays_the_same_games(id: str, close) -> None:
    cpu, gpu = (wl.Simulation(id, 70, device, seed=2) for device in ("cpu", "cuda:0"))
    rng, ends = np.random.default_rng(0), 0
    for step in range(60):
        actions = random_actions(cpu, rng)
        cpu.step(actions)
        gpu.step(actions)
        close(cpu, gpu, f"step {step}", atol=0.0, rtol=0.0)
        ends += int(cpu.terminated.numpy().sum())
    assert ends >= 70 and cpu.errors() == [] and gpu.errors() == []
