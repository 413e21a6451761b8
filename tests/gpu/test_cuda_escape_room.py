"""Escape Room on a GPU: in exact mode the bits of the CPU, in any batch."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.codegen import stages
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.tools.compare import Comparison
from worldloom.envs.escape_room.entities import RANDOM_ROOM


def test_every_step_has_the_bits_of_the_cpu() -> None:
    comparison = Comparison("EscapeRoom-v0", ["cpu", "cuda:0"], 64, seed=5, exact=True)
    for sim in comparison.simulations:
        sim.set_config("max_steps", 150)  # resets within the comparison
        sim.set_config("third_room", RANDOM_ROOM)
    try:
        assert comparison.run(200) is None
    finally:
        for sim in comparison.simulations:
            sim.close()


def test_worlds_do_not_depend_on_the_size_of_the_batch() -> None:
    one, many = (wl.Simulation("EscapeRoom-v0", count, "cuda:0", seed=4) for count in (5, 700))
    rng = np.random.default_rng(1)
    for _ in range(60):
        actions = random_actions(many, rng)
        many.step(actions)
        one.step({name: action[:5] for name, action in actions.items()})
    assert (one["Agent"].sight.numpy() == many["Agent"].sight.numpy()[:5]).all()
    assert one.errors() == many.errors() == []


def test_kernels_of_large_batches_have_the_bits_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "RESIDENT_THREADS", 64)
    comparison = Comparison("EscapeRoom-v0", ["cpu", "cuda:0"], 64, seed=6, exact=True)
    gpu = comparison.simulations[1]
    assert gpu.program is not None
    rows = [spec.rows for spec in gpu.program.step if isinstance(spec, KernelSpec) and "observe(Agent)" in spec.labels]
    assert rows == [8, 64]  # with the rules, and with the resets of few worlds
    for sim in comparison.simulations:
        sim.set_config("max_steps", 30)
    try:
        assert comparison.run(70) is None
    finally:
        for sim in comparison.simulations:
            sim.close()
