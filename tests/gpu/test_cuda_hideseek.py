"""HideSeek on a GPU: the bits of the CPU in exact mode."""

from __future__ import annotations

import numpy as np

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.tools.compare import first_difference

WORLDS, STEPS = 64, 200


def test_every_step_is_that_of_the_cpu_bit_for_bit() -> None:
    """Two simulations with the same actions, never brought together; most worlds pass a reset."""
    with (
        wl.Simulation("HideSeek-v0", WORLDS, "cpu", seed=11, exact=True, config={"max_steps": 150}) as cpu,
        wl.Simulation("HideSeek-v0", WORLDS, "cuda:0", seed=11, exact=True, config={"max_steps": 150}) as gpu,
    ):
        assert first_difference(cpu, gpu, 0) is None
        rng = np.random.default_rng(5)
        for step in range(1, STEPS + 1):
            actions = random_actions(cpu, rng)
            cpu.step(actions)
            gpu.step(actions)
            if step % 10 == 0:
                assert first_difference(cpu, gpu, step) is None
        assert cpu.errors() == gpu.errors() == []
