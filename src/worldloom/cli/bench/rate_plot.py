"""The plot of ``worldloom bench step --sweep``: world steps per second over the number of worlds."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.view import new_figure, save_figure


def check(file: str, sweeping: bool) -> None:
    """Raise InputError if ``file`` cannot be drawn, before anything is measured."""
    if not sweeping:
        raise InputError("--plot draws a sweep: give --sweep with several numbers of worlds, such as 1024,4096,16384")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("--plot needs matplotlib: pip install 'worldloom[view]' adds it")
    if not Path(file).expanduser().parent.is_dir():
        raise InputError(f"--plot cannot write {file}: there is no folder {Path(file).parent}")


def draw(reports: list[dict[str, Any]], file: str) -> None:
    """Draw the rates of all engines, both axes logarithmic, to ``file``; its suffix selects the format."""
    figure = new_figure("--plot", 7.0, 4.5)
    axes = figure.add_subplot()
    for name, points in rates_by_name(reports).items():
        axes.plot([size for size, _ in points], [rate for _, rate in points], marker="o", label=name)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="worlds",
        ylabel="world steps per second",
        title=f"{reports[0]['env']} on {reports[0]['device']}",
    )
    axes.grid(which="major", alpha=0.3)
    axes.legend()
    save_figure(figure, Path(file))


def rates_by_name(reports: list[dict[str, Any]]) -> dict[str, list[tuple[int, float]]]:
    """For worldloom and each baseline: (number of worlds, world steps per second), from the reports of a sweep."""
    rates: dict[str, list[tuple[int, float]]] = {
        "worldloom": [(report["num_worlds"], report["steps_per_second"]) for report in reports]
    }
    for report in reports:
        for name, baseline in report["against"].items():
            rates.setdefault(name, []).append((report["num_worlds"], baseline["steps_per_second"]))
    return rates
