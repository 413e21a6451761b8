"""What worlds must equal after a copy or beside a reset: values read from the columns, without the code of snapshots.

A value that a copy leaves out is the same on all devices, so that comparing devices does not show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import worldloom as wl
from worldloom.core.model.population import DESPAWNED, ROW_WORLD
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.pooled_table import PooledTable
from worldloom.core.runtime.table import PopulationTable, Table

Values = dict[str, bytes]
"""The values of one world by column, without those of empty slots."""


def world_values(simulation: wl.Simulation) -> list[Values]:
    """The values of each world that persist between two steps, but for its place in memory.

    Columns of agents that every step copies from other entities are left out.
    """
    worlds = range(simulation.num_worlds)
    values: list[Values] = [{} for _ in worlds]
    placed = {t.first_rows.name for t in simulation.tables.values() if isinstance(t, PooledTable)}
    for table in simulation.tables.values():
        for column in table:
            if column.same_as is None and column.name not in placed and column.field.name not in (ROW_WORLD, DESPAWNED):
                for world, rows in zip(worlds, _rows(table, column, len(worlds)), strict=True):
                    values[world][column.name] = rows.tobytes()
    return values


def _rows(table: Table, column: Column, worlds: int) -> Iterator[Any]:
    """The values of a column in each world."""
    values = column.numpy()
    starts = table.first_rows.numpy() if isinstance(table, PooledTable) else None
    counts = table.counts.numpy() if isinstance(table, PopulationTable) else None
    for world in range(worlds):
        if starts is not None and counts is not None:
            yield values[starts[world] : starts[world] + counts[world]]
        elif counts is not None:
            yield values[world][: counts[world]]
        else:
            yield values[world if len(values) == worlds else 0]


def require_equal(simulation: wl.Simulation, expected: Sequence[Values]) -> None:
    """AssertionError where a world of the simulation does not have the values of ``expected``."""
    for world, (found, values) in enumerate(zip(world_values(simulation), expected, strict=True)):
        wrong = sorted(name for name in values if values[name] != found[name])
        assert not wrong, f"{', '.join(wrong)} of world {world} must be as before, or as in what it was copied from"


@contextmanager
def changes_nothing_if_refused(simulation: wl.Simulation) -> Iterator[list[Values]]:
    """The values of before, which every world must still have after an error."""
    before = world_values(simulation)
    try:
        yield before
    except wl.WorldloomError:
        require_equal(simulation, before)
        raise
