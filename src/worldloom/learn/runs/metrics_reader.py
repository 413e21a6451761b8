"""Reads the metrics of a run that another process trains."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from worldloom.core.base.files import open_regular
from worldloom.learn.runs.metrics_file import PROGRESS_FIELDS
from worldloom.learn.training.progress import Progress


class MetricsReader:
    """Reads a run's metrics while they are written. Each iteration is returned once, also after a restart.

    Args:
        file: The file ``metrics.jsonl``, which need not exist yet.
        total_steps: Steps at which the run is complete.
    """

    def __init__(self, file: Path, total_steps: int) -> None:
        self.file, self.total_steps = file, total_steps
        self._inode = self._offset = 0
        self._last = -1

    def new(self) -> list[Progress]:
        """The rows that were written since the last call."""
        try:
            with os.fdopen(open_regular(self.file, os.O_RDONLY), "rb") as stream:
                inode = os.fstat(stream.fileno()).st_ino
                if inode != self._inode:  # a restarted run replaces the file
                    self._inode, self._offset = inode, 0
                stream.seek(self._offset)
                text = stream.read()
        except OSError:
            return []
        complete = text.rfind(b"\n") + 1
        self._offset += complete
        rows = [json.loads(line) for line in text[:complete].splitlines()]
        fresh = [row for row in rows if row["iteration"] > self._last]
        self._last = max((row["iteration"] for row in fresh), default=self._last)
        return [self._progress(row) for row in fresh]

    def _progress(self, row: dict[str, Any]) -> Progress:
        numbers = {name: math.nan if value is None else value for name, value in row.items()}
        metrics = {name: value for name, value in numbers.items() if name not in PROGRESS_FIELDS}
        return Progress(
            int(numbers["iteration"]),
            int(numbers["steps"]),
            self.total_steps,
            numbers["seconds"],
            numbers["steps_per_second"],
            metrics,
        )
