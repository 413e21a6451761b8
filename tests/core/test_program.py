"""Programs: one module per definition, compiled once, and the memory traffic of its kernels."""

from __future__ import annotations

import ast
import copy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.base.errors import CompileError
from worldloom.core.codegen import program as programs
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.schedule.schedule import plan


@pytest.fixture(scope="module")
def cartpole() -> programs.Program:
    return generate(plan(wl.definition("CartPole-v1"), "same_step", checks=True), fuse=True, cuda=False)


def test_the_text_is_python_and_always_the_same(crowd: wl.Definition) -> None:
    texts = [
        generate(plan(crowd, "same_step", checks=True), fuse=True, cuda=cuda).text for cuda in (False, False, True)
    ]
    assert texts[0] == texts[1] != texts[2]
    for text in texts:
        ast.parse(text)
    assert "thread_number()" in texts[2] and "thread_number()" not in texts[0]


def test_each_option_is_another_program(race: wl.Definition) -> None:
    options = [
        ("same_step", True, True),
        ("next_step", True, True),
        ("disabled", True, True),
        ("same_step", False, True),
        ("same_step", True, False),
    ]
    assert len({generate(plan(race, mode, checks), fuse, cuda=False).text for mode, checks, fuse in options}) == len(
        options
    )


def test_configuration_and_batch_size_are_no_part_of_the_text(race: wl.Definition) -> None:
    one = wl.Simulation(race, 2, "cpu", seed=0)
    two = wl.Simulation(
        race, 50, "cpu", seed=9, threads=3, config={"pace": np.linspace(0.0, 1.0, 50), "goal": 2, "max_steps": 9}
    )
    assert one.program.text == two.program.text
    assert one.executor.kernels is two.executor.kernels, "compiled once per process"


def test_simulations_of_a_definition_share_its_program(race: wl.Definition) -> None:
    made = replace(race)
    one, two = (wl.Simulation(made, worlds, "cpu", seed=0) for worlds in (2, 5))
    assert one.program is two.program and one.schedule.step is two.schedule.step
    others = [
        wl.Simulation(made, 2, "cpu", seed=0, **options)
        for options in ({"autoreset": "next_step"}, {"checks": False}, {"fuse": False}, {"exact": True})
    ]
    assert len({id(sim.program) for sim in (one, *others)}) == 5
    assert wl.Simulation(replace(made), 2, "cpu", seed=0).program is not one.program
    assert made.derived and not copy.copy(made).derived


def test_each_column_is_loaded_and_stored_once(cartpole: programs.Program) -> None:
    (kernel,) = cartpole.step
    body = cartpole.text[cartpole.text.index(f"def {kernel.name}(") :]
    body = body[: body.find("@wp.kernel")]
    for name in ("Cart__x", "Cart__velocity", "Cart__angle", "Cart__spin"):
        assert (
            body.count(f"{name} = wl_get_float32({name}__col, row)") == 1
            and body.count(f"wl_put_float32({name}__col, row, {name})") == 1
        )


def test_bytes_moved_per_world(cartpole: programs.Program) -> None:
    """What every step moves for sure, by hand. Read: four floats, the action, and of the world what its life needs;
    written: the state, the observation, the reward, and the world's counters and flags."""
    (kernel,) = cartpole.step
    assert isinstance(kernel, KernelSpec) and kernel.rows == 1
    assert 4 * 4 + 4 <= kernel.bytes_read <= 4 * 4 + 4 + 24
    assert 4 * 4 + 4 * 4 + 4 <= kernel.bytes_written <= 4 * 4 + 4 * 4 + 4 + 24


def test_a_module_that_does_not_compile_says_whose_fault_it_is(cartpole: programs.Program) -> None:
    broken = programs.Program(
        cartpole.text.replace("wp.sin(", "wp.no_such_function("),
        cartpole.types,
        cartpole.step,
        cartpole.reset,
        cartpole.sites,
    )
    assert broken.text != cartpole.text
    device = wl.Simulation("CartPole-v1", 1, "python", seed=0).device
    with pytest.raises(CompileError) as caught:
        broken.load(device, "Broken")
    message = str(caught.value)
    assert (
        message.startswith("the generated code of 'Broken' does not compile for cpu")
        and "This is a fault of worldloom" in message
    )
    assert "no_such_function" in message
    kept = Path(message.rsplit("report it with ", 1)[1].removesuffix("."))
    assert kept.read_text() == broken.text, "the text to send along is there"


def test_a_second_process_starts_from_the_cache() -> None:
    """The module's hash depends on its text alone, so that what one process compiled serves the next."""
    read = "next(iter(sim.executor.kernels.values())).module.get_module_hash(1).hex()"
    code = f"import worldloom as wl; sim = wl.Simulation('CartPole-v1', 4, 'cpu', seed=0); print({read})"
    sim = wl.Simulation("CartPole-v1", 4, "cpu", seed=0)
    here = next(iter(sim.executor.kernels.values())).module.get_module_hash(1).hex()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == here
    assert "compiling" not in done.stderr


class Colony(wl.World):
    pass


class Ant(wl.Entity):
    load: float


@wl.system
def settle(world: Colony):
    for _ in range(2):
        world.spawn(Ant)


@wl.system
def gather(ant: Ant, world: Colony):
    ant.load += world.random()


def test_threads_of_other_worlds_return_before_they_load_the_count() -> None:
    """Most worlds are not reset in a step: their threads of reset systems load one number."""
    made = wl.Definition("Colony-test", Colony, {Ant: wl.UpTo(4)}, reset=(settle, gather), step=(gather,), max_steps=5)
    text = generate(plan(made, "same_step", checks=True), fuse=True, cuda=True).text
    kernels = [kernel for kernel in text.split("\n@wp.") if "if slot >= " in kernel]
    masked = [kernel for kernel in kernels if "if not wl_get_bool(World__finished__col, world): return" in kernel]
    assert masked and len(kernels) > len(masked)
    assert all(kernel.index("World__finished__col, world)") < kernel.index("if slot >= ") for kernel in masked)
