"""The least and the greatest of many rows, put into others: the same interpreted, compiled, and by joined threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp
from extreme_worlds import Box, Card, cards
from warp._src.context import runtime

import worldloom as wl
from worldloom.core.codegen.program import generate
from worldloom.core.tools.compare import compare, first_difference
from worldloom.testing.cuda_text import Machine


def test_they_are_what_numpy_finds() -> None:
    assert compare(cards(40), num_worlds=3, steps=3) is None
    sim = wl.Simulation(cards(40), 3, "cpu", seed=0)
    sim.step()
    numbers, box = sim[Card].number.numpy().astype(np.int64), sim[Box]
    assert (box.least.numpy() == numbers.min(axis=1)[:, None] - [0, 1]).all() and (
        sim.world.least.numpy() == numbers.min(axis=1)
    ).all()
    assert (box.greatest.numpy() == numbers.max(axis=1)[:, None] * 10000 + [0, 1]).all()
    assert (
        box.greatest_odd.numpy() == (np.where(numbers % 2 == 1, numbers, -1000000).max(axis=1) + 1000000)[:, None]
    ).all()


def test_the_kernels_for_cuda_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worldloom.testing.cuda_text.memory.dawdle", lambda: None)
    cpu, machine_side = (wl.Simulation(cards(40), 2, "cpu", seed=2) for _ in range(2))
    machine = Machine(machine_side)
    for step in range(2):
        cpu.step()
        machine.step()
        assert first_difference(cpu, machine_side, step) is None


@pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")
def test_a_warp_asks_memory_once(tmp_path: Path) -> None:
    program = generate(wl.Simulation(cards(2000), 1, "python").schedule, fuse=True, cuda=True)
    wp.compile_aot_module(
        next(iter(program._build("extremes", cuda=True).values())).module, arch=80, module_dir=tmp_path, use_ptx=True
    )
    (ptx,) = tmp_path.glob("*.ptx")
    assert "match.all.sync" in ptx.read_text() and "shfl.sync.bfly" in ptx.read_text()
