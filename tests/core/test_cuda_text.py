"""The code written for CUDA compiles, which needs no GPU.

Native functions, joined kernels, loops that threads share, queries, and tables of configuration.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import warp as wp
from thorough import sample
from varying_agents import OFFICE
from warp._src.context import runtime
from wide_worlds import strips, yard

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.kernels.launch_kernels import copy_rows
from worldloom.core.kernels.world_list_kernels import list_worlds

pytestmark = pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")
ARCHITECTURE = 80


def test_the_kernels_of_long_arrays_move_16_bytes_at_a_time(tmp_path: Path) -> None:
    wp.compile_aot_module(copy_rows.module, arch=ARCHITECTURE, module_dir=tmp_path, use_ptx=True)
    (ptx,) = tmp_path.glob("*.ptx")
    assert "ld.global.v4.u32" in ptx.read_text() or "ld.global.v4.b32" in ptx.read_text()


WORLDS = {
    "yard": yard(64),
    "strips": strips(1),
    "tag": "TagContinuousDemo-v0",
    "economy": "CovidEconomySynthetic-v0",
    "hanabi": "Hanabi-v0",
    "office": OFFICE,
}


@pytest.mark.parametrize("name", sample(WORLDS, 1))
def test_the_text_for_cuda_compiles(name: str, tmp_path: Path) -> None:
    schedule = wl.Simulation(WORLDS[name], 1, "python").schedule
    program = generate(schedule, fuse=True, cuda=True)
    kernels = program._build(f"text_{len(program.text)}", cuda=True)
    assert {spec.name for spec in program.step} <= set(kernels)
    for module in {kernel.module for kernel in kernels.values()}:
        wp.compile_aot_module(module, arch=ARCHITECTURE, module_dir=tmp_path / module.name, use_ptx=True)
    text = "".join(ptx.read_text() for ptx in tmp_path.glob("*/*.ptx"))
    assert all(f"{spec.name}_" in text for spec in program.step)


def test_kernels_that_work_through_lists_of_worlds_compile(tmp_path: Path) -> None:
    program = generate(wl.Simulation(OFFICE, 1, "python").schedule, fuse=True, cuda=True, uneven=16, list_width=0)
    kernels = program._build("lists", cuda=True)
    assert any(spec.world_list for spec in program.step if isinstance(spec, KernelSpec))
    for module in {list_worlds.module, *(kernel.module for kernel in kernels.values())}:
        wp.compile_aot_module(module, arch=ARCHITECTURE, module_dir=tmp_path / module.name, use_ptx=True)
    (text,) = [ptx.read_text() for ptx in (tmp_path / list_worlds.module.name).glob("*.ptx")]
    assert "ld.global.v4.u32" in text or "ld.global.v4.b32" in text, "flags of 16 worlds at once"


class Bead(wl.Entity):
    string: wl.vec(6)
    shown: wl.vec(6)  # nothing in a step reads it


class Necklace(wl.World):
    pass


@wl.system
def lengthen(bead: Bead):
    bead.string = 2.0 * bead.string
    bead.shown = bead.string


def test_vectors_are_moved_in_few_pieces(tmp_path: Path) -> None:
    program = generate(
        wl.Simulation(wl.Definition("Necklace-test", Necklace, {Bead: 2}, step=(lengthen,)), 1, "python").schedule,
        fuse=True,
        cuda=True,
    )
    wp.compile_aot_module(
        next(iter(program._build("pieces", cuda=True).values())).module,
        arch=ARCHITECTURE,
        module_dir=tmp_path,
        use_ptx=True,
    )
    (ptx,) = tmp_path.glob("*.ptx")
    (step,) = [part for part in ptx.read_text().split(".entry")[1:] if part.strip().startswith("step_0")]
    assert step.count("ld.global.v2.f32") == 3
    assert step.count("st.global.v2.f32") == step.count("st.global.cs.v2.f32") == 3
