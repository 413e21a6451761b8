"""Memory for the scratch columns of pooled populations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import warp as wp

from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.fields import Field
from worldloom.core.model.population import Population
from worldloom.core.model.scratch_columns import PER_WORLD, STATE
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.table import Table


def rows(population: Population, name: str, num_worlds: int) -> int:
    """Number of rows of one of the columns."""
    if name == STATE.name:
        return 5
    if name in PER_WORLD:
        return num_worlds
    return (num_worlds + WARP_SIZE - 1) // WARP_SIZE if name == "sums" else int(population.limit.batch or 0)


def allocate(
    populations: Iterable[Population],
    known: Mapping[str, Mapping[str, Field]],
    used: set[tuple[str, str]],
    num_worlds: int,
    device: wp.Device,
) -> dict[str, Table]:
    """The scratch tables by name, with the ``known`` fields that kernels use."""
    tables: dict[str, Table] = {}
    for population in populations:
        name = population.scratch_table
        columns = {
            n: Column(name, f, num_worlds, 1, device, total=rows(population, n, num_worlds))
            for n, f in known.get(name, {}).items()
            if (name, n) in used
        }
        if columns:
            tables[name] = Table(name, columns, 1)
    return tables
