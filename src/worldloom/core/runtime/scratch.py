"""Memory for the scratch columns of pooled and of large populations, and for lists of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import warp as wp

from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.kernels.world_order_kernels import order_size
from worldloom.core.model import sort_columns
from worldloom.core.model.fields import Field
from worldloom.core.model.population import Population
from worldloom.core.model.row_list import ROWS, VALUES, RowList, list_field
from worldloom.core.model.scratch_columns import PER_WORLD, STATE
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.table import Table


def rows(population: Population, name: str, num_worlds: int) -> int:
    """Number of rows of one of the columns."""
    if not population.pooled:
        return sort_columns.rows(population, name, num_worlds)
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
    lists: Iterable[RowList] = (),
    tile_worlds: int = 1,
) -> dict[str, Table]:
    """The scratch tables by name, with the ``known`` fields that kernels use, and the ``lists`` that they use.

    ``tile_worlds``: worlds of a tile of their kernels, whose rows have lists of their own.
    """
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
    for rows_by_value in lists:
        name = rows_by_value.name
        if rows_by_value.column(ROWS) in used:
            columns = {
                n: Column(name, f, num_worlds, 1, device, total=rows_by_value.size(n, num_worlds, tile_worlds))
                for n, f in rows_by_value.fields.items()
            }
            columns[VALUES].array.assign(np.array(rows_by_value.values, np.int32))
            tables[name] = Table(name, columns, 1)
        order = rows_by_value.order
        if order in used and order[0] not in tables:
            column = Column(order[0], list_field(order[1]), num_worlds, 1, device, total=order_size(num_worlds))
            tables[order[0]] = Table(order[0], {order[1]: column}, 1)
    return tables
