"""Ctrl-C while the ``worldloom`` command loads: the command exits with code 130 and without a traceback.

Loading takes a second or more, most of it in other packages, whose extension modules turn a ``KeyboardInterrupt`` into
other errors. Until the command starts its work, the signal therefore ends the process at once. Programs that import
worldloom are not affected.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from pathlib import PurePath
from types import FrameType
from typing import Any

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended."""

_previous_handler: Any = None


def is_command(arguments: list[str], original: list[str]) -> bool:
    """Whether ``sys.argv`` and ``sys.orig_argv`` are those of ``worldloom ...`` or ``python -m worldloom ...``."""
    if not arguments:
        return False
    if arguments[0] == "-m":  # Python has not resolved the module yet
        return any(
            flag == "-m" and module in ("worldloom", "worldloom.cli") for flag, module in itertools.pairwise(original)
        )
    name = PurePath(arguments[0])
    return name.stem == "worldloom" and name.suffix in ("", ".exe")


def exit_on_sigint() -> None:
    """From now on, exit silently at Ctrl-C, if this process is the command and the signal has no other handler."""
    global _previous_handler
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler and is_command(sys.argv, sys.orig_argv):
        _previous_handler = signal.signal(signal.SIGINT, _exit)


def restore_sigint() -> None:
    """Let Ctrl-C raise ``KeyboardInterrupt`` again."""
    global _previous_handler
    if _previous_handler is not None:
        signal.signal(signal.SIGINT, _previous_handler)
        _previous_handler = None


def _exit(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
