"""Paths given by users."""

from __future__ import annotations

from pathlib import Path

from worldloom.core.base.errors import InputError


def expand_home(path: str | Path) -> Path:
    """``path`` with ``~`` expanded. Raises InputError if there is no such user, or for another type."""
    if not isinstance(path, (str, Path)):
        raise InputError(f"a path is text or a pathlib.Path, not {path!r}")
    if "\0" in str(path):
        raise InputError(f"the path {printable_path(path)} holds a null character, which no file name can")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(
            f"the path {printable_path(path)} begins with the home of a user who is not known here: write it out"
        ) from None


def printable_path(path: str | Path) -> str:
    """``path`` on one line of text, with unprintable characters escaped."""
    text = str(path)
    return text if text.isprintable() else ascii(text)
