"""A world whose map is a configuration vector, which its systems index."""

from __future__ import annotations

import worldloom as wl
from worldloom.core.frontend.system import System

CELLS = 24
Heights = wl.vec(CELLS, wl.int8)


class Hiker(wl.Entity):
    at: wl.Between(int, 0, CELLS - 1)
    height: int
    start: int
    reward: wl.Reward


class Hill(wl.World):
    heights: wl.Config = Heights(*(k % 7 - 3 for k in range(CELLS)))
    weights: wl.Config = wl.vec(20)(*(0.5 * k for k in range(20)))


@wl.function
def height_at(heights: Heights, cell: int) -> int:
    return heights[cell]


@wl.function
def slope(heights: Heights, cell: int) -> int:
    return height_at(heights, cell) - height_at(heights, cell - 1)


@wl.function
def total(heights: Heights) -> int:
    other = heights
    return other[0]


@wl.system
def climb(hiker: Hiker, world: Hill):
    hiker.at = (hiker.at + 5) % CELLS
    hiker.height = height_at(world.heights, hiker.at) + world.heights[0]
    hiker.reward = float(slope(world.heights, hiker.at))


@wl.system
def weigh(hiker: Hiker, world: Hill):
    hiker.reward += wl.length(world.weights)


@wl.system
def start(hiker: Hiker, world: Hill):
    hiker.start = height_at(world.heights, world.integer(CELLS))


@wl.system
def look_back(hiker: Hiker, world: Hill):
    hiker.start = total(world.heights)


def hill(*more: System) -> wl.Definition:
    """Hikers who read the heights of cells, and the systems ``more``."""
    return wl.Definition("Hill-test", Hill, {Hiker: 2}, reset=(start,), step=(climb, *more), max_steps=4)
