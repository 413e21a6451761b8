"""Rendering of Tag: a square board from above."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.model.canvas import INK, PAPER, Canvas, Color, Image, rotated, text_width

Floats = np.ndarray[Any, Any]

BOARD = 480  # pixels, a side
MARGIN = 16  # pixels, around the board
HEADER = 28  # pixels, above the board, for the text
MAX_GRID_LINES = 40
"""Boards with more cells per side are drawn without grid lines."""
FLOOR: Color = (236, 239, 241)
LINE: Color = (214, 220, 224)
WALL: Color = (84, 98, 108)
TAGGER: Color = (214, 72, 60)
RUNNER: Color = (38, 118, 190)
FADED: Color = (178, 196, 212)
WEDGE = ((1.7, 0.0), (-0.35, 0.95), (-0.35, -0.95))
"""Triangle that shows a heading, in radii of the disc, pointing to the right."""


def render_board(
    taggers: Floats,
    runners: Floats,
    extent: float,
    *,
    out: np.ndarray[Any, np.dtype[np.bool_]] | None = None,
    tagger_headings: Floats | None = None,
    runner_headings: Floats | None = None,
    text: str = "",
    cells: int = 0,
) -> Image:
    """Draw the board; uint8 of shape (540, 512, 3).

    Runners are drawn above taggers. Runners that have left the game are faint rings below all others.

    Args:
        taggers: Positions of taggers, shape (N, 2), x to the right and y up, from 0 to ``extent``.
        runners: Positions of runners, shape (M, 2).
        extent: Side of the board in the unit of positions.
        out: Mask of runners that have left, shape (M,); none by default. Positions off the board are not drawn.
        tagger_headings: Headings of taggers, shape (N,), in radians from x axis to y axis; no wedges by default.
        runner_headings: Headings of runners, shape (M,).
        text: Text above the board; the number of remaining runners is on its right.
        cells: Cells per side, with grid lines up to ``MAX_GRID_LINES``; 0 for an open field.
    """
    left = np.zeros(len(runners), bool) if out is None else np.asarray(out, bool)
    canvas = Canvas(BOARD + 2 * MARGIN, BOARD + HEADER + 2 * MARGIN, PAPER)
    _draw_board(canvas, cells)
    radius = _radius(len(taggers) + len(runners), cells)
    for x, y in _on_board(runners[left], extent):
        _draw_ring(canvas, x, y, radius)
    _draw_players(canvas, taggers, extent, radius, TAGGER, tagger_headings)
    _draw_players(
        canvas, runners[~left], extent, radius, RUNNER, None if runner_headings is None else runner_headings[~left]
    )
    count = f"{int((~left).sum())}/{len(left)} RUNNERS LEFT"
    canvas.text(MARGIN, MARGIN - 4.0, text, INK, 1.5)
    canvas.text(MARGIN + BOARD - text_width(count, 1.5), MARGIN - 4.0, count, RUNNER, 1.5)
    return canvas.image()


def _draw_board(canvas: Canvas, cells: int) -> None:
    canvas.rectangle(MARGIN - 3.0, MARGIN + HEADER - 3.0, BOARD + 6.0, BOARD + 6.0, WALL)
    canvas.rectangle(MARGIN, MARGIN + HEADER, BOARD, BOARD, FLOOR)
    if 1 < cells <= MAX_GRID_LINES:
        for line in range(1, cells):
            along = line * BOARD / cells
            canvas.rectangle(MARGIN + along - 0.5, MARGIN + HEADER, 1.0, BOARD, LINE)
            canvas.rectangle(MARGIN, MARGIN + HEADER + along - 0.5, BOARD, 1.0, LINE)


def _radius(players: int, cells: int) -> float:
    """Radius of a player's disc in pixels; it fits into a cell and decreases with the number of players."""
    fits = 0.36 * BOARD / cells if cells else BOARD
    return float(np.clip(min(fits, 0.3 * BOARD / np.sqrt(max(players, 1))), 2.0, 11.0))


def _on_board(positions: Floats, extent: float) -> list[tuple[float, float]]:
    """Pixel coordinates of the positions on the board."""
    inside = ((positions >= 0.0) & (positions <= extent)).all(axis=1)
    return _pixels(positions[inside], extent)


def _pixels(positions: Floats, extent: float) -> list[tuple[float, float]]:
    scaled = np.asarray(positions, float) * (BOARD / extent)
    return [(MARGIN + float(x), MARGIN + HEADER + BOARD - float(y)) for x, y in scaled]


def _draw_players(
    canvas: Canvas, positions: Floats, extent: float, radius: float, color: Color, headings: Floats | None
) -> None:
    for player, (x, y) in enumerate(_pixels(positions, extent)):
        if headings is not None:
            wedge = [(radius * px, radius * py) for px, py in WEDGE]
            canvas.polygon(rotated(wedge, -float(headings[player]), x, y), color)
        canvas.circle(x, y, radius, color)


def _draw_ring(canvas: Canvas, x: float, y: float, radius: float) -> None:
    canvas.circle(x, y, radius, FADED)
    canvas.circle(x, y, max(radius - 1.5, 0.5 * radius), FLOOR)
