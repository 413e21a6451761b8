"""The lowest bit that is set, and loops over sets of bits: the same on every device."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.base.errors import DefinitionError
from worldloom.core.kernels.bits import lowest_bit

SETS = [0, 1, 2, 3, 12, 0x50, 1 << 30, -(2**31), -1, -2, 0x7FFFFFFF, 0x00F0_0300]


class Row(wl.Entity):
    bits: int
    first: int
    total: int


class Board(wl.World):
    pass


@wl.system
def add_places(row: Row):
    row.first = lowest_bit(row.bits)
    row.total = 0
    left = row.bits
    for _ in range(32):
        if left == 0:
            break
        row.total += lowest_bit(left)
        left = left & (left - 1)


def places(bits: int) -> list[int]:
    return [place for place in range(32) if (bits >> place) & 1]


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_a_loop_takes_every_bit_once(device: str) -> None:
    definition = wl.Definition("Board-test", Board, {Row: 1}, step=(add_places,))
    simulation = wl.Simulation(definition, len(SETS), device)
    simulation.tables["Row"]["bits"].array.assign(np.int32(SETS))
    simulation.step()
    assert simulation["Row"].first.numpy().ravel().tolist() == [min(places(bits), default=-1) for bits in SETS]
    assert simulation["Row"].total.numpy().ravel().tolist() == [sum(places(bits)) for bits in SETS]


@pytest.mark.parametrize("bits", SETS)
def test_it_can_be_called_from_python(bits: int) -> None:
    assert lowest_bit(bits) == min(places(bits), default=-1)


def test_a_call_without_an_integer_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"lowest_bit\(\) takes one integer"):

        @wl.system
        def wrong(row: Row):
            row.first = lowest_bit()

        wl.Simulation(wl.Definition("Wrong-test", Board, {Row: 1}, step=(wrong,)), 1, "python")
