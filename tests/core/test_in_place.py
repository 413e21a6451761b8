"""Configuration vectors that systems index at run time are read in place on CUDA."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp
from indexed_worlds import CELLS, Hiker, hill, look_back, weigh
from warp._src.context import runtime

import worldloom as wl
from worldloom.core.codegen.program import generate
from worldloom.core.tools.compare import first_difference
from worldloom.testing.cuda_text import Machine


def text_of(definition: wl.Definition | str, cuda: bool = True) -> str:
    return generate(wl.Simulation(definition, 1, "python").schedule, True, cuda).text


def test_a_vector_that_is_only_indexed_is_not_loaded() -> None:
    text = text_of(hill())
    assert "World__heights = wl_view_" in text and "World__heights = wl_get_" not in text
    assert text.count("def wl_helper_height_at(p_heights: wp.array(dtype=wp.int8)") == 1
    assert "def wl_helper_slope(p_heights: wp.array(dtype=wp.int8)" in text
    assert "wl_view" not in text_of(hill(), cuda=False)


def test_a_vector_that_is_used_as_a_whole_is_loaded() -> None:
    assert "World__heights = wl_get_" in text_of(hill(look_back)), "a helper copies it into a variable"
    text = text_of(hill(weigh))
    assert "World__weights = wl_get_" in text and "World__heights = wl_view_" in text


def test_short_vectors_are_loaded() -> None:
    assert "wl_view" not in text_of("FrozenLake-v1") and "World__tiles = wl_view" in text_of("FrozenLake8x8-v1")


@pytest.mark.parametrize("per_world", [False, True])
def test_the_kernels_for_cuda_read_what_the_cpu_reads(per_world: bool) -> None:
    heights = np.random.default_rng(1).integers(-9, 9, (5, CELLS) if per_world else CELLS).astype(np.int8)
    cpu, machine_side = (wl.Simulation(hill(), 5, "cpu", seed=2, config={"heights": heights}) for _ in range(2))
    machine = Machine(machine_side)
    for step in range(6):
        cpu.step()
        machine.step()
        assert first_difference(cpu, machine_side, step) is None
    assert len(np.unique(cpu[Hiker].start.numpy())) > 1


@pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")
def test_no_vector_is_copied_to_local_memory(tmp_path: Path) -> None:
    program = generate(wl.Simulation(hill(), 1, "python").schedule, True, True)
    module = next(iter(program._build("in_place", cuda=True).values())).module
    wp.compile_aot_module(module, arch=80, module_dir=tmp_path, use_ptx=True)
    (ptx,) = (path.read_text() for path in tmp_path.glob("*.ptx"))
    assert ".local" not in ptx
