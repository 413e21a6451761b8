"""Standard output and standard error that fail while a training runs: a closed pipe or terminal, or a full disk.

The training goes on. What it prints from then on is appended to ``output.log`` in its folder.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from worldloom.core.base.files import open_regular

LOG = "output.log"
"""The file in the folder of a training for what can no longer be printed."""


class OutputStream(io.TextIOBase):
    """A text stream whose output goes to a file once it cannot be written.

    Args:
        stream: The stream.
        name: Its name in the first line of the file.
    """

    def __init__(self, stream: IO[str], name: str) -> None:
        self._stream, self._name = stream, name
        self._folder: Path | None = None
        self._lost = ""
        """What was printed since the stream failed, until there is a folder."""
        self._has_failed, self._is_terminal = False, stream.isatty()

    def set_folder(self, folder: Path) -> None:
        """Set the folder of the file."""
        self._folder = folder
        if self._lost:
            self._append("")

    def write(self, text: str) -> int:
        if not self._has_failed:
            try:
                self._stream.write(text)
                self._stream.flush()
                return len(text)
            except (OSError, ValueError) as error:  # ValueError: the file object is closed
                self._fail(error)
        # The panel of a terminal is drawn four times a second.
        self._append("" if self._is_terminal else text)
        return len(text)

    def flush(self) -> None:
        if not self._has_failed:
            try:
                self._stream.flush()
            except (OSError, ValueError) as error:
                self._fail(error)

    def isatty(self) -> bool:
        return self._is_terminal and not self._has_failed

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> Any:  # type: ignore[override]
        return getattr(self._stream, "encoding", "utf-8")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _fail(self, error: Exception) -> None:
        """Go on without the stream."""
        self._has_failed = True
        reason = getattr(error, "strerror", None) or str(error)
        self._append(f"worldloom: {self._name} cannot be written ({reason}); the training goes on and prints here\n")

    def _append(self, text: str) -> None:
        self._lost += text
        if self._folder is None or not self._lost:
            return
        with contextlib.suppress(OSError):  # the output is lost, the training is not
            handle = open_regular(self._folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            with os.fdopen(handle, "a", encoding="utf-8", errors="replace") as file:
                file.write(self._lost)
        self._lost = ""


@contextlib.contextmanager
def keep_training_without_output(wanted: bool = True) -> Iterator[None]:
    """Inside the block, let output go to a file once it cannot be written; if ``wanted``."""
    before = sys.stdout, sys.stderr
    if wanted:
        sys.stdout, sys.stderr = (
            stream and OutputStream(stream, name)
            for stream, name in zip(before, ("standard output", "standard error"), strict=True)
        )
    try:
        yield
    finally:
        if wanted:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        sys.stdout, sys.stderr = before


def set_folder(folder: Path) -> None:
    """Set the folder of the training, for the file."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, OutputStream):
            stream.set_folder(folder)
