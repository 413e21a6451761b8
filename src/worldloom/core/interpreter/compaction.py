"""The interpreter's settlement of a population whose rows are those of the whole batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.model.population import DESPAWNED, ROW_WORLD, Population
from worldloom.core.runtime.table import Column

Array = np.ndarray[Any, Any]


def compact_pooled(
    population: Population, own: dict[str, Column], new: dict[str, Column], world: dict[str, Column], staged: int
) -> Array:
    """Let those leave who leave, and the first ``staged`` of the new ones enter, as far as there is room.

    Who stays keeps a row; the new ones take what is left, world after world. Where more were to be noted than there are rows,
    ``staged`` is larger than the batch, and none enters.

    Returns how many did not fit, int32 of shape (num_worlds,).
    """
    counts, firsts, pending, changed = (
        world[f"{population.table}__{n}"].values for n in ("count", "first", "pending", "changed")
    )
    batch = int(population.limit.batch or 0)
    old = np.repeat(firsts, counts) + _places(counts)
    stay = ~own[DESPAWNED].values[old]
    own[DESPAWNED].values[old] = False
    kept = np.bincount(np.repeat(np.arange(len(counts)), counts)[stay], minlength=len(counts))
    wanted = np.minimum(pending, population.limit.per_world - kept)
    room = batch - int(kept.sum()) if staged <= batch else 0
    granted = np.clip(room - _before(wanted), 0, wanted)
    first = _before(kept + granted)

    comers = new[ROW_WORLD].values[: staged if staged <= batch else 0]
    ordered = np.argsort(comers, kind="stable")  # new ones lie in the order in which they were spawned
    rank = _places(np.bincount(comers, minlength=len(counts)))
    enter = rank < granted[comers[ordered]]
    homes = comers[ordered[enter]]
    entered = first[homes] + kept[homes] + rank[enter]

    stayed = np.repeat(first, kept) + _places(kept)
    for name, column in own.items():
        if name not in (DESPAWNED, ROW_WORLD):
            column.values[stayed] = column.values[old[stay]]
            column.values[entered] = new[name].values[ordered[enter]] if name in new else column.field.default
    own[ROW_WORLD].values[: int((kept + granted).sum())] = np.repeat(np.arange(len(counts)), kept + granted)
    lost: Array = pending - granted
    firsts[:], counts[:], pending[:], changed[:] = first, kept + granted, 0, False
    return lost


def _before(numbers: Array) -> Array:
    """The sum of all numbers before each."""
    found: Array = np.cumsum(numbers) - numbers
    return found


def _places(counts: Array) -> Array:
    """0, 1, ... for each of the groups of ``counts`` elements, one after the other."""
    found: Array = np.arange(int(counts.sum())) - np.repeat(_before(counts), counts)
    return found
