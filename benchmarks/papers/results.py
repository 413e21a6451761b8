"""Results of an experiment in a JSON file that is written after every change, so that a command can be repeated.

A command asks for the row of a run by its key. A row that is complete is not measured again; the row of a training that
was interrupted says where to continue.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import benchmarks_path  # noqa: F401
import numpy as np
import tyro
import warp as wp
from rich.console import Console
from rich.table import Table
from run import describe_machine

from worldloom.core.base.errors import InputError

Row = dict[str, Any]
DASH = "-"
"""What a table shows where there is no value."""


@dataclass
class Results:
    """Rows of one experiment by key.

    Attributes:
        path: The file; None to keep the rows in memory only.
        experiment: The experiment's name, which the file states.
        settings: Settings that all rows share. Rows with other settings are not mixed into the file.
        rows: The rows by key, in the order in which they were added.
    """

    path: Path | None
    experiment: str
    settings: dict[str, Any]
    rows: dict[str, Row] = field(default_factory=dict)
    _scratch: tempfile.TemporaryDirectory[str] | None = None

    def put(self, key: str, row: Row, device: wp.Device) -> None:
        """Add or replace a row, with the machine of ``device`` and the date, and write the file."""
        self.rows[key] = {**row, "measured": describe_machine(device)}
        if self.path is None:
            return
        content = {"experiment": self.experiment, "settings": self.settings, "rows": self.rows}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        writing = self.path.with_name(f".{self.path.name}.writing")
        writing.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")
        os.replace(writing, self.path)

    def folder(self, key: str) -> Path:
        """A folder for the checkpoint of a run, beside the file; a temporary one without a file."""
        if self.path is not None:
            return self.path.with_suffix(".pieces") / key.replace("/", "_")
        self._scratch = self._scratch or tempfile.TemporaryDirectory()
        return Path(self._scratch.name) / key.replace("/", "_")


def run_command(main: Callable[[Any], None], kind: type[Any]) -> None:
    """Parse the command line into settings of class ``kind`` and run ``main``; an InputError is one line."""
    try:
        main(tyro.cli(kind))
    except InputError as problem:
        raise SystemExit(str(problem)) from None


def open_results(path: Path | None, experiment: str, settings: Mapping[str, Any]) -> Results:
    """The results in ``path``, empty where there is no such file.

    InputError where the file is not one of this experiment, or was written with other settings.
    """
    results = Results(path, experiment, json.loads(json.dumps(settings)))
    if path is None or not path.exists():
        return results
    try:
        content = json.loads(path.read_text())
        found, rows = content["experiment"], content["rows"]
        same = content["settings"] == results.settings
        if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} does not hold results of an experiment: give another file as --out") from None
    if found != experiment:
        raise InputError(f"{path} holds results of {found}, not of {experiment}: give another file as --out")
    if not same:
        other = {k: v for k, v in content["settings"].items() if results.settings.get(k) != v}
        raise InputError(
            f"{path} was written with other settings ({other}): repeat them, or give another file as --out"
        )
    results.rows = rows
    return results


def show_table(console: Console, title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table: text to the left, numbers to the right, a dash for None."""
    table = Table(title=title)
    for column, head in enumerate(heads):
        numbers = all(not isinstance(row[column], str) for row in rows)
        table.add_column(head, justify="right" if numbers else "left")
    for row in rows:
        table.add_row(*map(cell, row))
    console.print(table)


def cell(value: Any) -> str:
    """A value as a table shows it: three digits of a real number."""
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return DASH
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100.0 else f"{value:,.0f}" if abs(value) < 1e5 else f"{value:.2e}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
