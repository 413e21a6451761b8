"""Columns that a kernel for CUDA does not write are loaded as constants, and no others."""

from __future__ import annotations

import pytest

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import Program, generate
from worldloom.core.schedule.schedule import plan


class Field(wl.World):
    total: float


class Stone(wl.Entity):
    weight: float
    pull: float
    places: wl.Array(wl.vec3, 40)


@wl.system
def weigh(stone: Stone):
    stone.weight += 1.0


@wl.system
def attract(stone: Stone, world: Field):
    for other in world.all(Stone):
        stone.pull += other.weight * other.places[3].x


@wl.system
def level(world: Field):
    for stone in world.all(Stone):
        world.total += stone.weight
        stone.weight = 0.5 * stone.weight


def made(*step: object, fuse: bool = True, cuda: bool = True) -> Program:
    definition = wl.Definition("Stones-test", Field, {Stone: 4}, step=step)
    return generate(plan(definition, "disabled", checks=True), fuse=fuse, cuda=cuda)


def loads(program: Program, system: str) -> set[str]:
    """How a system loads columns: the names of the functions and the columns."""
    body = program.text.split(f"\ndef {system}_", 1)[1].split("\n@wp.", 1)[0]
    names = ("wl_get_float32(Stone__weight", "wl_read_float32(Stone__weight", "wl_read_vec3f_1(Stone__places")
    return {name for name in names if f"{name}__col" in body}


def test_what_a_kernel_only_reads_is_constant() -> None:
    program = made(attract)
    assert loads(program, "attract") == {"wl_read_float32(Stone__weight", "wl_read_vec3f_1(Stone__places"}
    assert "__ldg" in program.text


def test_what_the_system_writes_is_not() -> None:
    assert loads(made(level), "level") == {"wl_get_float32(Stone__weight"}


@pytest.mark.parametrize("fuse", [True, False])
def test_what_another_stage_of_the_kernel_writes_is_not(fuse: bool) -> None:
    program = made(weigh, attract, fuse=fuse)
    joined = [spec for spec in program.step if isinstance(spec, KernelSpec) and spec.stages]
    assert bool(joined) == fuse
    weight = "wl_get_float32(Stone__weight" if fuse else "wl_read_float32(Stone__weight"
    assert loads(program, "attract") == {weight, "wl_read_vec3f_1(Stone__places"}


def test_a_cpu_has_no_such_loads() -> None:
    assert "wl_read_" not in made(attract, cuda=False).text
