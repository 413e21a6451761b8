"""Coalesced rows and configuration vectors in place: the CPU's results bit for bit on the GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.tools.compare import compare, first_difference

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))
from coalesced_worlds import ridge
from indexed_worlds import CELLS, hill
from warp_row_worlds import tick, watch, yard


@pytest.mark.parametrize("num_worlds", [1, 31, 33, 1000])
@pytest.mark.parametrize("scouts", [1, 3, 40])
def test_coalesced_rows(scouts: int, num_worlds: int) -> None:
    """Also with warps and blocks that are not full, and with idle threads between the rows of two worlds."""
    gpu = wl.Simulation(ridge(scouts), 1, "cuda:0")
    assert any(spec.coalesced for spec in gpu.program.step if isinstance(spec, KernelSpec))
    assert compare(ridge(scouts), ["cpu", "cuda:0"], num_worlds=num_worlds, steps=40, seed=4) is None


@pytest.mark.parametrize("num_worlds", [1, 33, 1000])
def test_rows_of_warps(num_worlds: int) -> None:
    assert compare(yard(tick, watch), ["cpu", "cuda:0"], num_worlds=num_worlds, steps=20, seed=4) is None


@pytest.mark.parametrize("env", ["Catch-v0", "Overcooked-v0", "HanabiSmall-v0", "FrozenLake8x8-v1"])
def test_bundled_worlds(env: str) -> None:
    assert compare(env, ["cpu", "cuda:0"], num_worlds=300, steps=450, seed=1) is None


def test_bytes_that_do_not_begin_at_a_word() -> None:
    """Rows are copied byte by byte where the user's memory begins between two words."""
    torch = pytest.importorskip("torch")
    cpu, gpu = (wl.Simulation("Overcooked-v0", 64, device, seed=2) for device in ("cpu", "cuda:0"))
    memory = torch.zeros(gpu["Player"].sight.torch().numel() + 1, dtype=torch.uint8, device="cuda:0")[1:]
    shape = tuple(gpu["Player"].sight.shape)
    gpu = wl.Simulation("Overcooked-v0", 64, "cuda:0", seed=2, external={"Player.sight": memory.reshape(shape)})
    for step in range(5):
        cpu.step(np.full((64, 2), step % 6, np.int32))
        gpu.step(np.full((64, 2), step % 6, np.int32))
        assert first_difference(cpu, gpu, step) is None


@pytest.mark.parametrize("per_world", [False, True])
def test_configuration_in_place(per_world: bool) -> None:
    heights = np.random.default_rng(1).integers(-9, 9, (500, CELLS) if per_world else CELLS).astype(np.int8)
    cpu, gpu = (wl.Simulation(hill(), 500, device, seed=2, config={"heights": heights}) for device in ("cpu", "cuda:0"))
    for step in range(20):
        cpu.step()
        gpu.step()
        assert first_difference(cpu, gpu, step) is None
