"""Scratch memory of compaction: its size, and that it is not part of the state."""

from __future__ import annotations

from pooled_worlds import PER_WORLD, Seed, bed

import worldloom as wl
from worldloom.core.model import scratch_columns
from worldloom.core.runtime import scratch
from worldloom.core.schedule.schedule import plan


def test_a_column_is_as_long_as_what_it_counts() -> None:
    population = bed("drop", batch=500).populations["Seed"]
    fields = scratch_columns.fields(population, plan(bed("drop", batch=500), "same_step", True).tables["Seed"].fields)
    assert {n: scratch.rows(population, n, 65) for n in fields} == {
        **{"state": 5, "kept": 65, "filed": 65, "copied": 65, "before": 65, "sums": 3, "order": 500},
        **{"spare_number": 500, "spare_sown": 500, "spare_wl_serial": 500},
    }


def test_only_what_the_kernels_of_the_device_take_is_there() -> None:
    with wl.Simulation(bed("drop"), 4, "cpu", seed=0) as sim:
        assert set(sim.executor.tables) - set(sim.tables) == {"Seed__scratch"}
        assert set(sim.executor.tables["Seed__scratch"].columns) == {"state", "kept", "filed"}
        assert sim[Seed].number.shape == (12,)


def test_worlds_with_rows_of_their_own_have_none() -> None:
    schedule = plan(PER_WORLD, "same_step", True)
    assert schedule.scratch.keys() == {rows.name for rows in schedule.lists.values()}, "only lists, for a GPU"
    with wl.Simulation(PER_WORLD, 4, "cpu", seed=0) as sim:
        assert set(sim.executor.tables) == set(sim.tables)
