"""Pictures of Escape Room from above; progress is to the right."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.model.canvas import INK, PAPER, Canvas, Color, Image, Point
from worldloom.envs.escape_room.entities import (
    AGENT,
    CUBE,
    DOOR,
    FIRST_AGENT,
    FIRST_END_WALL,
    NUM_BUTTONS,
    NUM_ROOMS,
    WALL,
)

Floats = np.ndarray[Any, Any]

WIDTH = 720  # pixels
MARGIN = 2.0  # m, around the rooms
BEYOND = 8.0  # m, shown behind the last door; agents further away are drawn at the edge
HEADER = 24  # pixels
FLOOR: Color = (236, 239, 241)
COLORS: dict[int, Color] = {WALL: (84, 98, 108), CUBE: (196, 152, 96), DOOR: (176, 74, 62)}
OPEN_DOOR: Color = (226, 196, 190)
AGENT_COLORS: tuple[Color, ...] = ((38, 118, 190), (60, 160, 90))
HEADING: Color = (250, 249, 246)
BUTTON_COLORS: tuple[Color, Color] = ((120, 126, 132), (244, 196, 48))  # free, pressed


def draw(sim: Any, world: int) -> Image:
    """A picture of one world, uint8 of shape (height, 720, 3); its height follows from the width of the rooms."""
    level, body, room = sim.world, sim["Body"], sim["Room"]

    def setting(name: str) -> float:
        values = np.atleast_1d(getattr(level, name).numpy())
        return float(values[world % len(values)])

    length, width = NUM_ROOMS * setting("room_length"), setting("width")
    scale = WIDTH / (length + MARGIN + BEYOND)
    canvas = Canvas(WIDTH, HEADER + round((width + 2.0 * MARGIN) * scale), PAPER)

    def pixel(x: float, y: float) -> Point:
        return (min(y, length + BEYOND - 1.0) + MARGIN) * scale, HEADER + (x + 0.5 * width + MARGIN) * scale

    left, top = pixel(-0.5 * width, 0.0)
    canvas.rectangle(left, top, length * scale, width * scale, FLOOR)
    side = setting("button_width") * scale
    buttons = sim["Button"]
    for number, (x, y) in enumerate(buttons.position.numpy()[world].tolist()):
        if number % NUM_BUTTONS < int(room.num_buttons.numpy()[world, number // NUM_BUTTONS]):
            left, top = pixel(x, y)
            color = BUTTON_COLORS[int(buttons.is_pressed.numpy()[world, number])]
            canvas.rectangle(left - 0.5 * side, top - 0.5 * side, side, side, color)
    types = body.type.numpy()[world]
    positions, rotations, sizes = (column.numpy()[world] for column in (body.position, body.rotation, body.size))
    for type in (DOOR, WALL, CUBE, AGENT):
        for row in np.flatnonzero(types == type):
            color = COLORS.get(type) or AGENT_COLORS[(row - FIRST_AGENT) % len(AGENT_COLORS)]
            if type == DOOR and room.is_open.numpy()[world, (row - FIRST_END_WALL) // 3]:
                color = OPEN_DOOR
            canvas.polygon([pixel(*point) for point in _outline(positions[row], rotations[row], sizes[row])], color)
            if type == AGENT:
                canvas.polygon(
                    [pixel(*point) for point in _heading(positions[row], rotations[row], sizes[row])], HEADING
                )
    passed = int(sim["Agent"].rooms_passed.numpy()[world, 0])
    canvas.text(8.0, 6.0, f"ROOMS PASSED {passed}/{NUM_ROOMS}", INK, 1.5)
    return canvas.image()


def _axes(rotation: Floats) -> tuple[Floats, Floats]:
    """Horizontal parts of the x and y axes of a body."""
    x, y, z, w = rotation.tolist()
    return (
        np.array([1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w)]),
        np.array([2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z)]),
    )


def _outline(position: Floats, rotation: Floats, size: Floats) -> list[Point]:
    """Corners (x, y) of a box from above."""
    right, forward = _axes(rotation)
    corners = [
        position[:2] + i * size[0] * right + j * size[1] * forward for i, j in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    ]
    return [(float(x), float(y)) for x, y in corners]


def _heading(position: Floats, rotation: Floats, size: Floats) -> list[Point]:
    """A triangle that points forward."""
    right, forward = _axes(rotation)
    places = ((0.0, 0.8), (0.35, 0.1), (-0.35, 0.1))
    corners = [position[:2] + i * size[0] * right + j * size[1] * forward for i, j in places]
    return [(float(x), float(y)) for x, y in corners]
