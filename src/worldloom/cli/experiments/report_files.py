"""The files of a report: a table as CSV, and a figure."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import write_file
from worldloom.terminal import console


def write_report(table: Path, text: str, figure: Path, draw: Callable[[Path], None]) -> dict[str, Path]:
    """Write the table and the figure; returns their files. A figure that cannot be drawn is skipped with a message."""
    files = {"csv": table}
    write_file(table, text)
    try:
        draw(figure)
        files["figure"] = figure
    except InputError as error:
        console.err().print(f"worldloom: no {figure.name}: {error}", soft_wrap=True, markup=False)
    return files


def csv_rows(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV with exact values: lists as JSON, nothing for None."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([json.dumps(cell) if isinstance(cell, list) else cell for cell in row] for row in rows)
    return text.getvalue()
