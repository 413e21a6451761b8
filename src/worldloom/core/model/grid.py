"""Grids: where the entities of a kind are, so that a system finds the near ones without asking all of them.

A grid covers the box around all entities of a kind in one world with about as many cells as there may be entities. It holds their
places in the order of the cells (row after row along x, then y, then z), within a cell in the order of the entities, so that the
cells beside each other in a row are one stretch of memory. The cell of a place is found with a subtraction, a product and a cut, which
round alike on every device, and never falls as the place grows.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.model.fields import Field, Role

MAX_CELLS = {2: 64, 3: 16}
"""Cells along one axis at most, by the number of axes: all of them fit into the memory that the threads of a GPU block share."""

PARTS = ("low", "scale", "starts", "slots", "places")
"""What a world keeps of a grid: the lower corner of the box, cells per unit of length, where each cell begins in the order of the
cells (and where the last one ends), the entities in that order, and their places."""

BRUTE_FORCE_LIMIT = 256
"""Of kinds with up to so many entities per world the nearest are found by asking every one of them: that needs no grid, and threads that ask the
same entities in the same order stay together."""

VECTORS: dict[Any, int] = {wp.vec2f: 2, wp.vec3f: 3}
"""The types of component that a grid can be made of, with their number of axes."""

Array = np.ndarray[Any, Any]


def uses_brute_force(room: int) -> bool:
    """Whether ``world.nearest`` asks all of up to ``room`` entities instead of looking into a grid."""
    return room <= BRUTE_FORCE_LIMIT


@dataclass(frozen=True)
class Grid:
    """The grid of one kind of entity by one of its components.

    Attributes:
        table: The kind's name.
        by: The component that holds the places.
        axes: 2 or 3.
        room: How many entities of the kind one world may hold.
    """

    table: str
    by: str
    axes: int
    room: int

    @functools.cached_property
    def cells(self) -> int:
        """Cells along each axis."""
        found = 1
        while found < MAX_CELLS[self.axes] and (found + 1) ** self.axes <= self.room:
            found += 1
        return found

    @property
    def size(self) -> int:
        """All cells of one world."""
        return int(self.cells**self.axes)

    @property
    def vector(self) -> Any:
        return wp.vec2f if self.axes == 2 else wp.vec3f

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from the other grids of a world."""
        return self.table, self.by

    @property
    def label(self) -> str:
        return f"grid of {self.table} by {self.by}"

    def column(self, part: str) -> str:
        """The field of the world that holds one of :data:`PARTS`."""
        return f"{self.table}__{self.by}__{part}"

    def field(self, part: str) -> Field:
        """Engine fields that mean something only within one step: a grid is made anew in every step that asks for it."""
        dtype = wp.int32 if part in ("starts", "slots") else self.vector
        shape = {"starts": (self.size + 1,), "slots": (self.room,), "places": (self.room,)}.get(part, ())
        return Field(self.column(part), dtype, shape, Role.ENGINE, keep=True, transient=True)

    @property
    def fields(self) -> dict[str, Field]:
        return {self.column(part): self.field(part) for part in PARTS}


def grid_fields(grids: Iterable[Grid]) -> dict[str, Field]:
    """Every field that the world keeps for ``grids``."""
    return {name: field for grid in grids for name, field in grid.fields.items()}


@np.errstate(all="ignore")
def sort_into_cells(grid: Grid, places: Array) -> dict[str, Array]:
    """What a world keeps of the grid over ``places``, float32 of shape (count, axes), by :data:`PARTS`: the interpreter's twin of the kernels."""
    edge = np.full((1, grid.axes), np.inf, np.float32)
    low = np.fmin.reduce(np.concatenate([edge, places])) + np.float32(
        0
    )  # fmin passes over what is no number; and 0.0 for -0.0
    high = np.fmax.reduce(np.concatenate([-edge, places]))
    scale = np.where(high > low, np.float32(grid.cells) / (high - low), np.float32(0))
    along = (places - low) * scale
    along = np.where(along > 0, np.fmin(along, np.float32(grid.cells - 1)), np.float32(0)).astype(np.int64)
    cell = along @ (grid.cells ** np.arange(grid.axes))
    slots = np.argsort(cell, kind="stable").astype(np.int32)
    starts = np.searchsorted(cell[slots], np.arange(grid.size + 1)).astype(np.int32)
    return {"low": low, "scale": scale, "starts": starts, "slots": slots, "places": places[slots]}


@np.errstate(all="ignore")
def squared_distances(places: Array, point: Array) -> Array:
    """The squares of the distances of ``places`` from ``point``, float32, added axis by axis as the kernels add them."""
    apart = places - point
    total = apart[:, 0] * apart[:, 0]
    for axis in range(1, places.shape[1]):
        total = total + apart[:, axis] * apart[:, axis]
    found: Array = total
    return found


def slots_within(slots: Array, places: Array, point: Array, radius: np.float32) -> list[int]:
    """The entities no farther than ``radius`` from ``point``, in the order of the cells."""
    found: list[int] = slots[np.sqrt(squared_distances(places, point)) <= radius].tolist()
    return found


def nearest_slots(places: Array, point: Array, k: int) -> list[int]:
    """The ``k`` of ``places`` nearest to ``point``, nearest first, and by their slot where two are equally near."""
    apart = squared_distances(places, point)
    known = np.flatnonzero(apart == apart)
    found: list[int] = known[np.argsort(apart[known], kind="stable")][:k].tolist()
    return found
