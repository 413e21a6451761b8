"""Grids: uniform grids over the positions of a kind of entity, for the search of neighbours.

A grid covers the bounding box of all entities of a kind in one world, with about as many cells as the kind's capacity.
It holds the positions sorted by cell (row by row along x, then y, then z), within a cell in the order of the entities,
so that adjacent cells of a row are contiguous in memory. The cell of a position is computed with a subtraction, a
product and a truncation. These round alike on every device, and the cell index is monotonic in the position.
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
"""Largest number of cells along one axis, by the number of axes: all cells fit into the shared memory of a GPU
block."""

PARTS = ("low", "scale", "starts", "slots", "places")
"""The columns of a grid: the lower corner of the box, cells per unit of length, the index of the first entity of
each cell (and the end of the last cell), the entities sorted by cell, and their positions."""

BRUTE_FORCE_LIMIT = 256
"""Capacity of a kind up to which ``world.nearest`` compares all entities. That needs no grid, and threads that read
the same entities in the same order do not diverge."""

VECTORS: dict[Any, int] = {wp.vec2f: 2, wp.vec3f: 3}
"""The component types that a grid can be built over, with their number of axes."""

Array = np.ndarray[Any, Any]


def uses_brute_force(capacity: int) -> bool:
    """Whether ``world.nearest`` compares all of up to ``capacity`` entities instead of searching a grid."""
    return capacity <= BRUTE_FORCE_LIMIT


@dataclass(frozen=True)
class Grid:
    """The grid of one kind of entity by one of its components.

    Attributes:
        table: The kind's name.
        by: The component that holds the positions.
        axes: 2 or 3.
        room: The capacity of the kind per world.
    """

    table: str
    by: str
    axes: int
    room: int

    @functools.cached_property
    def cells(self) -> int:
        """Cells along each axis."""
        cells = 1
        while cells < MAX_CELLS[self.axes] and (cells + 1) ** self.axes <= self.room:
            cells += 1
        return cells

    @property
    def size(self) -> int:
        """The number of cells of one world."""
        return int(self.cells**self.axes)

    @property
    def vector(self) -> Any:
        return wp.vec2f if self.axes == 2 else wp.vec3f

    @property
    def key(self) -> tuple[str, str]:
        """Its key among the grids of a world."""
        return self.table, self.by

    @property
    def label(self) -> str:
        return f"grid of {self.table} by {self.by}"

    def column(self, part: str) -> str:
        """The field of the world that holds one of :data:`PARTS`."""
        return f"{self.table}__{self.by}__{part}"

    def field(self, part: str) -> Field:
        """The field of one of :data:`PARTS`. It is transient: a grid is rebuilt in every step that uses it."""
        dtype = wp.int32 if part in ("starts", "slots") else self.vector
        shape = {"starts": (self.size + 1,), "slots": (self.room,), "places": (self.room,)}.get(part, ())
        return Field(self.column(part), dtype, shape, Role.ENGINE, keep=True, transient=True)

    @property
    def fields(self) -> dict[str, Field]:
        return {self.column(part): self.field(part) for part in PARTS}


def grid_fields(grids: Iterable[Grid]) -> dict[str, Field]:
    """The fields that the engine adds to the world for ``grids``."""
    return {name: field for grid in grids for name, field in grid.fields.items()}


@np.errstate(all="ignore")
def sort_into_cells(grid: Grid, places: Array) -> dict[str, Array]:
    """The columns of the grid over ``places``, float32 of shape (count, axes), by :data:`PARTS`, as in the kernels."""
    edge = np.full((1, grid.axes), np.inf, np.float32)
    low = np.fmin.reduce(np.concatenate([edge, places])) + np.float32(0)  # fmin ignores NaN; + 0 makes 0.0 of -0.0
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
    """The squared distances of ``places`` from ``point``, float32, summed axis by axis as in the kernels."""
    difference = places - point
    total: Array = difference[:, 0] * difference[:, 0]
    for axis in range(1, places.shape[1]):
        total = total + difference[:, axis] * difference[:, axis]
    return total


def slots_within(slots: Array, places: Array, point: Array, radius: np.float32) -> list[int]:
    """The entities no farther than ``radius`` from ``point``, in the order of the cells."""
    within: list[int] = slots[np.sqrt(squared_distances(places, point)) <= radius].tolist()
    return within


def nearest_slots(places: Array, point: Array, k: int) -> list[int]:
    """The ``k`` of ``places`` nearest to ``point``, nearest first; of equally near ones the lower slot first."""
    distances = squared_distances(places, point)
    not_nan = np.flatnonzero(distances == distances)
    nearest: list[int] = not_nan[np.argsort(distances[not_nan], kind="stable")][:k].tolist()
    return nearest
