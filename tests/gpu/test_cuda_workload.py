"""Tiles of worlds with similar workloads on a GPU, with the kernels of a large batch."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.kernels.world_order_kernels import (
    ORDERING_THREADS,
    count_worlds,
    num_blocks,
    order_size,
    place_worlds,
)
from worldloom.core.schedule.row_lists import WorldOrderNode
from worldloom.core.tools.compare import first_difference

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))

from test_workload import change_work, count_lifts, expected_order, lift, pull, rope


@pytest.mark.parametrize("worlds", [1, 31, 1000, 32_769, 200_000])
def test_worlds_are_ordered(worlds: int) -> None:
    work = np.random.default_rng(worlds).integers(-3, 40, worlds).astype(np.int32)
    order = wp.zeros(order_size(worlds), dtype=wp.int32, device="cuda:0")
    inputs = [worlds, wp.array(work, device="cuda:0")]
    launch = {"device": "cuda:0", "block_dim": ORDERING_THREADS}
    for kernel in (count_worlds, place_worlds):
        wp.launch(kernel, dim=num_blocks(worlds) * ORDERING_THREADS, inputs=inputs, outputs=[order], **launch)
    np.testing.assert_array_equal(order.numpy()[:worlds], expected_order(work))


@pytest.mark.parametrize("more", [(), (change_work, count_lifts, lift, pull)])
@pytest.mark.parametrize("worlds", [1, 70, 3000])
def test_results_do_not_depend_on_the_tiles(worlds: int, more: tuple[System, ...]) -> None:
    definition = rope(*more)
    cpu = wl.Simulation(definition, worlds, "cpu", seed=worlds, exact=True)
    gpu = wl.Simulation(definition, worlds, "cuda:0", seed=worlds, exact=True, kernels_for=2**17)
    assert any(isinstance(entry, WorldOrderNode) for entry in gpu.program.step)
    for step in range(6):
        cpu.step()
        gpu.step()
        assert first_difference(cpu, gpu, step) is None
