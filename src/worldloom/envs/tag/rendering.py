"""A picture of Tag: taggers chase runners over a square board, seen from above."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.model.canvas import Canvas, Color, Image, rotated, text_width

Floats = np.ndarray[Any, Any]

BOARD = 480  # pixels, a side
MARGIN = 16  # pixels, around the board
HEADER = 28  # pixels, above the board, for the text
MAX_GRID_LINES = 40
"""A board of more cells a side than this shows no lines between them."""
PAPER: Color = (250, 249, 246)
FLOOR: Color = (236, 239, 241)
LINE: Color = (214, 220, 224)
WALL: Color = (84, 98, 108)
INK: Color = (52, 62, 70)
TAGGER: Color = (214, 72, 60)
RUNNER: Color = (38, 118, 190)
FADED: Color = (178, 196, 212)
WEDGE = ((1.7, 0.0), (-0.35, 0.95), (-0.35, -0.95))
"""What shows a heading: a triangle ahead of the disc, in radii, pointing to the right."""


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

    Runners lie above taggers, so that one who is caught is seen. Those who have left are faint rings below everybody.

    Args:
        taggers: Where the taggers are, shape (N, 2), x to the right and y up, from 0 to ``extent``.
        runners: Where the runners are, shape (M, 2).
        extent: How long a side of the board is, in the unit of the places.
        out: Which runners have left the game, shape (M,); none where it is left out. Those whose place is off the board are not drawn.
        tagger_headings: Where taggers go, shape (N,), in radians from the x axis towards the y axis; no wedges where it is left out.
        runner_headings: The same of runners, shape (M,).
        text: Written above the board, left; the count of runners left stands right of it.
        cells: Cells a side, with lines between them where there are few enough to see; 0 for an open field.
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
    """Of a player's disc, in pixels: small enough for its cell, and smaller where there are many players."""
    fits = 0.36 * BOARD / cells if cells else BOARD
    return float(np.clip(min(fits, 0.3 * BOARD / np.sqrt(max(players, 1))), 2.0, 11.0))


def _on_board(places: Floats, extent: float) -> list[tuple[float, float]]:
    """Pixels of those of ``places`` that lie on the board."""
    inside = ((places >= 0.0) & (places <= extent)).all(axis=1)
    return _pixels(places[inside], extent)


def _pixels(places: Floats, extent: float) -> list[tuple[float, float]]:
    scaled = np.asarray(places, float) * (BOARD / extent)
    return [(MARGIN + float(x), MARGIN + HEADER + BOARD - float(y)) for x, y in scaled]


def _draw_players(
    canvas: Canvas, places: Floats, extent: float, radius: float, color: Color, headings: Floats | None
) -> None:
    for player, (x, y) in enumerate(_pixels(places, extent)):
        if headings is not None:
            wedge = [(radius * px, radius * py) for px, py in WEDGE]
            canvas.polygon(rotated(wedge, -float(headings[player]), x, y), color)
        canvas.circle(x, y, radius, color)


def _draw_ring(canvas: Canvas, x: float, y: float, radius: float) -> None:
    canvas.circle(x, y, radius, FADED)
    canvas.circle(x, y, max(radius - 1.5, 0.5 * radius), FLOOR)
