"""The file ``metrics.jsonl`` of a run: one JSON object per iteration."""

from __future__ import annotations

import os
from pathlib import Path

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import read_file
from worldloom.learn.config.json_files import as_float, parse_json

METRICS = "metrics.jsonl"
PROGRESS_FIELDS = ("iteration", "steps", "seconds", "steps_per_second")
"""Fields of every row that are not metrics."""


def read_rows(file: Path) -> list[tuple[bytes, dict[str, float | None]]]:
    """Every complete line with its object: numbers by name, None where there was no value.

    An unfinished last line, without a line break, is what a killed run leaves: it is dropped. InputError for a complete
    line that is not a row of metrics.
    """
    try:
        lines = read_file(file).split(b"\n")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    rows: list[tuple[bytes, dict[str, float | None]]] = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            row = parse_json(line)
            if not isinstance(row, dict) or type(row.get("iteration")) is not int:
                raise ValueError("not an object with an iteration")
            for value in row.values():
                if value is not None:
                    as_float(value)
        except ValueError as error:
            raise InputError(f"{file}, line {number}, is not a row of metrics ({error}): remove the line") from None
        rows.append((line, row))
    return rows


def rows_until(file: Path, iteration: int) -> bytes | None:
    """The rows of ``file`` up to ``iteration``; None where there is no file."""
    if not os.path.lexists(file):
        return None
    return b"".join(line + b"\n" for line, row in read_rows(file) if (row["iteration"] or 0) <= iteration)
