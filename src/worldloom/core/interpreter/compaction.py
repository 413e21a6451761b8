"""The interpreter's compaction of a pooled population, whose worlds share the rows of the batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.model.population import DESPAWNED, ROW_WORLD, Population
from worldloom.core.runtime.column import Column

Array = np.ndarray[Any, Any]


def compact_pooled(
    population: Population, own: dict[str, Column], new: dict[str, Column], world: dict[str, Column], staged: int
) -> Array:
    """Remove despawned entities, and add the first ``staged`` spawned ones as far as capacity allows.

    Survivors are placed first. Spawned entities take the remaining rows, in the order of their worlds. Where more
    entities were spawned than there are rows, ``staged`` is larger than the batch, and none is added.

    Returns the number of entities that did not fit, int32 of shape (num_worlds,).
    """
    counts, firsts, pending, changed = (
        world[f"{population.table}__{n}"].values for n in ("count", "first", "pending", "changed")
    )
    batch = int(population.limit.batch or 0)
    old = np.repeat(firsts, counts) + _ranks(counts)
    survives = ~own[DESPAWNED].values[old]
    own[DESPAWNED].values[old] = False
    survivors = np.bincount(np.repeat(np.arange(len(counts)), counts)[survives], minlength=len(counts))
    requested = np.minimum(pending, population.limit.per_world - survivors)
    free = batch - int(survivors.sum()) if staged <= batch else 0
    added = np.clip(free - _exclusive_sum(requested), 0, requested)
    first = _exclusive_sum(survivors + added)

    spawned_in = new[ROW_WORLD].values[: staged if staged <= batch else 0]
    by_world = np.argsort(spawned_in, kind="stable")  # within a world, in spawn order
    rank = _ranks(np.bincount(spawned_in, minlength=len(counts)))
    fits = rank < added[spawned_in[by_world]]
    worlds = spawned_in[by_world[fits]]
    added_rows = first[worlds] + survivors[worlds] + rank[fits]

    survivor_rows = np.repeat(first, survivors) + _ranks(survivors)
    for name, column in own.items():
        if name != ROW_WORLD and not column.field.transient:
            column.values[survivor_rows] = column.values[old[survives]]
            column.values[added_rows] = new[name].values[by_world[fits]] if name in new else column.field.default
    own[ROW_WORLD].values[: int((survivors + added).sum())] = np.repeat(np.arange(len(counts)), survivors + added)
    dropped: Array = pending - added
    firsts[:], counts[:], pending[:], changed[:] = first, survivors + added, 0, False
    return dropped


def _exclusive_sum(numbers: Array) -> Array:
    """The exclusive prefix sum."""
    sums: Array = np.cumsum(numbers) - numbers
    return sums


def _ranks(counts: Array) -> Array:
    """The index of each element in its group, for consecutive groups of ``counts`` elements."""
    ranks: Array = np.arange(int(counts.sum())) - np.repeat(_exclusive_sum(counts), counts)
    return ranks
