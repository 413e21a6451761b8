"""The nearest dispenser, serving counter and pots of every position, as overcooked-ai's motion planner finds them."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from worldloom.envs.overcooked.layout import Layout
from worldloom.envs.overcooked.start_state import ORIENTATIONS

Array = np.ndarray[Any, Any]
Pose = tuple[int, int, int]
"""x, y and the orientation."""

NEAREST = ("O", "T", "D", "S")
"""Terrain with one nearest cell each; the two nearest pots follow."""
TARGETS = len(NEAREST) + 2
NO_CELL = 255
"""Index of the cell where there is no such cell within reach."""


def nearest_targets(layout: Layout) -> Array:
    """The nearest cells of every pose.

    Distance is the number of moves and turns until a player faces the cell. Among equals the first in row order wins.
    Counters are no targets, as in overcooked-ai's default motion planner.

    Returns:
        (x, y) of each target, -1 where none is within reach; int16 of shape (width, height, 4, ``TARGETS``, 2).
    """
    found = np.full((layout.width, layout.height, len(ORIENTATIONS), TARGETS, 2), -1, np.int16)
    distances = {target: _distances(layout, target) for letter in (*NEAREST, "P") for target in layout.cells(letter)}
    for x, y in layout.cells(" "):
        for facing in range(len(ORIENTATIONS)):
            pose = (x, y, facing)
            for number, letter in enumerate(NEAREST):
                reached = _by_distance(layout.cells(letter), distances, pose)
                if reached:
                    found[x, y, facing, number] = reached[0]
            for number, pot in enumerate(_by_distance(layout.cells("P"), distances, pose)[:2]):
                found[x, y, facing, len(NEAREST) + number] = pot
    return found


def _by_distance(
    cells: list[tuple[int, int]], distances: dict[tuple[int, int], dict[Pose, int]], pose: Pose
) -> list[tuple[int, int]]:
    """The cells within reach of a pose, the nearest first."""
    return sorted((cell for cell in cells if pose in distances[cell]), key=lambda cell: distances[cell][pose])


def _distances(layout: Layout, target: tuple[int, int]) -> dict[Pose, int]:
    """Moves and turns from every pose until a player faces ``target``: breadth-first search, backwards."""
    floor = set(layout.cells(" "))
    before: dict[Pose, list[Pose]] = {}
    goals = []
    for x, y in floor:
        for facing in range(len(ORIENTATIONS)):
            for turn, (dx, dy) in enumerate(ORIENTATIONS):
                ahead = (x + dx, y + dy)
                after = (*ahead, turn) if ahead in floor else (x, y, turn)
                before.setdefault(after, []).append((x, y, facing))
            dx, dy = ORIENTATIONS[facing]
            if (x + dx, y + dy) == target:
                goals.append((x, y, facing))
    distances = dict.fromkeys(goals, 0)
    queue = deque(goals)
    while queue:
        pose = queue.popleft()
        for earlier in before.get(pose, ()):
            if earlier not in distances:
                distances[earlier] = distances[pose] + 1
                queue.append(earlier)
    return distances
