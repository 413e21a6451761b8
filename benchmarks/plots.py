"""Pictures of sweeps: rates over sizes, both axes logarithmic, with the figures of others as points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Labels:
    """What stands beside a picture."""

    title: str
    x: str
    y: str


def log_log(
    file: Path, labels: Labels, lines: Mapping[str, Points], points: Mapping[str, Points] | None = None
) -> list[Path]:
    """Draw ``lines`` and ``points``, each (x, y) by name, into ``file`` as PNG and SVG; the files."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, found in lines.items():
        axes.plot(*zip(*found, strict=True), marker="o", label=name)
    for marker, (name, found) in zip("sD^vP*X<>", (points or {}).items(), strict=False):
        axes.plot(*zip(*found, strict=True), marker=marker, linestyle="none", markersize=8, label=name)
    axes.set(xscale="log", yscale="log", xlabel=labels.x, ylabel=labels.y, title=labels.title)
    axes.grid(which="major", alpha=0.3)
    axes.legend(fontsize="small")
    return _save(figure, file)


def curves(file: Path, labels: Labels, lines: Mapping[str, Points], goal: float | None = None) -> list[Path]:
    """Draw ``lines``, each (x, y) by name, and a broken line at ``goal``, into ``file`` as PNG and SVG; the files."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, found in lines.items():
        axes.plot(*zip(*found, strict=True), label=name)
    if goal is not None:
        axes.axhline(goal, color="black", linestyle="--", linewidth=0.8, alpha=0.6)
    axes.set(xlabel=labels.x, ylabel=labels.y, title=labels.title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return _save(figure, file)


def _save(figure: Figure, file: Path) -> list[Path]:
    """Write a figure as PNG and SVG; the files."""
    file.parent.mkdir(parents=True, exist_ok=True)
    files = [file.with_suffix(ending) for ending in (".png", ".svg")]
    for made in files:
        figure.savefig(made, dpi=150)
    return files
