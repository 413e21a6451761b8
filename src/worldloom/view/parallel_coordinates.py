"""Parallel coordinates: one vertical axis per quantity, and a line across all of them for every item."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldloom.view.figure import new_figure, save_figure

LABEL_BOX = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
TICKS = 5
"""Ticks of an axis of numbers."""


@dataclass(frozen=True)
class Axis:
    """One vertical axis.

    Attributes:
        name: Its title.
        values: The value of every item: a number, or one of ``choices``.
        labels: Text of each choice; None for numbers.
        choices: The choices, from the bottom up; empty for numbers.
        log: Whether the axis is logarithmic.
    """

    name: str
    values: Sequence[Any]
    labels: Sequence[str] | None = None
    choices: Sequence[Any] = ()
    log: bool = False

    def heights(self) -> list[float]:
        """The height of every item on the axis, 0 to 1."""
        if self.choices:
            top = max(1, len(self.choices) - 1)
            return [self.choices.index(value) / top for value in self.values]
        low, high = self._bounds()
        return [(self._scaled(value) - low) / (high - low) for value in self.values]

    def ticks(self) -> list[tuple[float, str]]:
        """Heights, 0 to 1, and texts of the ticks."""
        if self.labels is not None:
            top = max(1, len(self.labels) - 1)
            return [(number / top, label) for number, label in enumerate(self.labels)]
        low, high = self._bounds()
        heights = [number / (TICKS - 1) for number in range(TICKS)]
        numbers = [low + height * (high - low) for height in heights]
        return [(h, f"{10.0**n if self.log else n:.3g}") for h, n in zip(heights, numbers, strict=True)]

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def _bounds(self) -> tuple[float, float]:
        scaled = [self._scaled(value) for value in self.values] or [0.0]
        low, high = min(scaled), max(scaled)
        return (low, high) if low < high else (low - 0.5, high + 0.5)


def draw_parallel_coordinates(
    axes: Sequence[Axis],
    target: Path,
    title: str,
    faint: Sequence[bool] = (),
    highlighted: int | None = None,
    reverse: bool = False,
) -> None:
    """Draw items as lines, colored by their value on the last axis.

    Args:
        axes: The axes from left to right; all have as many values. Later items are drawn over earlier ones.
        target: The file, written atomically; its suffix, such as ``.svg`` or ``.png``, selects the format.
        title: The title of the figure.
        faint: Items that are drawn thin and dashed; empty for none.
        highlighted: The item that is drawn thick; None for none.
        reverse: Whether low values on the last axis get the bright colors, where lower is better.
    """
    figure = new_figure("a figure of trials", max(5.0, 1.8 * len(axes) + 1.0), 4.5)
    import matplotlib

    panel = figure.add_subplot()
    heights = [axis.heights() for axis in axes]
    colors = matplotlib.colormaps["viridis_r" if reverse else "viridis"]
    for item, last in enumerate(heights[-1]):
        is_faint = bool(faint) and faint[item]
        panel.plot(
            range(len(axes)),
            [height[item] for height in heights],
            color=colors(last),
            linewidth=3.0 if item == highlighted else 0.8 if is_faint else 1.4,
            linestyle="--" if is_faint else "-",
            alpha=0.5 if is_faint else 0.95,
        )
    for number, axis in enumerate(axes):
        panel.axvline(number, color="black", linewidth=1.0)
        for height, text in axis.ticks():
            panel.plot([number - 0.02, number + 0.02], [height, height], color="black", linewidth=1.0)
            panel.text(number + 0.04, height, text, fontsize=8, va="center", bbox=LABEL_BOX)
    if not heights[-1]:
        panel.text(0.5, 0.5, "no trial has a value", transform=panel.transAxes, ha="center", va="center", alpha=0.6)
    panel.set_xticks(range(len(axes)), [axis.name for axis in axes])
    panel.set_yticks([])
    panel.set(title=title, xlim=(-0.2, len(axes) - 0.5), ylim=(-0.05, 1.05))
    for side in ("top", "right", "bottom", "left"):
        panel.spines[side].set_visible(False)
    panel.tick_params(axis="x", length=0)
    save_figure(figure, target)
