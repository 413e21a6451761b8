"""What the reports of sweeps and populations share: the lines at the end, and values of the JSON."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from worldloom.core.registry.world_files import file_and_id
from worldloom.learn.runs.training_request import TrainingRequest
from worldloom.terminal import console


@dataclass(frozen=True)
class Report:
    """The report of an experiment.

    Attributes:
        command: The name of the command.
        path, request: The experiment's folder, and what it trains.
        files: The table and the figure by ``csv`` and ``figure``, where they were written.
        contents: What else the folder holds.
        tables: The tables to print.
        values: The values of the JSON between those that all experiments have.
        best_run: The folder of the best run; None where there is none.
        complete: Whether nothing is left to train.
        received: The signal that ended it, or None.
    """

    command: str
    path: Path
    request: TrainingRequest
    files: Mapping[str, Path]
    contents: Sequence[str]
    tables: Sequence[RenderableType]
    values: Mapping[str, Any]
    best_run: Path | None
    complete: bool
    received: signal.Signals | None

    def print(self, as_json: bool) -> None:
        """Print the tables, the files and the next commands; or JSON."""
        if as_json:
            console.print_json(self.as_dict())
            return
        for table in self.tables:
            console.out().print(table)
        for line in self._lines():
            console.out().print(line, soft_wrap=True, markup=False)

    def _lines(self) -> list[str]:
        lines = [f"{self.path}: {', '.join([*(file.name for file in self.files.values()), *self.contents])}"]
        if self.best_run is not None:
            lines.append(f"  worldloom eval {shlex.quote(str(self.best_run))}")
        if not self.complete:
            file, _ = file_and_id(self.request.env)
            world = f"{shlex.quote(file)} " if file else ""
            lines.append(f"  worldloom {self.command} {world}--resume --run-dir {shlex.quote(str(self.path))}")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The JSON of ``--json``."""
        return {
            "env": file_and_id(self.request.env)[1],
            "algorithm": self.request.algorithm,
            "folder": str(self.path),
            **self.values,
            "complete": self.complete,
            "stopped_by": None if self.received is None else self.received.name,
            **{name: str(self.files[name]) if name in self.files else None for name in ("csv", "figure")},
        }
