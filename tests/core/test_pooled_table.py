"""The table of a population with rows for the whole batch: its exports, and worlds copied onto one another."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pooled_worlds import Seed, bed

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.runtime.pooled_table import PooledTable


@pytest.fixture
def sim() -> wl.Simulation:
    """Four worlds of 2, 0, 3 and 1 seeds, with rows for 12."""
    made = wl.Simulation(bed("drop"), 4, "python", seed=0)
    made.set_config("births", np.array([2, 0, 3, 1], np.int32))
    made.step()
    made.set_config("births", 0)
    return made


def test_its_columns_have_a_row_for_every_place_of_the_batch(sim: wl.Simulation) -> None:
    table = sim[Seed]
    assert isinstance(table, PooledTable)
    assert table.number.shape == (12,) and table.first_rows.numpy().tolist() == table.offsets.tolist() == [0, 2, 2, 5]
    assert table.counts.numpy().tolist() == [2, 0, 3, 1] and table.wl_world.numpy()[:6].tolist() == [0, 0, 2, 2, 2, 3]
    assert (
        repr(table) == "<table Seed: up to 6 per world and 12 in the batch, columns number, sown, wl_serial, wl_world>"
    )


def test_rows_are_those_of_all_worlds_and_share_the_columns_memory(sim: wl.Simulation) -> None:
    rows = sim[Seed].rows("number")
    assert rows.tolist() == [1, 2, 1, 2, 3, 1]
    rows[2] = 77
    assert sim[Seed].number.numpy()[2] == 77


def test_padded_is_as_wide_as_the_fullest_world(sim: wl.Simulation) -> None:
    table = sim[Seed]
    assert table.padded("number", fill=-1).tolist() == [[1, 2, -1], [-1, -1, -1], [1, 2, 3], [1, -1, -1]]
    assert table.mask.tolist() == [[True, True, False], [False] * 3, [True] * 3, [True, False, False]]
    assert torch.equal(table.padded("number")[table.mask], table.rows("number"))
    sim.reset()
    assert table.padded("number").shape == table.mask.shape == (4, 0)


def test_an_element_is_told_by_its_world(sim: wl.Simulation) -> None:
    assert sim[Seed].locate((3,)) == (2, (1,)) and sim[Seed].locate((11,)) == (-1, (11,))
    assert sim.world.locate((3, 1)) == (3, (1,))


def test_worlds_are_copied_as_if_all_at_once(sim: wl.Simulation) -> None:
    table = sim[Seed]
    table.number = np.arange(12, dtype=np.int32)
    table.copy_worlds(torch.tensor([2, 0, 2, 3]))
    assert table.rows("number").tolist() == [2, 3, 4, 0, 1, 2, 3, 4, 5]
    assert table.counts.numpy().tolist() == [3, 2, 3, 1] and table.offsets.tolist() == [0, 3, 5, 8]
    sim.set_config("births", np.array([0, 1, 0, 0], np.int32))
    sim.step()
    assert table.rows("number").tolist() == [2, 3, 4, 0, 1, 1, 2, 3, 4, 5] and table.wl_world.numpy()[:10].tolist() == [
        0,
        0,
        0,
        1,
        1,
        1,
        2,
        2,
        2,
        3,
    ]


def test_copies_that_do_not_fit_are_refused_and_change_nothing(sim: wl.Simulation) -> None:
    sim.set_config("births", np.array([0, 0, 1, 0], np.int32))
    sim.step()
    before = sim[Seed].rows("number").clone()
    with pytest.raises(InputError, match="hold 16 Seed, and the batch has room for 12: raise batch"):
        sim[Seed].copy_worlds(torch.full((4,), 2))
    assert torch.equal(sim[Seed].rows("number"), before) and sim[Seed].counts.numpy().tolist() == [2, 0, 4, 1]


def test_its_columns_are_the_engines_own_memory() -> None:
    with pytest.raises(InputError, match="cannot be external: the worlds share the rows of Seed"):
        wl.Simulation(bed("drop"), 4, "python", seed=0, external={"Seed.number": torch.zeros(12, dtype=torch.int32)})


def test_a_batch_is_a_whole_number_of_rows() -> None:
    for batch in (0, 2**30, 1.5, True):
        with pytest.raises(
            wl.DefinitionError,
            match=f"has batch={batch!r}, which is no whole number from 1 to 1,073,741,823",
        ):
            wl.register(
                "Bed-wrong", world=bed("drop").world, entities={Seed: wl.UpTo(6, batch=batch)}, step=bed("drop").step
            )
