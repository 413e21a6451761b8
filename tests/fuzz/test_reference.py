"""The reference compared with known results."""

import ast
from pathlib import Path

import numpy as np
import pytest

from worldloom import testing
from worldloom.testing.reference import arithmetic as m
from worldloom.testing.reference.interpreter import Reference
from worldloom.testing.reference.neighbours import near, nearest
from worldloom.testing.reference.types import FLOAT, INT, Type, common, widens

LEAST, MOST = -(2**31), 2**31 - 1


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (m.wrapped(MOST + 1, "int32"), LEAST),
        (m.wrapped(-1, "uint8"), 255),
        (m.wrapped(200, "int8"), -56),
        (m.floor_divide(np.int32(-7), np.int32(2), "int32"), -4),
        (m.floor_divide(np.int32(7), np.int32(0), "int32"), 0),
        (m.floor_divide(np.int32(LEAST), np.int32(-1), "int32"), LEAST),
        (m.modulo(np.int32(-7), np.int32(3), "int32"), 2),
        (m.modulo(np.int32(-7), np.int32(0), "int32"), -7),
        (m.modulo(np.int32(LEAST), np.int32(-1), "int32"), 0),
        (m.shift(np.int8(1), np.int8(9), "int8", left=True), 2),
        (m.shift(np.int8(-128), np.int8(7), "int8", left=False), -1),
        (m.absolute(np.int32(LEAST), "int32"), LEAST),
        (m.cast(np.float32(3e9), "float32", "int32"), 2147483520),
        (m.cast(np.float32(-3e9), "float32", "int32"), LEAST),
        (m.cast(np.float32(np.nan), "float32", "int32"), 0),
        (m.cast(np.float32(-1.9), "float32", "int32"), -1),
        (m.cast(np.float32(300.0), "float32", "uint8"), 255),
        (m.cast(np.int32(-1), "int32", "uint8"), 255),
        (m.integer(2**32 - 1, np.int32(3), np.int32(8)), 7),
        (m.integer(5, np.int32(3), np.int32(3)), 3),
    ],
)
def test_numbers(found: object, expected: int):
    assert found == expected


def test_philox_gives_the_published_vector():
    """Known answers of Random123."""
    assert m.philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert m.philox((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)  # type: ignore[arg-type]


def test_types_meet():
    int64, uint8 = Type("int64"), Type("uint8")
    assert common(INT, None, FLOAT, None) == FLOAT
    assert common(int64, None, INT, None) == int64
    assert common(uint8, None, INT, 7) == uint8
    assert common(INT, None, FLOAT, 0.5) == FLOAT
    assert widens("uint8", "int16") and not widens("uint16", "int16") and not widens("float32", "int64")


def test_neighbours():
    places = np.array([[0, 0], [1, 0], [5, 5], [np.nan, 0]], np.float32)
    assert near(places, np.zeros(2, np.float32), np.float32(1.0), 4) == [0, 1]
    assert nearest(places, np.array([4, 4], np.float32), 2) == [2, 1]


WORLD = """
class Walker(wl.Entity):
    flag: bool = True
    score: int
    waited: int

class Spark(wl.Entity):
    light: int = 3

class Field(wl.World):
    total: int
    lowest: int

@wl.function
def halved(n: int, odd: bool):
    if odd:
        for i in range(3):
            odd = False
        n = n * 3 + 1
    return n // 2, odd

@wl.system
def start(world: Field):
    for k in range(3):
        world.spawn(Spark, light=2 + k)

@wl.system
def walk(e: Walker, world: Field):
    if e.flag:
        e.score = 7
        for spark in world.all(Spark):
            e.flag = False
    else:
        e.waited += 1
    e.score, odd = halved(e.score, True)
    world.total += e.score
    world.lowest = min(world.lowest, e.id - 5)

@wl.system
def glow(spark: Spark, world: Field):
    spark.light -= 1
    if spark.light == 2:
        world.spawn(Spark)
    if spark.light <= 1:
        spark.despawn()

DEFINITION = wl.Definition(
    id="w", world=Field, entities={Walker: 2, Spark: wl.UpTo(4)}, reset=(start,), step=(walk, glow), max_steps=3
)
"""


def test_the_reference_and_the_generator_share_no_code_with_the_engine():
    """Only the modules that run devices import worldloom, and inside their functions."""
    for path in Path(testing.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            taken = [
                n for n in names if n.split(".")[0] in ("worldloom", "warp") and not n.startswith("worldloom.testing")
            ]
            runs_devices = path.stem in ("compare", "campaign") or path.parent.name in ("cuda_text", "operations")
            assert not taken or runs_devices, f"{path.name} imports {taken}"


def test_a_world_by_hand():
    world = Reference(WORLD, num_worlds=1, autoreset="disabled")
    tables, counts = world.tables, world.state.counts["Spark"]
    assert counts.tolist() == [3]
    world.step()
    assert tables["Walker"]["score"].tolist() == [[11, 11]]
    assert tables["Walker"]["flag"].tolist() == [[False, False]]
    assert tables["Walker"]["waited"].tolist() == [[0, 0]]
    assert tables["World"]["total"].tolist() == [[22]]
    assert tables["World"]["lowest"].tolist() == [[-5]]
    assert tables["Spark"]["light"][0, : counts[0]].tolist() == [2, 3, 3]  # the first left, and the second had a child
    world.step()
    assert tables["Walker"]["waited"].tolist() == [[1, 1]]
    assert not world.state.flags["truncated"].any()
    world.step()
    assert world.state.flags["truncated"].all()
    world.reset()
    assert tables["World"]["episode"].tolist() == [[1]]
    assert counts.tolist() == [3]
