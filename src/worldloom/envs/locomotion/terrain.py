"""Terrain: rectangular obstacles of random size, place and orientation, and a raster of their heights."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Heights = np.ndarray[Any, np.dtype[np.float64]]


class Obstacle(NamedTuple):
    """A block on the ground: the place of its centre, its two sides and its height in metres, its angle in radians."""

    center: tuple[float, float]
    sides: tuple[float, float]
    angle: float
    height: float


@dataclass(frozen=True)
class Terrain:
    """A square of ground.

    Attributes:
        half_size: Half of its side, in metres.
        cells: Points of the raster along each side.
        num_obstacles: Number of obstacles.
        min_side, max_side: Bounds of the sides of an obstacle, in metres.
        min_height, max_height: Bounds of its height, in metres.
        clearing: No obstacle is closer than this to the origin, in metres.
        seed: Seed of the obstacles.
    """

    half_size: float = 40.0
    cells: int = 400
    num_obstacles: int = 400
    min_side: float = 0.5
    max_side: float = 3.0
    min_height: float = 0.05
    max_height: float = 0.25
    clearing: float = 0.5
    seed: int = 0

    @property
    def cell(self) -> float:
        """Side of a cell, in metres."""
        return 2.0 * self.half_size / (self.cells - 1)

    @functools.cached_property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """The obstacles. They may overlap."""
        generator = np.random.default_rng(self.seed)
        obstacles = []
        while len(obstacles) < self.num_obstacles:
            x, y = generator.uniform(-self.half_size, self.half_size, 2).tolist()
            length, width = generator.uniform(self.min_side, self.max_side, 2).tolist()
            angle, height = generator.uniform(0.0, np.pi), generator.uniform(self.min_height, self.max_height)
            if np.hypot(x, y) >= self.clearing + np.hypot(length, width) / 2:
                obstacles.append(Obstacle((x, y), (length, width), angle, height))
        return tuple(obstacles)

    @functools.cached_property
    def heights(self) -> Heights:
        """Height of the ground at each point of the raster, [y, x], in metres."""
        axis = np.linspace(-self.half_size, self.half_size, self.cells)
        heights = np.zeros((self.cells, self.cells))
        for center, sides, angle, height in self.obstacles:
            reach = np.hypot(*sides) / 2
            columns, rows = (
                slice(*np.searchsorted(axis, (middle - reach, middle + reach)).tolist()) for middle in center
            )
            x, y = np.meshgrid(axis[columns] - center[0], axis[rows] - center[1])
            along = np.abs(x * np.cos(angle) + y * np.sin(angle)) < sides[0] / 2
            across = np.abs(y * np.cos(angle) - x * np.sin(angle)) < sides[1] / 2
            part = heights[rows, columns]
            part[along & across] = np.maximum(part[along & across], height)
        return heights
