"""Scratch memory of a large population, with which the kernels of a compaction on CUDA sort its spawned entities.

Like that of a pooled population, it has no meaning between two steps, and is allocated only where kernels take it.
"""

from __future__ import annotations

import warp as wp

from worldloom.core.model.fields import Field, Role
from worldloom.core.model.population import Population

KEPT, FREE, END = "kept", "free", "end"
"""Columns with a row per world: the number of survivors, the number of rows from the first despawned entity to the
world's last row, 0 where none is despawned, and the row after the last survivor."""

SERIALS, ORDER = ("serials_0", "serials_1"), ("order_0", "order_1")
"""Columns with a row per staging row, each twice since a merge reads one and writes the other: serial numbers, and the
index of the spawned entity in its world that has the number."""


def fields() -> dict[str, Field]:
    """Every column."""
    types = {**dict.fromkeys((KEPT, FREE, END, *ORDER), wp.int32), **dict.fromkeys(SERIALS, wp.int64)}
    return {name: Field(name, dtype, role=Role.ENGINE, keep=True, transient=True) for name, dtype in types.items()}


def rows(population: Population, name: str, num_worlds: int) -> int:
    """Number of rows of one of the columns."""
    return num_worlds * (population.spawn_capacity if name in (*SERIALS, *ORDER) else 1)
