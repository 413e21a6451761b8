"""Figures of experiments: means of several seeds with their spread, and rates over sizes with their repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import benchmarks_path  # noqa: F401
import numpy as np

from worldloom.view.figure import new_figure, save_figure

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Band:
    """A line with a band around it: the mean, the lowest and the highest, each of shape (points,)."""

    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def mean_band(curves: Sequence[Points]) -> Band:
    """Mean and standard deviation of curves, interpolated linearly over the x that all of them cover."""
    arrays = [np.asarray(curve, float) for curve in curves]
    first, last = max(a[0, 0] for a in arrays), min(a[-1, 0] for a in arrays)
    x = np.unique(np.concatenate([a[:, 0] for a in arrays]))
    x = x[(x >= first) & (x <= last)]
    values = np.stack([np.interp(x, a[:, 0], a[:, 1]) for a in arrays])
    mean, std = values.mean(0), values.std(0)
    return Band(x, mean, mean - std, mean + std)


def repeated_band(points: Mapping[int, Sequence[float]]) -> Band:
    """Median, lowest and highest of repetitions, by x."""
    x = sorted(points)
    rows = [[float(f(points[k])) for k in x] for f in (np.median, np.min, np.max)]
    return Band(np.array(x, float), *(np.array(row) for row in rows))


def draw_bands(
    file: Path,
    title: str,
    x: str,
    y: str,
    bands: Mapping[str, Band],
    *,
    goal: float | None = None,
    marks: Mapping[str, Points] | None = None,
    log: bool = False,
) -> list[Path]:
    """Draw ``bands`` by name, a broken line at ``goal`` and ``marks`` as points; the PNG and the SVG file."""
    figure = new_figure("the picture", 7.0, 4.5)
    axes = figure.add_subplot()
    for name, band in bands.items():
        (line,) = axes.plot(band.x, band.mean, marker="o", markersize=3, label=name)
        axes.fill_between(band.x, band.low, band.high, color=line.get_color(), alpha=0.2, linewidth=0)
    for marker, (name, points) in zip("sD^vP*X", (marks or {}).items(), strict=False):
        axes.plot(*zip(*points, strict=True), marker=marker, linestyle="none", markersize=8, label=name)
    if goal is not None:
        axes.axhline(goal, color="black", linestyle="--", linewidth=0.8, alpha=0.6)
    axes.set(xlabel=x, ylabel=y, title=title)
    if log:
        axes.set(xscale="log", yscale="log")
    axes.grid(alpha=0.3)
    if bands or marks:
        axes.legend(fontsize="small")
    files = [file.with_suffix(ending) for ending in (".png", ".svg")]
    for made in files:
        save_figure(figure, made)
    return files


def draw_bars(file: Path, title: str, y: str, bars: Mapping[str, Mapping[str, float]]) -> list[Path]:
    """Draw groups of bars on a logarithmic axis: values by group, then by series; the PNG and the SVG file."""
    groups = list(dict.fromkeys(group for values in bars.values() for group in values))
    figure = new_figure("the picture", 9.0, 4.5)
    axes = figure.add_subplot()
    width = 0.8 / max(1, len(bars))
    for number, (name, values) in enumerate(bars.items()):
        places = [groups.index(group) + width * (number - 0.5 * (len(bars) - 1)) for group in values]
        axes.bar(places, list(values.values()), width, label=name)
    axes.set(yscale="log", ylabel=y, title=title)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize="small")
    files = [file.with_suffix(ending) for ending in (".png", ".svg")]
    for made in files:
        save_figure(figure, made)
    return files
