"""Learning curves: return and episode length over steps and over time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from worldloom.view.figure import new_figure, save_figure

RETURN, LENGTH = "episode/return", "episode/length"
SMOOTHING_FRACTION = 0.02
"""Window of the running mean, as a fraction of the number of points."""

Points = tuple[list[float], list[float]]


def draw_curve(rows: list[dict[str, Any]], target: Path, title: str, threshold: float | None = None) -> None:
    """Draw the learning curve of a run.

    Args:
        rows: One per iteration, with ``steps``, ``seconds``, ``episode/return`` and ``episode/length``. With several
            policies the last two have ``/<policy>`` appended, and each gets a line. None and non-finite values are
            skipped.
        target: The file, written atomically; its suffix, such as ``.png``, selects the format.
        title: The title of the figure.
        threshold: The return at which the world counts as solved, drawn as a dashed line.
    """
    figure = new_figure("a curve", 9.0, 5.5)
    from matplotlib.ticker import EngFormatter

    figure.suptitle(title)
    panels: Any = figure.subplots(2, 2, sharex="col", sharey="row", height_ratios=[3, 1])
    for panels_of_row, name, label in ((panels[0], RETURN, "return"), (panels[1], LENGTH, "episode length")):
        panels_of_row[0].set(ylabel=label)
        for panel, over in zip(panels_of_row, ("steps", "seconds"), strict=True):
            _draw_lines(panel, rows, name, over)
    panels[1, 0].set(xlabel="steps")
    panels[1, 0].xaxis.set_major_formatter(EngFormatter(sep=""))  # 400k, 1.2M
    panels[1, 1].set(xlabel="seconds of training")
    if threshold is not None:
        for panel in panels[0]:
            panel.axhline(
                threshold, color="black", linestyle="--", linewidth=1.0, alpha=0.6, label=f"solved at {threshold:g}"
            )
    handles, _ = panels[0, 0].get_legend_handles_labels()
    if len(handles) > 1:
        panels[0, 0].legend(loc="best")
    save_figure(figure, target)


def series(rows: list[dict[str, Any]], name: str, over: str) -> dict[str, Points]:
    """The finite points of metric ``name`` over column ``over``, by policy; ``""`` if there is only one."""
    points: dict[str, Points] = {}
    for row in rows:
        for key, value in row.items():
            if (key == name or key.startswith(name + "/")) and value is not None and math.isfinite(value):
                x, y = points.setdefault(key[len(name) + 1 :], ([], []))
                x.append(row[over])
                y.append(value)
    return points


def running_mean(values: list[float], window: int) -> list[float]:
    """Means over the last ``window`` values, or over all values so far."""
    means, total = [], 0.0
    for i, value in enumerate(values):
        total += value - (values[i - window] if i >= window else 0.0)
        means.append(total / min(i + 1, window))
    return means


def _draw_lines(axes: Any, rows: list[dict[str, Any]], name: str, over: str) -> None:
    lines = series(rows, name, over)
    for i, (policy, (x, y)) in enumerate(sorted(lines.items())):
        window = max(1, round(len(y) * SMOOTHING_FRACTION))
        if window > 1:
            axes.plot(x, y, color=f"C{i}", linewidth=0.8, alpha=0.3)
        axes.plot(
            x,
            running_mean(y, window),
            color=f"C{i}",
            linewidth=1.8,
            label=policy or "return",
            marker="o" if len(y) == 1 else None,
        )
    if not lines:
        axes.text(0.5, 0.7, "no episode has ended", transform=axes.transAxes, ha="center", va="center", alpha=0.6)
    axes.grid(which="major", alpha=0.3)
