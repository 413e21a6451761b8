"""Integers wrap in two's complement, and every operation has one result, on every device."""

import numpy as np
import pytest
from agreement import agree
from thorough import THOROUGH

import worldloom as wl

SMALLEST, LARGEST = -(2**31), 2**31 - 1
SMALLEST64, LARGEST64 = -(2**63), 2**63 - 1


class Number(wl.Entity):
    n: int
    m: int
    wide: wl.int64
    narrow: wl.uint16
    v: wl.vec3i
    total: int
    product: int
    grows: bool
    key: int
    hash: int
    quotient: int
    rest: int
    shifted: int
    size: int
    negative: int
    cube: int
    wide_product: wl.int64
    wide_quotient: wl.int64
    narrow_product: wl.uint16
    sum_of_vectors: wl.vec3i
    dot: int
    sizes: wl.vec3i
    turns: int
    last: int
    whole: int
    real: float
    drawn: int


class Numbers(wl.World):
    shared: int


@wl.system
def compute(a: Number, world: Numbers):
    a.total = a.n + a.m
    a.product = a.n * a.m
    a.grows = a.n + 1 > a.n
    key = max(a.n, 0)
    a.key = (key * 31 + 17) % 10
    a.hash = (a.n * 73856093 ^ a.m * 19349663) % 10
    a.quotient = a.n // a.m
    a.rest = a.n % a.m
    a.shifted = a.n << a.m
    a.size = abs(a.n)
    a.negative = -a.n
    a.cube = a.n**3
    a.wide_product = a.wide * a.wide
    a.wide_quotient = a.wide // wl.int64(a.m)
    a.narrow_product = a.narrow * a.narrow
    a.sum_of_vectors = a.v + a.v * 3 - (-a.v)
    a.dot = wl.dot(a.v, a.v)
    a.sizes = abs(a.v)
    a.turns = 0
    for i in range(a.n, LARGEST, 3):
        a.turns += 1
        a.last = i
        if a.turns == 5:
            break
    a.whole = int(a.real)
    a.drawn = world.integer(SMALLEST, LARGEST)
    world.shared += a.n


