"""Figures of the economy: time series of the country and of its states, one line per history."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.envs.covid.history import Array, EpisodeHistory
from worldloom.view.figure import new_figure, save_figure

NOTICE = "A simulation, not a tool for policy making."
MAX_COLUMNS = 9
"""Panels per row in a figure of all states."""
SMALL_WIDTH, SMALL_HEIGHT = 1.75, 1.35  # inches per panel of many
PANEL_WIDTH, PANEL_HEIGHT = 3.9, 2.5  # inches per panel of few


@dataclass(frozen=True)
class Quantity:
    """A quantity to draw.

    Attributes:
        title: The title of its panel, with the unit.
        country: The time series of the country, shape (T,).
        states: The time series of every state, shape (T, n); None if only the country has one.
        limits: Limits of the axis; None for automatic ones.
    """

    title: str
    country: Callable[[EpisodeHistory], Array]
    states: Callable[[EpisodeHistory], Array] | None
    limits: tuple[float, float] | None = None


def _mean_level(history: EpisodeHistory) -> Array:
    return np.asarray(history.level @ history.population / history.population.sum())


def _per_person(title: str, people: Callable[[EpisodeHistory], Array], scale: float = 1.0) -> Quantity:
    """A quantity of the people, shape (T, n), as ``scale`` times its share of the population."""
    return Quantity(
        title,
        lambda h: people(h).sum(1) / h.population.sum() * scale,
        lambda h: people(h) / h.population * scale,
    )


QUANTITIES: dict[str, Quantity] = {
    "stringency": Quantity("stringency level, 1 to 10", _mean_level, lambda h: h.level, (0.5, 10.5)),
    "infections": _per_person("infected, % of the people", lambda h: h.infected, 100.0),
    "deaths": _per_person("deaths so far, per 100,000 people", lambda h: h.deaths, 1e5),
    "unemployment": _per_person("unemployed, % of the people", lambda h: h.unemployed, 100.0),
    "productivity": _per_person("product without subsidies, $ per head a day", lambda h: h.earned),
    "subsidies": Quantity("subsidies so far, billion $", lambda h: np.cumsum(h.subsidy) / 1e9, None),
}
"""Quantities by the name of their file. The country's stringency is the mean weighted by population."""


def draw_country(histories: Sequence[EpisodeHistory], target: Path, title: str = "") -> None:
    """Draw the country: one panel per quantity, one line per history.

    Args:
        histories: Episodes to compare, such as one of a trained policy and the real one.
        target: The file; its suffix is the format, such as ``.png`` or ``.svg``.
        title: The title of the figure.
    """
    _require(histories)
    figure = new_figure("a figure of the economy", 3 * PANEL_WIDTH, 2 * PANEL_HEIGHT + 0.8)
    panels: Any = figure.subplots(2, 3, sharex=True)
    for panel, quantity in zip(panels.flat, QUANTITIES.values(), strict=True):
        for i, history in enumerate(histories):
            panel.plot(history.dates, quantity.country(history), color=f"C{i}", linewidth=1.6, label=history.label)
        panel.set_title(quantity.title, fontsize=10)
        panel.set_ylim(quantity.limits)
        panel.grid(alpha=0.3)
    _dates(panels[-1])
    _finish(figure, panels[0, 0], title, target)


def draw_states(histories: Sequence[EpisodeHistory], name: str, target: Path, title: str = "") -> None:
    """Draw one quantity of every state, one small panel per state with a common scale.

    Args:
        histories: Episodes of the same states; ``history.of_states(...)`` selects some.
        name: A key of ``QUANTITIES`` with a time series per state.
        target: The file.
        title: The title of the figure, before that of the quantity.
    """
    _require(histories)
    quantity = QUANTITIES.get(name)
    if quantity is None or quantity.states is None:
        known = ", ".join(key for key, value in QUANTITIES.items() if value.states is not None)
        raise InputError(f"there is no quantity '{name}' that states have: there are {known}")
    postal, names = histories[0].postal, histories[0].states
    if any(history.postal != postal for history in histories):
        raise InputError("the histories are of different states: pick the same ones of each with of_states")
    few = len(postal) <= 6
    columns = min(3 if few else MAX_COLUMNS, len(postal))
    rows = math.ceil(len(postal) / columns)
    wide, high = (PANEL_WIDTH, PANEL_HEIGHT) if few else (SMALL_WIDTH, SMALL_HEIGHT)
    figure = new_figure("a figure of the economy", max(5.0, columns * wide), rows * high + 1.0)
    panels: Any = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    series = [quantity.states(history) for history in histories]
    for state, panel in enumerate(panels.flat):
        if state >= len(postal):
            panel.set_axis_off()
            continue
        for i, history in enumerate(histories):
            panel.plot(
                history.dates, series[i][:, state], color=f"C{i}", linewidth=1.5 if few else 1.0, label=history.label
            )
        panel.set_title(names[state] if few else postal[state], fontsize=10 if few else 8, pad=3)
        panel.tick_params(labelsize=8 if few else 6)
        panel.set_ylim(quantity.limits)
        panel.grid(alpha=0.3)
    _dates([panels[row, column] for column in range(columns) for row in [(len(postal) - 1 - column) // columns]])
    _finish(figure, panels[0, 0], f"{title}: {quantity.title}" if title else quantity.title, target)


def _require(histories: Sequence[EpisodeHistory]) -> None:
    if not histories:
        raise InputError("there is nothing to draw: give one history or more")


def _dates(bottom: Sequence[Any]) -> None:
    """Date axes of the lowest panel of every column."""
    from matplotlib.dates import AutoDateLocator, DateFormatter

    for panel in bottom:
        panel.xaxis.set_major_locator(AutoDateLocator(minticks=2, maxticks=6))
        panel.xaxis.set_major_formatter(DateFormatter("%b %Y"))
        panel.tick_params(axis="x", labelrotation=30, labelbottom=True)


def _finish(figure: Any, panel: Any, title: str, target: Path) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=max(1, len(labels)), fontsize=9)
    figure.suptitle(title or " ", x=0.01, ha="left")
    figure.supxlabel(NOTICE, fontsize=8, color="0.4", x=0.01, ha="left")
    save_figure(figure, target)
