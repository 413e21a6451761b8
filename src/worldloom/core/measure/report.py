"""Reports for the terminal, with rich or as plain text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

WIDTH = 140
"""Characters per line of a report in plain text."""


class Report:
    """Base class of printable results: ``print(report)`` gives plain text, a rich console gives colours."""

    def __rich__(self) -> Any:
        raise NotImplementedError

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=WIDTH, color_system=None, highlight=False).print(self.__rich__())
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def format_seconds(seconds: float) -> str:
    """A time in readable units: ``2.3 µs``, ``1.7 ms``, ``4.0 s``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def capacity_note(populations: Sequence[str]) -> str:
    """A note on the bytes of a world with populations."""
    counted = f"Bytes of {', '.join(populations)} are counted as if every place were taken"
    return f"{counted}, so they can exceed what is moved, and the bandwidth."
