"""Neighbour queries of the reference, in the order that docs/neighbours.md specifies."""

from __future__ import annotations

from typing import Any

import numpy as np

_MOST_CELLS = {2: 64, 3: 16}


def distances_squared(places: Any, point: Any) -> Any:
    """The squared distances of ``places``, shape (count, axes), from ``point``, added axis by axis."""
    apart = places - point
    total = apart[:, 0] * apart[:, 0]
    for axis in range(1, places.shape[1]):
        total = total + apart[:, axis] * apart[:, axis]
    return total


def near(places: Any, point: Any, radius: Any, room: int) -> list[int]:
    """The entities within ``radius``, in the order of the cells of a grid; ``room`` is the capacity of a world."""
    if not len(places):
        return []
    axes = places.shape[1]
    cells = 1
    while cells < _MOST_CELLS[axes] and (cells + 1) ** axes <= room:
        cells += 1
    order = np.zeros(len(places), np.int64)
    for axis in range(axes):
        along = places[:, axis]
        known = along[~np.isnan(along)]
        low, high = (known.min() + np.float32(0), known.max()) if len(known) else (np.float32(0), np.float32(0))
        scale = np.float32(cells) / (high - low) if high > low else np.float32(0)
        cell = (along - low) * scale
        cell = np.where(cell > 0, np.fmin(cell, np.float32(cells - 1)), np.float32(0)).astype(np.int64)
        order += cell * cells**axis
    within = np.sqrt(distances_squared(places, point)) <= radius
    return [int(slot) for slot in np.argsort(order, kind="stable") if within[slot]]


def nearest(places: Any, point: Any, k: int) -> list[int]:
    """The ``k`` nearest entities, nearest first, and by their index where distances are equal."""
    apart = distances_squared(places, point)
    known = np.flatnonzero(~np.isnan(apart))
    return [int(slot) for slot in known[np.argsort(apart[known], kind="stable")][:k]]
