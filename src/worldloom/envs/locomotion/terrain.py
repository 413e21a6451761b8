"""Terrain: a raster of heights with rectangular obstacles of random size, place and orientation."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

Heights = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Terrain:
    """A square of ground.

    Attributes:
        half_size: Half of its side, in metres.
        cells: Cells along each side.
        obstacles: Number of obstacles.
        min_side, max_side: Bounds of the sides of an obstacle, in metres.
        min_height, max_height: Bounds of its height, in metres.
        clearing: No obstacle has its centre closer than this to the origin, in metres.
        seed: Seed of the obstacles.
    """

    half_size: float = 40.0
    cells: int = 400
    obstacles: int = 800
    min_side: float = 0.4
    max_side: float = 2.0
    min_height: float = 0.05
    max_height: float = 0.25
    clearing: float = 1.5
    seed: int = 0

    @property
    def cell(self) -> float:
        """Side of a cell, in metres."""
        return 2.0 * self.half_size / (self.cells - 1)

    @functools.cached_property
    def heights(self) -> Heights:
        """Height of the ground at each point of the raster, [y, x], in metres."""
        generator = np.random.default_rng(self.seed)
        axis = np.linspace(-self.half_size, self.half_size, self.cells)
        heights = np.zeros((self.cells, self.cells))
        for _ in range(self.obstacles):
            center = generator.uniform(-self.half_size, self.half_size, 2)
            sides = generator.uniform(self.min_side, self.max_side, 2)
            angle, height = generator.uniform(0.0, np.pi), generator.uniform(self.min_height, self.max_height)
            if np.linalg.norm(center) < self.clearing:
                continue
            reach = np.linalg.norm(sides) / 2
            columns, rows = (
                slice(*np.searchsorted(axis, (middle - reach, middle + reach)).tolist()) for middle in center
            )
            x, y = np.meshgrid(axis[columns] - center[0], axis[rows] - center[1])
            along = np.abs(x * np.cos(angle) + y * np.sin(angle)) < sides[0] / 2
            across = np.abs(y * np.cos(angle) - x * np.sin(angle)) < sides[1] / 2
            part = heights[rows, columns]
            part[along & across] = np.maximum(part[along & across], height)
        return heights
