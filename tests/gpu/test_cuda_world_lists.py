"""Kernels that work through a list of the worlds that begin an episode: the results of the CPU, bit for bit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.codegen import kernel_spec, stages
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.resets import world_lists
from worldloom.core.kernels.world_list_kernels import LISTING_THREADS, list_worlds
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.tools.compare import first_difference

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))

from listed_worlds import CROWS, FIELD, actions


@pytest.mark.parametrize("num_worlds", [1, 15, 16, 17, 511, 513, 16384, 16385, 100_003, 2**20])
@pytest.mark.parametrize("start", [0, 3], ids=["aligned", "unaligned"])
def test_worlds_are_listed_in_order(num_worlds: int, start: int) -> None:
    rng = np.random.default_rng(num_worlds)
    for share in (0.0, 1 / 240, 0.5, 1.0):
        flags = rng.random(start + num_worlds) < share
        mask = wp.array(flags, dtype=wp.bool, device="cuda:0")[start:]
        sizes = wp.full(1, -1, dtype=wp.int32, device="cuda:0")
        worlds = wp.full(num_worlds, -1, dtype=wp.int32, device="cuda:0")
        wp.launch(
            list_worlds,
            dim=LISTING_THREADS,
            inputs=[num_worlds, mask],
            outputs=[sizes, worlds],
            device="cuda:0",
            block_dim=LISTING_THREADS,
        )
        expected = np.flatnonzero(flags[start:])
        assert sizes.numpy()[0] == len(expected)
        np.testing.assert_array_equal(worlds.numpy()[: len(expected)], expected)
        assert (worlds.numpy()[len(expected) :] == -1).all()


def _listed(sim: wl.Simulation) -> set[str]:
    """The systems of a step whose kernels take a list."""
    assert sim.program is not None
    kernels = [entry for entry in sim.program.step if isinstance(entry, KernelSpec) and entry.world_list]
    return {label for kernel in kernels for label in kernel.labels}


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
@pytest.mark.parametrize("num_worlds", [1, 7, 3000])
@pytest.mark.parametrize("together", [False, True], ids=["in different steps", "all at once"])
def test_episodes_begin_as_on_the_cpu(autoreset: str, num_worlds: int, together: bool) -> None:
    turns = np.full(num_worlds, 3, np.int32) if together else 2 + np.arange(num_worlds, dtype=np.int32) % 5
    cpu, gpu = (
        wl.Simulation(
            FIELD, num_worlds, device, seed=2, autoreset=autoreset, config={"turns": turns}, kernels_for=2**17
        )
        for device in ("cpu", "cuda:0")
    )
    assert bool(_listed(gpu)) == (autoreset != "disabled")
    rng = np.random.default_rng(0)
    for step in range(10):
        moves = {"Crow.hop": actions(rng, num_worlds)}
        cpu.step(moves)
        gpu.step(moves)
        if step % 4 == 3:
            mask = rng.random(num_worlds) < (1.0 if together else 0.3)
            cpu.reset(mask)
            gpu.reset(mask)
        assert first_difference(cpu, gpu, step) is None
    assert cpu["Crow"].agent_rows.active.numpy().shape == (num_worlds, CROWS)


def test_snapshots_of_large_batches_continue_in_small_ones() -> None:
    """The kernels with lists leave the state that the others leave."""
    first, second = (wl.Simulation(FIELD, 200, "cuda:0", seed=5, kernels_for=n) for n in (2**17, None))
    assert _listed(first) and not _listed(second)
    rng = np.random.default_rng(3)
    for step in range(12):
        moves = {"Crow.hop": actions(rng, 200)}
        first.step(moves)
        second.step(moves)
        assert first_difference(first, second, step) is None
        if step == 6:
            second.restore(first.snapshot())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("HideSeek-v0", {"describe(Hider)", "scan_by_ray(Seeker)", "build_level(Level)"}),
        ("EscapeRoom-v0", {"observe(Agent)", "cast_lidar(Agent)"}),
    ],
)
def test_bundled_worlds_begin_episodes_as_on_the_cpu(
    name: str, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small batch with smaller numbers of threads runs the kernels of a large one."""
    worlds = 48
    monkeypatch.setattr(stages, "RESIDENT_THREADS", 8 * worlds)
    monkeypatch.setattr(world_lists, "LIST_THREADS", 8 * worlds)
    monkeypatch.setattr(kernel_spec, "WORLD_LIST_THREADS", 1024)
    ends = 4 + np.arange(worlds, dtype=np.int32) % 7
    with (
        wl.Simulation(name, worlds, "cpu", seed=8, exact=True, config={"max_steps": ends}) as cpu,
        wl.Simulation(name, worlds, "cuda:0", seed=8, exact=True, config={"max_steps": ends}) as gpu,
    ):
        assert expected <= _listed(gpu)
        rng = np.random.default_rng(4)
        for step in range(1, 25):
            moves = random_actions(cpu, rng)
            cpu.step(moves)
            gpu.step(moves)
            if step == 12:
                mask = rng.random(worlds) < 0.5
                cpu.reset(mask)
                gpu.reset(mask)
            assert first_difference(cpu, gpu, step) is None
        assert cpu.errors() == gpu.errors() == []