def wrap(value: int, bits: int = 32) -> int:
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def divide(a: int, b: int, bits: int = 32) -> tuple[int, int]:
    return (0, a) if b == 0 else (wrap(a // b, bits), a % b)


CASES = [
    (LARGEST, 1, LARGEST64, 65535, 7.9),
    (SMALLEST, -1, SMALLEST64, 65535, 3e9),
    (SMALLEST, 0, SMALLEST64, 256, -3e9),
    (123456789, 987654321, 2**40 + 5, 300, float("nan")),
    (LARGEST - 7, 33, -1, 3, float("inf")),
    (-5, 3, 10**18, 40000, -float("inf")),
    (LARGEST, LARGEST, SMALLEST64 + 1, 0, 2147483520.0),
    (-7, -31, 0, 1, -0.5),
]
WHOLE = [7, 2147483520, SMALLEST, 0, 2147483520, SMALLEST, 2147483520, 0]


@pytest.mark.parametrize(
    "how", [{"device": "python"}, {}, {"exact": True}, *([{"fuse": False}] if THOROUGH else [])], ids=str
)
def test_every_operation_has_one_result(how: dict):
    check_every_operation({"device": "cpu", **how})


def check_every_operation(how: dict) -> None:
    """Run all cases on one device and compare every result with Python's unbounded integers, wrapped."""
    definition = wl.Definition("Overflow-v0", world=Numbers, entities={Number: len(CASES)}, step=[compute])
    sim = wl.Simulation(definition, 1, seed=3, **how)
    n, m, wide, narrow, real = zip(*CASES, strict=True)
    start = {
        "n": n,
        "m": m,
        "wide": wide,
        "narrow": narrow,
        "real": real,
        "v": [(case[0], case[1], 46341) for case in CASES],
    }
    for name, values in start.items():
        column = sim.tables["Number"][name]
        column.assign(np.array(values, column.numpy().dtype).reshape(column.numpy().shape))
    sim.step()
    got = {c.name.split(".")[1]: c.numpy()[0] for c in sim.tables["Number"]}
    for k, (a, b, big, small, _) in enumerate(CASES):
        assert got["total"][k] == wrap(a + b)
        assert got["product"][k] == wrap(a * b)
        assert got["grows"][k] == (wrap(a + 1) > a)
        assert got["key"][k] == wrap(wrap(max(a, 0) * 31) + 17) % 10
        assert got["hash"][k] == (wrap(a * 73856093) ^ wrap(b * 19349663)) % 10
        assert (got["quotient"][k], got["rest"][k]) == divide(a, b)
        assert got["shifted"][k] == wrap(a << (b & 31))
        assert got["size"][k] == wrap(abs(a))
        assert got["negative"][k] == wrap(-a)
        assert got["cube"][k] == wrap(wrap(a * a) * a)
        assert got["wide_product"][k] == wrap(big * big, 64)
        assert got["wide_quotient"][k] == divide(big, b, 64)[0]
        assert got["narrow_product"][k] == small * small % 65536
        assert got["sum_of_vectors"][k].tolist() == [wrap(5 * x) for x in (a, b, 46341)]
        assert got["dot"][k] == wrap(a * a + b * b + 46341 * 46341)
        assert got["sizes"][k].tolist() == [wrap(abs(x)) for x in (a, b, 46341)]
        numbers = list(range(a, min(a + 15, LARGEST), 3))
        assert got["turns"][k] == len(numbers)
        assert got["last"][k] == (numbers[-1] if numbers else 0)
        assert got["whole"][k] == WHOLE[k]
    assert sim.tables["World"]["shared"].numpy().ravel().tolist() == [wrap(sum(n))]
    drawn = got["drawn"].astype(np.int64)
    assert (drawn < 0).any() and (drawn > 0).any()


class Loop(wl.Entity):
    n: int
    total: int


@wl.system
def nest(a: Loop):
    for k in range(0, a.n, 3):
        a.total += k
        for k in range(5, a.n, 2):  # the outer loop goes on with its own numbers
            a.total += 100 * k


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_nested_ranges_over_one_name_count_by_themselves(device: str):
    sim = wl.Simulation(wl.Definition("Nest-v0", world=Numbers, entities={Loop: 1}, step=[nest]), 4, device=device)
    sim.tables["Loop"].n = np.array([[0], [4], [12], [17]], np.int32)
    sim.step()
    expected = [sum(k + 100 * sum(range(5, n, 2)) for k in range(0, n, 3)) for n in (0, 4, 12, 17)]
    assert sim.tables["Loop"].total.numpy().ravel().tolist() == expected


class Walker(wl.Entity):
    first: int = 3
    last: int = 14
    least: int = -2147483648
    most: int = 2147483647
    same: int
    start: int
    turn: int
    far: int
    down: int


class Road(wl.World):
    pass


@wl.system
def same_name(walker: Walker):
    for i in range(walker.first, walker.last, 3):
        walker.same = walker.same * 7 + i
        for i in range(walker.first + 100, walker.last + 100, 5):
            walker.same = walker.same * 5 + i


@wl.system
def similar_names(walker: Walker):
    for i in range(walker.first, walker.last, 3):
        walker.start = walker.start * 7 + i
        for i_start in range(2):
            walker.start = walker.start * 5 + i_start
    for i in range(walker.first, walker.last, 3):
        walker.turn = walker.turn * 7 + i
        for i_turn in range(2):
            walker.turn = walker.turn * 5 + i_turn


@wl.system
def all_integers(walker: Walker):
    for i in range(walker.least, walker.most, 2):
        walker.far += i // 1000
        if i > walker.least + 6:
            break
    for i in range(walker.most, walker.least, -2):
        walker.down += i // 1000
        if i < walker.most - 6:
            break


def test_loops_with_steps_inside_each_other_agree() -> None:
    road = wl.Definition("Road-v0", world=Road, entities={Walker: 2}, step=[same_name, similar_names, all_integers])
    seen = agree(road, 2)[1]
    same = start = 0
    for i in range(3, 14, 3):
        same, start = same * 7 + i, start * 7 + i
        for k in range(103, 114, 5):
            same = same * 5 + k
        for k in range(2):
            start = start * 5 + k
    wrapped = (same + 2**31) % 2**32 - 2**31
    assert (
        (seen["Walker.same"] == wrapped).all()
        and (seen["Walker.start"] == start).all()
        and (seen["Walker.turn"] == start).all()
    )
    far, down = (
        sum(i // 1000 for i in numbers)
        for numbers in (range(-(2**31), -(2**31) + 9, 2), range(2**31 - 1, 2**31 - 10, -2))
    )
    assert (seen["Walker.far"] == far).all() and (seen["Walker.down"] == down).all()
