"""A picture of HideSeek from above."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.model.canvas import INK, PAPER, Canvas, Color, Image, rotated
from worldloom.core.simulation import Simulation
from worldloom.envs.hideseek.entities import EXTENT, HIDERS, SEEKERS

Floats = np.ndarray[Any, Any]

BOARD = 480  # pixels, a side
MARGIN = 24  # pixels; agents may leave the arena
HEADER = 28  # pixels, for the text
SCALE = BOARD / (2.0 * EXTENT)  # pixels per metre
GROUND: Color = (236, 239, 241)
WALL: Color = (84, 98, 108)
BOX: Color = (214, 170, 104)
RAMP: Color = (150, 168, 98)
SLOPE: Color = (188, 204, 140)
HIDER: Color = (38, 118, 190)
SEEKER: Color = (214, 72, 60)
EDGE = 0.15  # m, of the frame that shows who locked a body
NOSE = ((0.5, 0.2), (-0.5, 0.2), (0.0, 0.9))
"""Triangle that shows where an agent looks, m, to the front along y."""


def draw(sim: Simulation, world: int) -> Image:
    """The arena of one world, uint8 of shape (556, 528, 3): hiders blue, seekers red, locked bodies framed."""
    state = sim.world
    boxes, first_agent, agents, walls = (
        int(state[name].numpy()[world]) for name in ("num_boxes", "first_agent", "num_agents", "num_walls")
    )
    hiders = len(sim["Hider"].agent_rows.active.numpy()[world].nonzero()[0])
    solids = sim["Solid"]
    positions, sizes = solids.position.numpy()[world], solids.size.numpy()[world]
    rotations, owners = solids.rotation.numpy()[world], solids.owner.numpy()[world]
    canvas = Canvas(BOARD + 2 * MARGIN, BOARD + HEADER + 2 * MARGIN, PAPER)
    canvas.rectangle(MARGIN, MARGIN + HEADER, BOARD, BOARD, GROUND)
    for left, low, right, high in sim["Level"].obstacles.numpy()[world, 0, :walls]:
        x, y = _pixel(left, high)
        canvas.rectangle(x, y, (right - left) * SCALE, (high - low) * SCALE, WALL)
    for row in np.argsort(positions[: first_agent + agents, 2], kind="stable"):  # higher bodies above others
        yaw = _yaw(rotations[row])
        if row >= first_agent:
            _draw_agent(canvas, positions[row], yaw, HIDER if row - first_agent < hiders else SEEKER)
        else:
            _draw_object(canvas, positions[row], sizes[row], yaw, row >= boxes, int(owners[row]))
    spotted = bool(state.spotted.numpy()[world])
    text = f"STEP {int(state.clock.numpy()[world])}" + (" - SEEN" if spotted else "")
    canvas.text(MARGIN, MARGIN - 4.0, text, SEEKER if spotted else INK, 1.5)
    return canvas.image()


def _pixel(x: float, y: float) -> tuple[float, float]:
    return MARGIN + (float(x) + EXTENT) * SCALE, MARGIN + HEADER + (EXTENT - float(y)) * SCALE


def _yaw(rotation: Floats) -> float:
    x, y, z, w = (float(number) for number in rotation)
    return float(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))


def _polygon(canvas: Canvas, points: Floats, position: Floats, yaw: float, color: Color) -> None:
    """Fill a polygon given in metres in the frame of a body; pixels have y down."""
    x, y = _pixel(position[0], position[1])
    canvas.polygon(rotated([(px * SCALE, -py * SCALE) for px, py in points], -yaw, x, y), color)


def _rectangle(left: float, low: float, right: float, high: float) -> Floats:
    return np.array([(left, low), (right, low), (right, high), (left, high)])


def _draw_object(canvas: Canvas, position: Floats, size: Floats, yaw: float, ramp: bool, owner: int) -> None:
    half_x, half_y = float(size[0]), float(size[1])
    low, high = (-4.0 / 3.0 * half_y, 2.0 / 3.0 * half_y) if ramp else (-half_y, half_y)
    plain = RAMP if ramp else BOX
    frame = {HIDERS: HIDER, SEEKERS: SEEKER}.get(owner, plain)
    _polygon(canvas, _rectangle(-half_x, low, half_x, high), position, yaw, frame)
    inner = _rectangle(-half_x + EDGE, low + EDGE, half_x - EDGE, high - EDGE)
    _polygon(canvas, inner, position, yaw, plain)
    if ramp:  # light at the foot of the slope
        _polygon(canvas, _rectangle(-half_x + EDGE, low + EDGE, half_x - EDGE, low / 2.0), position, yaw, SLOPE)


def _draw_agent(canvas: Canvas, position: Floats, yaw: float, color: Color) -> None:
    _polygon(canvas, _rectangle(-1.0, -1.0, 1.0, 1.0), position, yaw, color)
    _polygon(canvas, np.array(NOSE), position, yaw, PAPER)
