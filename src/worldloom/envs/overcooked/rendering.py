"""Pictures of a kitchen from above."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from worldloom.core.model.canvas import INK, PAPER, Canvas, Color, Image, text_width
from worldloom.envs.overcooked.start_state import ORIENTATIONS
from worldloom.envs.overcooked.tables import (
    COUNTER,
    DISH,
    EMPTY,
    FLOOR,
    ONION,
    OUTSIDE,
    POT,
    SERVING,
    SOUP,
    TOMATO,
    Size,
)

CELL = 64  # pixels, a side; less where the kitchen would be wider or higher than MAX_SIDE
MAX_SIDE = 960  # pixels
TERRAIN_COLORS: dict[int, Color] = {FLOOR: (236, 231, 220), SERVING: (150, 160, 168)}
COUNTER_COLOR: Color = (184, 146, 104)
POT_COLOR: Color = (70, 74, 80)
FOOD_COLORS: dict[int, Color] = {ONION: (236, 206, 96), TOMATO: (214, 66, 54)}
DISH_COLOR: Color = (252, 252, 252)
RIM: Color = (120, 126, 132)
PLAYER_COLORS: tuple[Color, ...] = ((38, 118, 190), (60, 160, 90), (150, 80, 170), (226, 130, 40))
SKIN: Color = (244, 204, 166)


@dataclasses.dataclass(frozen=True)
class Brush:
    """Draws in one cell; positions and lengths are fractions of its side."""

    canvas: Canvas
    left: float
    top: float
    side: float

    def square(self, margin: float, color: Color) -> None:
        side = (1.0 - 2.0 * margin) * self.side
        self.canvas.rectangle(self.left + margin * self.side, self.top + margin * self.side, side, side, color)

    def disc(self, x: float, y: float, radius: float, color: Color) -> None:
        self.canvas.circle(self.left + x * self.side, self.top + y * self.side, radius * self.side, color)

    def number(self, x: float, y: float, text: str, color: Color) -> None:
        dot = self.side / 32.0
        middle = self.left + x * self.side - text_width(text, dot) / 2.0
        self.canvas.text(middle, self.top + y * self.side, text, color, dot)


def draw_function(size: Size) -> Callable[[Any, int], Image]:
    """The function that draws a world of this size; uint8 of shape (cell * height, cell * width, 3)."""
    side = min(CELL, MAX_SIDE // max(size.width, size.height))

    def draw(sim: Any, world: int) -> Image:
        room, player = sim.world, sim["Player"]
        kitchen = int(room.kitchen.numpy()[world])
        terrain, cook_times = (
            column[world % len(column), kitchen] for column in (room.terrain.numpy(), room.cook_times.numpy())
        )
        objects, soups, ticks = (column.numpy()[world] for column in (room.objects, room.soups, room.ticks))
        canvas = Canvas(size.width * side, size.height * side, PAPER)
        for cell in range(size.cells):
            brush = Brush(canvas, cell // size.height * side, cell % size.height * side, side)
            code = int(terrain[cell])
            _draw_terrain(brush, code)
            if code >= POT:
                recipe, tick = int(soups[code - POT]), int(ticks[code - POT])
                _draw_pot(brush, recipe, int(cook_times[recipe]) - tick if tick >= 0 else None)
            elif code == COUNTER:
                _draw_object(brush, int(objects[cell]), 0.5, 0.5)
        for id, (cell, facing, held) in enumerate(
            zip(*(column.numpy()[world].tolist() for column in (player.cell, player.facing, player.held)), strict=True)
        ):
            brush = Brush(canvas, cell // size.height * side, cell % size.height * side, side)
            _draw_player(brush, PLAYER_COLORS[id % len(PLAYER_COLORS)], ORIENTATIONS[facing], held)
        return canvas.image()

    return draw


def _draw_terrain(brush: Brush, code: int) -> None:
    if code == OUTSIDE:
        return
    brush.square(0.01, TERRAIN_COLORS.get(code, COUNTER_COLOR))
    if code == SERVING:
        brush.number(0.5, 0.4, "SERVE", PAPER)
    if code <= DISH:
        brush.square(0.12, (140, 108, 74))
        for x, y in ((0.35, 0.4), (0.65, 0.4), (0.5, 0.65)):
            _draw_object(brush, code, x, y)


def _draw_pot(brush: Brush, recipe: int, left: int | None) -> None:
    """A pot with its ingredients, and the steps that it still cooks; a ring shows a soup that is ready."""
    ready = left is not None and left <= 0
    brush.disc(0.5, 0.5, 0.42, DISH_COLOR if ready else RIM)
    brush.disc(0.5, 0.5, 0.38, POT_COLOR)
    _draw_ingredients(brush, recipe, 0.5, 0.42)
    if left is not None and left > 0:
        brush.number(0.5, 0.62, str(left), PAPER)


def _draw_object(brush: Brush, thing: int, x: float, y: float) -> None:
    if thing == EMPTY:
        return
    if thing < DISH:
        brush.disc(x, y, 0.15, INK)
        brush.disc(x, y, 0.13, FOOD_COLORS[thing])
        return
    brush.disc(x, y, 0.2, RIM)
    brush.disc(x, y, 0.18, DISH_COLOR)
    if thing >= SOUP:
        _draw_ingredients(brush, thing - SOUP, x, y)


def _draw_ingredients(brush: Brush, recipe: int, x: float, y: float) -> None:
    colors = [FOOD_COLORS[ONION]] * (recipe >> 2) + [FOOD_COLORS[TOMATO]] * (recipe & 3)
    for place, color in zip(np.array(((0.0, -0.08), (-0.08, 0.05), (0.08, 0.05))), colors, strict=False):
        brush.disc(x + place[0], y + place[1], 0.07, color)


def _draw_player(brush: Brush, color: Color, facing: tuple[int, int], held: int) -> None:
    brush.disc(0.5, 0.5, 0.36, color)
    brush.disc(0.5 + 0.1 * facing[0], 0.5 + 0.1 * facing[1], 0.2, SKIN)
    brush.disc(0.5 + 0.3 * facing[0], 0.5 + 0.3 * facing[1], 0.07, INK)
    _draw_object(brush, held, 0.5 + 0.22 * facing[0], 0.5 + 0.22 * facing[1])
