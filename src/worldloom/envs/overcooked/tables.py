"""Layouts as arrays: the configuration that systems read, with one row per layout."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.envs.overcooked.layout import Layout
from worldloom.envs.overcooked.nearest import NO_CELL, nearest_targets
from worldloom.envs.overcooked.recipes import RECIPES, recipe_index

Array = np.ndarray[Any, Any]

OUTSIDE, ONION, TOMATO, DISH, SERVING, COUNTER, FLOOR, POT = range(8)
"""Codes of terrain. A dispenser has the code of its object. The k-th pot has the code ``POT + k``."""
EMPTY = 0
SOUP = 16
"""Codes of objects: ``EMPTY``, ``ONION``, ``TOMATO``, ``DISH``, and ``SOUP`` + the number of the recipe."""
CODES = {"X": COUNTER, "O": ONION, "T": TOMATO, "D": DISH, "S": SERVING, " ": FLOOR}
NOT_COOKING = -1


@dataclasses.dataclass(frozen=True)
class Size:
    """What is fixed when a world is compiled.

    Attributes:
        width, height: The largest grid, in cells.
        players: The number of players.
        pots: The largest number of pots.
    """

    width: int
    height: int
    players: int
    pots: int

    @property
    def cells(self) -> int:
        """The number of cells. The cell (x, y) has the index ``x * height + y``."""
        return self.width * self.height


def size_of(layouts: Sequence[Layout]) -> Size:
    """The smallest size for these layouts, with as many players as the first."""
    return Size(
        max(layout.width for layout in layouts),
        max(layout.height for layout in layouts),
        len(layouts[0].starts),
        max(len(layout.cells("P")) for layout in layouts),
    )


def layout_tables(layouts: Sequence[Layout], size: Size, *, targets: bool) -> Mapping[str, Array]:
    """The arrays of configuration of these layouts, each with the shape (layouts, ...).

    Args:
        layouts: The layouts.
        size: The size of the world.
        targets: Whether to include ``nearest_cells``, which only features need.
    """
    rows = [_layout_row(layout, size, targets) for layout in layouts]
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def _layout_row(layout: Layout, size: Size, targets: bool) -> dict[str, Array]:
    """The arrays of one layout."""
    pots = layout.cells("P")
    if layout.width > size.width or layout.height > size.height or len(pots) > size.pots:
        raise InputError(
            f"layout '{layout.name}' has {layout.width} x {layout.height} cells and {len(pots)} pots; this world was "
            f"built for up to {size.width} x {size.height} cells and {size.pots} pots: give it a larger size or pots"
        )
    terrain = np.full((size.width, size.height), OUTSIDE, np.uint8)
    for y, row in enumerate(layout.rows):
        for x, letter in enumerate(row):
            terrain[x, y] = POT + pots.index((x, y)) if letter == "P" else CODES[letter]
    arrays = {
        "terrain": terrain.reshape(-1),
        "delivery_rewards": np.array(layout.menu.rewards, np.float32),
        "cook_times": np.array(layout.menu.times, np.int16),
        "shaped_rewards": np.array(layout.shaped_rewards, np.float32),
        **_start_row(layout, size, pots),
    }
    if targets:
        cells = nearest_targets(layout)
        nearest = np.full((size.width, size.height, *cells.shape[2:4]), NO_CELL, np.uint8)
        xs, ys = cells[..., 0].astype(int), cells[..., 1].astype(int)
        indices = np.where(xs < 0, NO_CELL, xs * size.height + ys)
        nearest[: layout.width, : layout.height] = indices
        arrays["nearest_cells"] = nearest.reshape(-1, nearest.shape[-1])  # the pose is 4 * cell + orientation
    return arrays


def _start_row(layout: Layout, size: Size, pots: list[tuple[int, int]]) -> dict[str, Array]:
    """The start of an episode as arrays. Further players start on the free floor, row by row, and face north."""
    free = [cell for cell in layout.cells(" ") if cell not in layout.starts]
    starts = [*layout.starts, *free][: size.players]
    if len(starts) < size.players:
        raise InputError(
            f"layout '{layout.name}' has {len(starts)} cells of floor for {size.players} players: use fewer players"
        )
    state = layout.start_state
    facing, held = np.zeros(size.players, np.uint8), np.zeros(size.players, np.uint8)
    for player in range(min(size.players, len(layout.starts))):
        facing[player], held[player] = state.facing[player], object_code(state.held[player])
    objects, soups = np.zeros(size.cells, np.uint8), np.zeros(size.pots, np.uint8)
    ticks = np.full(size.pots, NOT_COOKING, np.int16)
    for (x, y), thing in state.on_counters:
        objects[x * size.height + y] = object_code(thing)
    for cell, ingredients, tick in state.in_pots:
        soups[pots.index(cell)], ticks[pots.index(cell)] = recipe_index(ingredients), tick
    return {
        "start_cells": np.array([x * size.height + y for x, y in starts], np.uint8),
        "start_facing": facing,
        "start_held": held,
        "start_objects": objects,
        "start_soups": soups,
        "start_ticks": ticks,
    }


def object_code(thing: str) -> int:
    """The code of an object of a start state, such as ``d`` or ``soot``."""
    if thing.startswith("s"):
        return SOUP + recipe_index(thing)
    return {"": EMPTY, "o": ONION, "t": TOMATO, "d": DISH}[thing]


assert len(CODES) + 1 == POT and RECIPES == SOUP
