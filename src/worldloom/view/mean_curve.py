"""Learning curves of several runs: their mean with an interval, and the single runs as thin lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldloom.view.curve import Points
from worldloom.view.figure import new_figure, save_figure


@dataclass(frozen=True)
class MeanCurve:
    """The mean of several curves.

    Attributes:
        x: Environment steps, ascending.
        mean, low, high: Mean and bounds of its interval at each x; NaN bounds where there is only one curve.
        runs: The single curves, as (x, y).
    """

    x: Sequence[float]
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    runs: Sequence[Points]


def draw_mean_curves(
    curves: Mapping[str, MeanCurve], target: Path, title: str, interval: str, threshold: float | None = None
) -> None:
    """Draw the mean return over steps, one color per policy.

    Args:
        curves: The curve of each policy by name; ``""`` for a single one.
        target: The file, written atomically; its suffix, such as ``.png``, selects the format.
        title: The title of the figure.
        interval: What the band is, for the legend.
        threshold: The return at which the world counts as solved, drawn as a dashed line.
    """
    figure = new_figure("a curve", 7.0, 4.5)
    from matplotlib.ticker import EngFormatter

    axes = figure.add_subplot()
    for number, (policy, curve) in enumerate(sorted(curves.items())):
        color = f"C{number}"
        for x, y in curve.runs:
            axes.plot(x, y, color=color, linewidth=0.6, alpha=0.35)
        axes.fill_between(curve.x, curve.low, curve.high, color=color, alpha=0.2, label=interval if not number else "")
        axes.plot(curve.x, curve.mean, color=color, linewidth=1.8, label=policy or "mean")
    if threshold is not None:
        axes.axhline(
            threshold, color="black", linestyle="--", linewidth=1.0, alpha=0.6, label=f"solved at {threshold:g}"
        )
    if not curves:
        axes.text(0.5, 0.7, "no episode has ended", transform=axes.transAxes, ha="center", va="center", alpha=0.6)
    else:
        axes.legend(loc="best")
    axes.set(title=title, xlabel="steps", ylabel="return")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid(which="major", alpha=0.3)
    save_figure(figure, target)
