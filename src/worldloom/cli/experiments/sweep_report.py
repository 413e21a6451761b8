"""The report of a sweep: a table, JSON, ``trials.csv`` and a figure."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from worldloom.cli.experiments.report import Report
from worldloom.cli.experiments.report_files import csv_rows, write_report
from worldloom.core.registry.world_files import file_and_id
from worldloom.learn.experiments.search.dimension import Choices, format_value
from worldloom.learn.experiments.sweep.sweep_folder import SweepFolder
from worldloom.learn.experiments.sweep.trial_result import TrialResult
from worldloom.view.parallel_coordinates import Axis, draw_parallel_coordinates

CSV, FIGURE = "trials.csv", "parallel_coordinates.svg"


def write_files(folder: SweepFolder) -> dict[str, Path]:
    """Write the table and the figure; returns their files."""
    return write_report(folder.path / CSV, csv_text(folder), folder.path / FIGURE, lambda file: draw(folder, file))


def csv_text(folder: SweepFolder) -> str:
    """All trials as CSV in the order of their numbers; exact values. It does not depend on interruptions."""
    names = [dimension.name for dimension in folder.space]
    results = [folder.results[number] for number in sorted(folder.results)]
    rows = [[r.number, r.state, r.value, r.steps, *(r.settings[name] for name in names), r.error] for r in results]
    return csv_rows(["trial", "state", "value", "steps", *names, "error"], rows)


def draw(folder: SweepFolder, target: Path) -> None:
    """Draw the trials as lines across one axis per setting and one for the objective."""
    shown = [result for result in folder.ranked() if result.value is not None][::-1]  # the best is drawn last
    axes = [
        Axis(
            dimension.name,
            [r.settings[dimension.name] if isinstance(dimension, Choices) else float(r.settings[dimension.name])
             for r in shown],
            labels=[format_value(value) for value in dimension.values] if isinstance(dimension, Choices) else None,
            choices=dimension.values if isinstance(dimension, Choices) else (),
            log=not isinstance(dimension, Choices) and dimension.log,
        )
        for dimension in folder.space
    ]  # fmt: skip
    values = [result.value for result in shown if result.value is not None]
    axes.append(Axis(folder.objective.label(), list(values)))
    env = file_and_id(folder.request.env)[1]
    title = f"{env} with {folder.request.algorithm}: {len(folder.results)} trials"
    best = folder.best
    faint = [result.state == "pruned" for result in shown]
    highlighted = None if best is None else shown.index(best)
    draw_parallel_coordinates(axes, target, title, faint, highlighted, folder.objective.until_target)


def describe_failure(folder: SweepFolder) -> str:
    """Why no trial is the best, in one sentence; empty where one is."""
    if folder.best is not None:
        return ""
    failed = [result for result in folder.ranked() if result.state == "failed"]
    if failed:
        return f"no trial is complete with a value; trial {failed[0].number} failed: {failed[0].error}"
    if folder.plan.target is not None:
        return f"no trial reached a return of {folder.plan.target:g}: use a lower --target, or more --total-steps"
    return "no trial has finished an episode: use more --total-steps"


def report(folder: SweepFolder, files: Mapping[str, Path], received: signal.Signals | None) -> Report:
    """The report of a sweep that has ended or was interrupted."""
    best = folder.best
    values = {
        "objective": folder.plan.objective,
        "target": folder.plan.target,
        "best": None if best is None else _entry(folder, best),
        "trials": [_entry(folder, folder.results[number]) for number in sorted(folder.results)],
    }
    return Report(
        "sweep",
        folder.path,
        folder.request,
        files,
        ("sweep.json", "trial_0000, ..."),
        [table(folder)],
        values,
        None if best is None else folder.run_paths(best.number)[0],
        not folder.pending(),
        received,
    )


def _entry(folder: SweepFolder, result: TrialResult) -> dict[str, Any]:
    names = ("number", "state", "value", "steps", "seconds", "settings")
    return {
        **{name: getattr(result, name) for name in names},
        "error": result.error or None,
        "folder": str(folder.trial_path(result.number)),
    }


def table(folder: SweepFolder) -> Table:
    """All trials, the best first."""
    rows = Table(box=box.SIMPLE)
    rows.add_column("trial", justify="right")
    rows.add_column(folder.objective.label(), justify="right")
    for dimension in folder.space:
        rows.add_column(dimension.name, justify="right")
    rows.add_column("steps", justify="right")
    rows.add_column("state")
    for result in folder.ranked():
        is_best = result is folder.best
        rows.add_row(
            str(result.number),
            "" if result.value is None else f"{result.value:.4g}",
            *(format_value(result.settings[dimension.name]) for dimension in folder.space),
            f"{result.steps:,}",
            "best" if is_best else "" if result.state == "complete" else result.state,
            style="bold" if is_best else None,
        )
    return rows
