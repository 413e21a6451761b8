"""What is written for CUDA compiles, which needs no GPU: native functions, joined kernels, loops that threads share, queries, tables of configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
import warp as wp
from warp._src.context import runtime
from wide_worlds import yard

import worldloom as wl
from worldloom.core.program import generate

pytestmark = pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")
ARCHITECTURE = 80


@pytest.mark.parametrize("world", [yard(64), "TagContinuousDemo-v0", "CovidEconomySynthetic-v0"], ids=["yard", "tag", "economy"])
def test_the_text_for_cuda_compiles(world: wl.Definition | str, tmp_path: Path) -> None:
    schedule = wl.Simulation(world, 1, "python").schedule
    program = generate(schedule, fuse=True, cuda=True)
    kernels = program._build(f"text_{len(program.text)}", cuda=True)
    assert {spec.name for spec in program.step} <= set(kernels)
    module = next(iter(kernels.values())).module
    wp.compile_aot_module(module, arch=ARCHITECTURE, module_dir=tmp_path, use_ptx=True)
    (ptx,) = tmp_path.glob("*.ptx")
    assert all(f"{spec.name}_" in ptx.read_text() for spec in program.step)
