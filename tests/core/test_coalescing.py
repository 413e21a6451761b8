"""Long rows on CUDA are collected in shared memory and stored by whole warps, with the results of the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp
from coalesced_worlds import (
    CELLS,
    Ridge,
    Scout,
    assign_all,
    assign_segments,
    assign_some,
    assign_sometimes,
    assign_unknown_places,
    leave_early,
    read_first,
    return_early,
    ribbon,
    ridge,
    settle,
    spy,
    tower,
    walk,
)
from warp._src.context import runtime

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import Program, generate
from worldloom.core.codegen.shared_rows.coalescing import SHARED_BYTES
from worldloom.core.frontend.system import System
from worldloom.core.measure.explain import _explained
from worldloom.core.tools.compare import first_difference
from worldloom.testing.cuda_text import Machine


def program_of(definition: wl.Definition | str, fuse: bool = True, cuda: bool = True) -> Program:
    return generate(wl.Simulation(definition, 1, "python").schedule, fuse, cuda)


def coalesced(definition: wl.Definition | str, fuse: bool = True) -> dict[str, int | None]:
    """The coalesced columns of a step, with the threads per block."""
    kernels = [spec for spec in program_of(definition, fuse).step if isinstance(spec, KernelSpec)]
    return {".".join(column): kernel.block for kernel in kernels for column in kernel.coalesced}


@pytest.mark.parametrize("fuse", [True, False])
def test_an_observation_that_a_loop_writes_is_coalesced(fuse: bool) -> None:
    assert coalesced(ridge(), fuse)["Scout.sight"] == 128
    assert coalesced("Catch-v0") == {"Paddle.sight": 128, "Paddle.final_sight": 128}
    assert "wl_collect" not in program_of(ridge(), fuse, cuda=False).text


@pytest.mark.parametrize("scouts", [1, 3])
def test_the_kernels_for_cuda_write_what_the_cpu_writes(scouts: int) -> None:
    """Also where an episode ends: its last observation is stored before the slot gets that of the next episode."""
    cpu, machine_side = (wl.Simulation(ridge(scouts), 13, "cpu", seed=3) for _ in range(2))
    machine = Machine(machine_side)
    assert "wl_store" in machine.program.text
    actions = np.random.default_rng(0).integers(0, 3, (12, 13, scouts)).astype(np.int32)
    for step, action in enumerate(actions):
        for sim in (cpu, machine_side):
            sim.tables["Scout"]["steps"].values[:] = action.reshape(sim.tables["Scout"]["steps"].values.shape)
        cpu.step()
        machine.step()
        assert first_difference(cpu, machine_side, step) is None
    assert (cpu.world.episode.numpy() > 0).any()


def test_the_explanation_names_coalesced_columns() -> None:
    simulation = wl.Simulation("Catch-v0", 1, "python")
    program = generate(simulation.schedule, True, True)
    (kernel,) = [_explained(simulation.schedule, "step", spec) for spec in program.step if isinstance(spec, KernelSpec)]
    assert kernel.coalesced == ("Paddle.sight", "Paddle.final_sight")


def test_blocks_of_coalescing_kernels_are_not_tuned() -> None:
    (step,) = program_of("Catch-v0").step
    assert isinstance(step, KernelSpec) and not step.has_free_block
    (other,) = program_of("CartPole-v1").step
    assert isinstance(other, KernelSpec) and other.has_free_block and other.block is None


@pytest.mark.parametrize("look", [assign_all, assign_segments])
def test_systems_that_assign_every_element(look: System) -> None:
    assert coalesced(tower(look)) == {"Watcher.sight": 128}


@pytest.mark.parametrize(
    "look", [assign_sometimes, return_early, assign_some, leave_early, read_first, assign_unknown_places]
)
def test_systems_that_may_leave_an_element(look: System) -> None:
    assert coalesced(tower(look)) == {}


def test_rows_that_other_threads_read_in_the_same_kernel_stay_in_memory() -> None:
    assert coalesced(tower(assign_all, spy)) == {}


@pytest.mark.parametrize(("length", "block"), [(16, None), (17, 128), (120, 64), (380, 32), (400, None)])
def test_shared_memory_limits_the_length_of_rows(length: int, block: int | None) -> None:
    assert coalesced(ribbon(length)).get("Strip.marks") == block
    assert block is None or block * 4 * (length + 2) <= SHARED_BYTES


@pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")
def test_elements_go_to_shared_memory(tmp_path: Path) -> None:
    program = program_of(wl.Definition("Ridge-ptx", Ridge, {Scout: 1}, reset=(settle,), step=(walk, whole_sight)))
    module = next(iter(program._build("coalesced", cuda=True).values())).module
    wp.compile_aot_module(module, arch=80, module_dir=tmp_path, use_ptx=True)
    (ptx,) = (path.read_text() for path in tmp_path.glob("*.ptx"))
    (step,) = [part for part in ptx.split(".entry")[1:] if part.strip().startswith("step_0")]
    assert step.count("st.shared") >= 2 * CELLS


@wl.system
def whole_sight(scout: Scout):
    for cell in range(CELLS):
        scout.sight[0, cell] = float(cell)
        scout.sight[1, cell] = float(scout.at)
