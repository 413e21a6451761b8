"""Output of commands: results on standard output, everything else on standard error."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text


class _Output(Console):
    """A console whose closed pipe is an error of the command, and not the exit code 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def out() -> Console:
    """Standard output; a new Console each time, because tests and JSON output replace ``sys.stdout``."""
    return _Output(highlight=False)


def err() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False)


def print_error(message: str) -> None:
    """Print an error to standard error, without wrapping, so that file names can be copied."""
    err().print(Text.assemble(("worldloom: ", "bold red"), message), soft_wrap=True)


def print_warnings(messages: Iterable[str]) -> None:
    """Print warnings about a result to standard error, one line each."""
    for message in messages:
        err().print(Text.assemble(("worldloom: ", "bold yellow"), message), soft_wrap=True)


@contextlib.contextmanager
def keep_stdout_for_json(as_json: bool) -> Iterator[None]:
    """With ``as_json``: redirect standard output to standard error, so that the JSON is the only output."""
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        yield


def print_json(data: Any) -> None:
    """Print one JSON document to standard output."""
    print(json.dumps(_json_safe(data), indent=2, allow_nan=False))


def _json_safe(data: Any) -> Any:
    """``data`` with infinities and NaN as strings, which JSON has no numbers for."""
    if isinstance(data, dict):
        return {key: _json_safe(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_json_safe(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def print_result(as_json: bool, data: Any, text: RenderableType) -> None:
    """Print a result to standard output: ``data`` as JSON, or ``text`` for people."""
    if as_json:
        print_json(data)
    else:
        out().print(text)


def format_count(value: float) -> str:
    """A rate or a count for people: ``41.2 million``, ``8,192``."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if abs(value) >= size:
            return f"{value / size:,.1f} {word}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def two_digits(value: float) -> str:
    """A number with two digits that count, as an uncertainty is stated: ``150``, ``1.5``, ``0.012``."""
    return f"{float(f'{value:.2g}'):g}"


def format_bytes(count: float) -> str:
    """A number of bytes for people: ``61 B``, ``1.5 MiB``."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
