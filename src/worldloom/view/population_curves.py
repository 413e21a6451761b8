"""The history of a population: one panel per quantity over steps, one line per member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldloom.view.figure import new_figure, save_figure


@dataclass(frozen=True)
class Panel:
    """One quantity.

    Attributes:
        name: Its name.
        lines: For each member, points (steps, value); a value is the index of a label where there are labels.
        log: Whether its axis is logarithmic.
        labels: Texts of the values 0, 1, ...; empty for numbers.
    """

    name: str
    lines: Sequence[Sequence[tuple[float, Any]]]
    log: bool = False
    labels: Sequence[str] = ()


def draw_population(panels: Sequence[Panel], target: Path, title: str) -> None:
    """Draw ``panels`` below each other; a member has the same color in all of them.

    Args:
        panels: The quantities; the first one is drawn larger.
        target: The file, written atomically; its suffix, such as ``.svg`` or ``.png``, selects the format.
        title: The title of the figure.
    """
    figure = new_figure("a figure of a population", 7.0, 3.0 + 1.6 * (len(panels) - 1))
    import matplotlib
    from matplotlib.ticker import EngFormatter

    figure.suptitle(title)
    heights = [2.0, *(1.0 for _ in panels[1:])]
    axes: Any = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    colors = matplotlib.colormaps["turbo"]
    for panel, plot in zip(panels, axes, strict=True):
        for member, points in enumerate(panel.lines):
            color = colors((member + 0.5) / max(1, len(panel.lines)))
            plot.plot(*zip(*points, strict=True) if points else ([], []), color=color, linewidth=1.2, marker=".")
        plot.set(ylabel=panel.name)
        if panel.log:
            plot.set_yscale("log")
        if panel.labels:
            plot.set_yticks(range(len(panel.labels)), panel.labels)
        plot.grid(which="major", alpha=0.3)
    axes[-1].set(xlabel="steps of each member")
    axes[-1].xaxis.set_major_formatter(EngFormatter(sep=""))
    save_figure(figure, target)
