"""The report of a population: tables of its history and its members, JSON, ``history.csv`` and a figure."""

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
from worldloom.learn.experiments.population.member_result import MemberResult
from worldloom.learn.experiments.population.population_folder import PopulationFolder
from worldloom.learn.experiments.search.dimension import Choices, format_value
from worldloom.view.population_curves import Panel, draw_population

CSV, FIGURE = "history.csv", "population.svg"


def write_files(folder: PopulationFolder) -> dict[str, Path]:
    """Write the table and the figure; returns their files."""
    return write_report(folder.path / CSV, csv_text(folder), folder.path / FIGURE, lambda file: draw(folder, file))


def csv_text(folder: PopulationFolder) -> str:
    """Every member of every generation as CSV; exact values. It does not depend on interruptions."""
    names = [dimension.name for dimension in folder.space]
    results = [folder.results[key] for key in sorted(folder.results)]
    rows = [
        [r.generation, r.member, r.source, r.score, r.steps, *(r.settings[name] for name in names), r.error]
        for r in results
    ]
    return csv_rows(["generation", "member", "source", "score", "steps", *names, "error"], rows)


def draw(folder: PopulationFolder, target: Path) -> None:
    """Draw the return and every setting of all members over steps."""
    members = range(folder.plan.population)
    rows = [[folder.results[key] for key in sorted(folder.results) if key[1] == member] for member in members]
    panels = [Panel("return", [[(r.steps, r.score) for r in own if r.score is not None] for own in rows])]
    for dimension in folder.space:
        choices = dimension.values if isinstance(dimension, Choices) else ()
        lines = [
            [(r.steps, choices.index(v) if choices else v) for r in own for v in (r.settings[dimension.name],)]
            for own in rows
        ]
        log = not isinstance(dimension, Choices) and dimension.log
        panels.append(Panel(dimension.name, lines, log, [format_value(value) for value in choices]))
    env = file_and_id(folder.request.env)[1]
    draw_population(panels, target, f"{env} with {folder.request.algorithm}: {len(members)} members")


def report(folder: PopulationFolder, files: Mapping[str, Path], received: signal.Signals | None) -> Report:
    """The report of a population whose training has ended or was interrupted."""
    best = folder.best
    best_run = None if best is None else folder.member_path(best.member)
    values = {
        "generations": folder.finished_generations(),
        "best": None if best is None else {**_entry(best), "folder": str(best_run)},
        "history": [_entry(folder.results[key]) for key in sorted(folder.results)],
    }
    return Report(
        "pbt",
        folder.path,
        folder.request,
        files,
        ("population.json", "member_00, ..."),
        [history_table(folder), member_table(folder)],
        values,
        best_run,
        folder.is_over(),
        received,
    )


def _entry(result: MemberResult) -> dict[str, Any]:
    return {**result.as_dict(), "error": result.error or None}


def history_table(folder: PopulationFolder) -> Table:
    """A row for each generation: members that copied another, the mean and the best return, and who has the best."""
    rows = Table(box=box.SIMPLE)
    for name in ("generation", "steps", "copies", "mean", "best", "member"):
        rows.add_column(name, justify="right")
    for dimension in folder.space:
        rows.add_column(dimension.name, justify="right")
    for number in range(folder.finished_generations()):
        results = folder.generation(number) or []
        scored = [result for result in results if result.score is not None]
        best = max(scored, key=lambda r: (r.score or 0.0, -r.member)) if scored else None
        mean = sum(result.score or 0.0 for result in scored) / len(scored) if scored else 0.0
        rows.add_row(
            str(number + 1),
            f"{max(result.steps for result in results):,}",
            str(sum(result.source != result.member for result in results)),
            "" if best is None else f"{mean:.4g}",
            "" if best is None else f"{best.score:.4g}",
            "" if best is None else str(best.member),
            *("" if best is None else format_value(best.settings[dimension.name]) for dimension in folder.space),
        )
    return rows


def member_table(folder: PopulationFolder) -> Table:
    """The members in the last generation that has ended, the best first."""
    rows = Table(box=box.SIMPLE)
    for name in ("member", "return", *(dimension.name for dimension in folder.space)):
        rows.add_column(name, justify="right")
    rows.add_column("state")
    count = folder.finished_generations()
    results = (folder.generation(count - 1) or []) if count else []
    order = sorted(results, key=lambda r: (r.score is None, -(r.score or 0.0), r.member))
    for result in order:
        is_best = folder.best is not None and result.member == folder.best.member
        rows.add_row(
            str(result.member),
            "" if result.score is None else f"{result.score:.4g}",
            *(format_value(result.settings[dimension.name]) for dimension in folder.space),
            "best" if is_best else "failed" if result.error else "",
            style="bold" if is_best else None,
        )
    return rows
