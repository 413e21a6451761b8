"""Sums and products of narrow integers wrap before they are used as an index, so their bounds are those of their type."""

import numpy as np
import pytest

import worldloom as wl


class Shelf(wl.Entity):
    small: wl.int8
    byte: wl.uint8
    books: wl.Array(int, 500)
    pair: wl.Array(int, 3)
    negative: wl.Array(int, 3)
    sum: wl.Array(int, 6)
    found: int


class Library(wl.World):
    pass


@wl.system
def wraps(shelf: Shelf):
    shelf.found = shelf.books[(shelf.small % 100) * 5]  # 60 * 5 is 44, 99 * 5 is -17


@wl.system
def leaves(shelf: Shelf):
    shelf.pair[(shelf.byte % 5 - 3) // 2 + 2] = 7  # 0 - 3 is 253, so the place is 128


@wl.system
def turns_round(shelf: Shelf):
    shelf.negative[-(shelf.byte % 2) // 100] = 7  # -1 is 255, so the place is 2


@wl.system
def fits(shelf: Shelf):
    shelf.sum[shelf.small % 5 + 1] += 1


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_narrow_indices_are_checked_where_they_wrap(device: str) -> None:
    library = wl.Definition("Library-v0", world=Library, entities={Shelf: 4}, step=[wraps, turns_round, fits])
    sim = wl.Simulation(library, 1, device)
    shelf = sim[Shelf]
    shelf.small.assign(np.array([[99, 60, -3, 127]], np.int8))
    shelf.byte.assign(np.array([[0, 1, 2, 3]], np.uint8))
    shelf.books.assign(np.arange(2000, dtype=np.int32).reshape(1, 4, 500))
    sim.step()
    assert sim.errors() == []
    assert shelf.found.numpy()[0].tolist() == [483, 544, 1485 - 256 + 244, 1635 + 244]
    assert shelf.negative.numpy()[0, :2].tolist() == [[7, 0, 0], [0, 0, 7]]
    assert shelf.sum.numpy()[0, 0].tolist() == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_a_narrow_index_that_leaves_its_array_is_a_fault(device: str) -> None:
    library = wl.Definition("Leaving-v0", world=Library, entities={Shelf: 4}, step=[leaves])
    sim = wl.Simulation(library, 1, device)
    sim.step()
    (fault, *_) = sim.errors()
    assert "index of shelf.pair (size 3) 128 is out of range" in str(fault)
