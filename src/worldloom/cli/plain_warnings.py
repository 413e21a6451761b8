"""Warnings of a command as one plain line each, without file and source line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from worldloom.terminal.console import print_warnings


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings as single lines on standard error."""
    with warnings.catch_warnings():
        warnings.showwarning = _show
        yield


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print_warnings([" ".join(str(message).split())])
