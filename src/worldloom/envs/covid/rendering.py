"""Rendering of the economy: a tile map of the states, coloured by stringency."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import numpy as np

from worldloom.core.model.canvas import Canvas, Color, Image, text_width
from worldloom.core.registry.definition import Renderer
from worldloom.core.simulation import Simulation
from worldloom.envs.covid.data import Parameters
from worldloom.envs.covid.history import start_date

TILE_MAP = (
    "AK . . . . . . . . . . ME",
    ". . . . . . . . . . VT NH",
    ". WA ID MT ND MN IL WI MI NY RI MA",
    ". OR NV WY SD IA IN OH PA NJ CT",
    ". CA UT CO NE MO KY WV VA MD DE",
    ". . AZ NM KS AR TN NC SC DC",
    ". . . . OK LA MS AL GA",
    "HI . . . TX . . . . FL",
)
"""Rows of tiles from north to south, approximately geographic."""
TILE_POSITIONS = {
    code: (row, column) for row, line in enumerate(TILE_MAP) for column, code in enumerate(line.split()) if code != "."
}
COLUMNS, ROWS = max(column for _, column in TILE_POSITIONS.values()) + 1, len(TILE_MAP)
TILE, GAP, MARGIN, HEAD = 54.0, 4.0, 12.0, 56.0  # pixels
OPEN, SHUT = np.array((236.0, 244.0, 232.0)), np.array((36.0, 60.0, 120.0))
DARK: Color = (30, 34, 44)
LIGHT: Color = (250, 250, 250)
SICK: Color = (214, 60, 48)
FULL_BAR_SHARE = 0.05
"""Share of infected people that fills the bar of a tile."""
MAX_LEVEL = 10


def render_map(
    postal: Sequence[str], level: Sequence[float], infected_share: Sequence[float], lines: Sequence[str] = ()
) -> Image:
    """Draw a map of the states, uint8 of shape (height, width, 3).

    Args:
        postal: Two-letter codes. If some are not on the map, tiles are placed row by row in the given order.
        level: Stringency of each state, 1 to 10; stricter is darker.
        infected_share: Share of infected people of each state, a red bar that is full at 5 %.
        lines: Up to two lines of text above the map.
    """
    positions = (
        [TILE_POSITIONS[code] for code in postal]
        if all(code in TILE_POSITIONS for code in postal)
        else [divmod(i, COLUMNS) for i in range(len(postal))]
    )
    pitch = TILE + GAP
    rows = max(ROWS, 1 + max((row for row, _ in positions), default=0))
    canvas = Canvas(
        int(2 * MARGIN + COLUMNS * pitch - GAP), int(2 * MARGIN + HEAD + rows * pitch - GAP), (250, 250, 248)
    )
    for number, line in enumerate(lines[:2]):
        canvas.text(MARGIN, MARGIN + 22.0 * number, line, DARK, 2.0)
    for code, strict, share, (row, column) in zip(postal, level, infected_share, positions, strict=True):
        left, top = MARGIN + column * pitch, MARGIN + HEAD + row * pitch
        shade = float(np.clip((strict - 1.0) / (MAX_LEVEL - 1.0), 0.0, 1.0))
        red, green, blue = (round(float(value)) for value in OPEN + (SHUT - OPEN) * shade)
        canvas.rectangle(left, top, TILE, TILE, (red, green, blue))
        ink = LIGHT if shade > 0.45 else DARK
        canvas.text(left + (TILE - text_width(code)) / 2.0, top + 8.0, code, ink, 2.0)
        number = f"{strict:.0f}"
        canvas.text(left + (TILE - text_width(number, 1.5)) / 2.0, top + 28.0, number, ink, 1.5)
        canvas.rectangle(left, top + TILE - 7.0, TILE * float(np.clip(share / FULL_BAR_SHARE, 0.0, 1.0)), 7.0, SICK)
    return canvas.image()


def renderer(parameters: Parameters) -> Renderer:
    """The renderer of an economy: the map, the date, and totals of the country."""
    population = np.asarray(parameters.population, np.float64)
    source = "made-up data   " if parameters.synthetic else ""

    def draw(sim: Simulation, world: int) -> Image:
        governor = sim["Governor"]
        level, infected, deaths, unemployed = (
            governor[name].numpy()[world] for name in ("level", "infected", "deaths", "unemployed")
        )
        day = int(sim.world.step.numpy()[world])
        date, subsidy = start_date(parameters) + datetime.timedelta(day), int(sim["Planner"].level.numpy()[world, 0])
        people = population.sum() / 100.0  # for percent
        lines = (
            f"{date}   {source}subsidy {subsidy}",
            f"infected {infected.sum() / people:.2f} %   unemployed {unemployed.sum() / people:.1f} %   "
            f"deaths {deaths.sum():,.0f}",
        )
        return render_map(parameters.postal, level, infected / population, lines)

    return draw
