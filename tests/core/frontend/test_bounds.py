"""Indices with known bounds are used without a check; all others are checked."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.codegen.program import generate
from worldloom.core.frontend.bounds import bounds_of, range_bounds

SEVEN = 7
NAMES = {"SEVEN": SEVEN, "min": min, "max": max, "clamp": wl.clamp, "TRUE": True, "REAL": 2.5, "NARROW": np.int8(100)}
FLOW = SimpleNamespace(
    counters={"i": (0, 9), "j": (-3, 4)},
    static=lambda node: NAMES.get(getattr(node, "id", None), object()),
    draws=[],
    draw_count=0,
    expression=lambda node: SimpleNamespace(type=wl.int32),  # everything unknown is an int
)


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", (5, 5)),
        ("SEVEN", (7, 7)),
        ("i", (0, 9)),
        ("i + j", (-3, 13)),
        ("i - j", (-4, 12)),
        ("j * 2 - 1", (-7, 7)),
        ("j * j", (-12, 16)),
        ("i // 4", (0, 2)),
        ("j // 2", (-2, 2)),
        ("n % SEVEN", (0, 6)),
        ("n % i", None),
        ("i // i", None),
        ("n", None),
        ("n + 1", None),
        ("n // 3", None),
        ("TRUE", None),
        ("REAL", None),
        ("NARROW", None),
        ("clamp(n - 3, 0, SEVEN - 1)", (0, 6)),
        ("clamp(n, i, 4)", None),
        ("clamp(n, 5, 2)", None),
        ("min(i, 3)", (0, 3)),
        ("max(j, 0, -2)", (0, 4)),
        ("min(n, 3)", None),
        ("abs(j)", None),
        ("i * 1000000000", None),
    ],
)
def test_bounds(text: str, expected: tuple[int, int] | None) -> None:
    assert bounds_of(FLOW, expression(text)) == expected
    if expected is not None:
        known = {**NAMES, "clamp": lambda v, low, high: min(max(v, low), high)}
        places = [{"n": n, "i": i, "j": j} for n in (-50, 3, 60) for i in range(10) for j in range(-3, 5)]
        values = [eval(text, {**known, **place}) for place in places]
        assert expected[0] <= min(values) and max(values) <= expected[1]


@pytest.mark.parametrize("arguments", ["4", "2, 9", "9, 2, -1", "0, 20, 3", "i", "1, SEVEN"])
def test_bounds_of_a_range(arguments: str) -> None:
    call = expression(f"range({arguments})")
    found = range_bounds(FLOW, call.args)
    numbers = [n for i in range(10) for n in eval(f"range({arguments})", {"SEVEN": SEVEN, "i": i})]
    assert found is not None and found[0] <= min(numbers) and max(numbers) <= found[1]
    assert range_bounds(FLOW, expression("range(n)").args) is None


class Shelf(wl.Entity):
    books: wl.Array(int, 6)
    total: int


class Library(wl.World):
    pass


def may_fault(*systems: wl.system) -> bool:
    made = wl.register("LibraryOfBounds-v0", world=Library, entities={Shelf: 2}, step=list(systems), replace=True)
    schedule = wl.Simulation(made, 1, "python").schedule
    return any(spec.takes_errors for spec in generate(schedule, True, False, False).step)


def test_only_what_may_go_wrong_is_checked() -> None:
    @wl.system
    def count(shelf: Shelf, world: Library):
        for i in range(len(shelf.books) - 1):
            shelf.total += shelf.books[i] + shelf.books[i + 1] + world.at(Shelf, i % 2).books[i // 2]

    @wl.system
    def beyond(shelf: Shelf):
        for i in range(6):
            shelf.total += shelf.books[i + 1]

    @wl.system
    def reassigned(shelf: Shelf):
        for i in range(6):
            i = i + shelf.total
            shelf.total += shelf.books[i]

    @wl.system
    def nobody(shelf: Shelf, world: Library):
        for i in range(3):
            shelf.total += world.at(Shelf, i).books[0]

    assert [may_fault(system) for system in (count, beyond, reassigned, nobody)] == [False, True, True, True]
    sim = wl.Simulation(
        wl.register("LibraryOfBounds-v0", world=Library, entities={Shelf: 2}, step=[beyond], replace=True),
        1,
        "python",
        autoreset="disabled",
    )
    sim[Shelf].books.numpy()[:] = np.arange(6)
    sim.step()
    assert "index of shelf.books (size 6) 6 is out of range" in str(sim.errors()[0])


class NarrowShelf(wl.Entity):
    small: wl.int8
    byte: wl.uint8
    books: wl.Array(int, 500)
    pair: wl.Array(int, 3)
    negative: wl.Array(int, 3)
    sum: wl.Array(int, 6)
    found: int


@wl.system
def wraps(shelf: NarrowShelf):
    shelf.found = shelf.books[(shelf.small % 100) * 5]  # 60 * 5 is 44, 99 * 5 is -17


@wl.system
def leaves(shelf: NarrowShelf):
    shelf.pair[(shelf.byte % 5 - 3) // 2 + 2] = 7  # 0 - 3 is 253, so the place is 128


@wl.system
def turns_round(shelf: NarrowShelf):
    shelf.negative[-(shelf.byte % 2) // 100] = 7  # -1 is 255, so the place is 2


@wl.system
def clamps(shelf: NarrowShelf):
    shelf.pair[wl.clamp(shelf.byte, 0, 2) - 1] = 7  # 0 - 1 is 255


@wl.system
def fits(shelf: NarrowShelf):
    shelf.sum[shelf.small % 5 + 1] += 1


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_narrow_indices_are_checked_where_they_wrap(device: str) -> None:
    library = wl.Definition(
        "NarrowLibrary-v0", world=Library, entities={NarrowShelf: 4}, step=[wraps, turns_round, fits]
    )
    sim = wl.Simulation(library, 1, device)
    shelf = sim[NarrowShelf]
    shelf.small.assign(np.array([[99, 60, -3, 127]], np.int8))
    shelf.byte.assign(np.array([[0, 1, 2, 3]], np.uint8))
    shelf.books.assign(np.arange(2000, dtype=np.int32).reshape(1, 4, 500))
    sim.step()
    assert sim.errors() == []
    assert shelf.found.numpy()[0].tolist() == [483, 544, 1485 - 256 + 244, 1635 + 244]
    assert shelf.negative.numpy()[0, :2].tolist() == [[7, 0, 0], [0, 0, 7]]
    assert shelf.sum.numpy()[0, 0].tolist() == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("device", ["python", "cpu"])
@pytest.mark.parametrize(("rule", "index"), [(leaves, 128), (clamps, 255)], ids=["leaves", "clamps"])
def test_a_narrow_index_out_of_range_is_a_fault(rule: wl.System, index: int, device: str) -> None:
    library = wl.Definition("Leaving-v0", world=Library, entities={NarrowShelf: 4}, step=[rule])
    sim = wl.Simulation(library, 1, device)
    sim.step()
    (fault, *_) = sim.errors()
    assert f"index of shelf.pair (size 3) {index} is out of range" in str(fault)
