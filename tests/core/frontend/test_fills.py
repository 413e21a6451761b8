"""Loops that set adjacent elements of an array are one call in kernels, with the results of the loops."""

from __future__ import annotations

import re

import pytest

import worldloom as wl
from worldloom.core.codegen.program import generate
from worldloom.core.frontend.system import System
from worldloom.core.tools.compare import compare

LONG, WIDE, DEEP = 3, 5, 4


class Field(wl.Entity):
    move: wl.Action(wl.Discrete(4))
    bytes: wl.Array(wl.uint8, LONG, WIDE, DEEP)
    shorts: wl.Array(wl.int16, 40)
    floats: wl.Array(float, 2, 33)
    last: int
    sight: wl.Observation(1)


class Meadow(wl.World):
    pass


@wl.system
def whole(field: Field):
    x, y, z = 0, 0, 0
    for x in range(LONG):
        for y in range(WIDE):
            for z in range(DEEP):
                field.bytes[x, y, z] = wl.uint8(3)
    field.last = x * 100 + y * 10 + z


@wl.system
def rows_of_one_plane(field: Field):
    for y in range(WIDE):
        for z in range(DEEP):
            field.bytes[1, y, z] = wl.uint8(9)


@wl.system
def first_part(field: Field):
    for i in range(19):
        field.shorts[i] = wl.int16(-2)
    for row in range(2):
        for i in range(21):  # not the whole row: the rows are not adjacent
            field.floats[row, i] = -1.5


@wl.system
def strided(field: Field):
    for i in range(20):
        field.shorts[2 * i] = wl.int16(1)
    for z in range(DEEP):
        for y in range(WIDE):
            field.bytes[0, y, z] = wl.uint8(4)


@wl.system
def varying_value(field: Field):
    for i in range(40):
        field.shorts[i] = wl.int16(i)
    for x in range(LONG):
        for y in range(WIDE):
            for z in range(DEEP):
                field.bytes[x, y, z] = wl.uint8(x)


@wl.system
def with_another_statement(field: Field):
    count = 0
    for i in range(40):
        field.shorts[i] = wl.int16(6)
        count += i
    field.last = count


@wl.system
def unsafe_place(field: Field):
    for i in range(20):
        field.shorts[i + field.move - 1] = wl.int16(2)
    for y in range(WIDE):
        for z in range(DEEP):
            field.bytes[field.move, y, z] = wl.uint8(8)


@wl.system
def look(field: Field):
    field.sight[0] = float(field.last % 97)


def _world(system: System) -> wl.Definition:
    return wl.register(
        f"Fill-{system.name}-test", world=Meadow, entities={Field: 2}, step=[system], observe=[look], max_steps=9
    )


def _filled(system: System) -> list[int]:
    """How many elements each call of the system fills."""
    text = generate(wl.Simulation(_world(system), 1, "python").schedule, fuse=True, cuda=True).text
    body = text[text.index(f"def {system.name}_Field") :].split("@wp.")[0]
    return [int(count) for count in re.findall(r"wl_fill_\w+\([^\n]*, (\d+), [^,\n]*\)\n", body)]


@pytest.mark.parametrize(
    ("system", "elements"),
    [
        (whole, [LONG * WIDE * DEEP]),
        (rows_of_one_plane, [WIDE * DEEP]),
        (first_part, [19, 21]),
        (strided, []),
        (varying_value, []),
        (with_another_statement, []),
        (unsafe_place, []),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_adjacent_elements_are_filled_by_one_call(system: System, elements: list[int]) -> None:
    assert _filled(system) == elements
    assert compare(_world(system), ["python", "cpu"], num_worlds=5, steps=20, seed=1) is None
