"""``@wl.system(registers=...)``: kernels for CUDA whose threads have at most so many registers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import warp as wp
from warp._src.context import runtime

import worldloom as wl
from worldloom.core.codegen.program import Program, generate


class Spring(wl.Entity):
    length: float
    speed: float
    strain: float


class Bench(wl.World):
    pass


@wl.system(registers=40)
def pull(spring: Spring):
    spring.speed -= spring.length


@wl.system(registers=64)
def stretch(spring: Spring):
    spring.length += spring.speed


@wl.system
def measure(spring: Spring):
    spring.strain = spring.length * 2.0


def program(*systems: wl.System, fuse: bool = False, cuda: bool = True) -> Program:
    definition = wl.Definition("Springs-test", Bench, {Spring: 2}, step=systems)
    return generate(wl.Simulation(definition, 1, "python").schedule, fuse=fuse, cuda=cuda)


def limits(program: Program) -> dict[str, int | None]:
    """The limit of the kernel of each system of the user, from the text of the program."""
    kernels = re.findall(r"@wp\.kernel(.*)\ndef (\w+)\(", program.text)
    known = {name: re.search(r"cuda_max_registers=(\d+)", options) for options, name in kernels}
    found = {label: known[spec.name] for spec in program.step for label in spec.labels if "(Spring)" in label}
    return {label.removesuffix("(Spring)"): one and int(one[1]) for label, one in found.items()}


def test_a_kernel_has_the_limit_of_its_system():
    assert limits(program(pull, stretch, measure)) == {"pull": 40, "stretch": 64, "measure": None}


def test_a_joined_kernel_has_no_limit_if_one_of_its_systems_has_none():
    joined = program(pull, stretch, measure, fuse=True)
    assert len({spec.name for spec in joined.step if any("(Spring)" in label for label in spec.labels)}) == 1
    assert limits(joined) == {"pull": None, "stretch": None, "measure": None}


def test_kernels_of_the_cpu_have_no_limit():
    assert "cuda_max_registers" not in program(pull, stretch, cuda=False).text


@pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")
def test_the_compiler_gets_the_limit(tmp_path: Path):
    limited = program(pull, stretch, measure)
    for module in {kernel.module for kernel in limited._build("register_limits", cuda=True).values()}:
        wp.compile_aot_module(module, arch=80, module_dir=tmp_path / module.name, use_ptx=True)
    entries = "".join(ptx.read_text() for ptx in tmp_path.glob("*/*.ptx")).split(".entry")[1:]
    names = {spec.name: label for spec in limited.step for label in spec.labels if "(Spring)" in label}
    found = {}
    for entry in entries:
        name = next((name for name in names if entry.strip().startswith(f"{name}_")), None)
        if name is not None:
            limit = re.search(r"\.maxnreg (\d+)", entry)
            found[names[name].removesuffix("(Spring)")] = limit and int(limit[1])
    assert found == {"pull": 40, "stretch": 64, "measure": None}


@pytest.mark.parametrize("registers", [16, 256, True])
def test_a_limit_that_no_gpu_has_is_refused(registers: int):
    with pytest.raises(wl.DefinitionError, match=rf"registers={registers}.*\n.*\n  Fix: give a number from 32 to 255"):
        wl.system(registers=registers)
