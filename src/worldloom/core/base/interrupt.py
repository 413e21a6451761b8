"""Ctrl-C while the ``worldloom`` command loads: it ends with exit code 130 and without a traceback.

Loading takes a second or more, most of it in other packages, whose extension modules turn a ``KeyboardInterrupt`` into errors of their own. So the
signal ends the process at once until the command begins its work, which handles it in good order. Programs that import worldloom are not affected.
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
"""What a shell reports for a command that Ctrl-C ended."""

_before: Any = None


def is_command(arguments: list[str], original: list[str]) -> bool:
    """Whether ``sys.argv`` and ``sys.orig_argv`` are those of ``worldloom ...`` or ``python -m worldloom ...``."""
    if not arguments:
        return False
    if arguments[0] == "-m":  # Python has not found the module yet
        return any(
            flag == "-m" and module in ("worldloom", "worldloom.cli") for flag, module in itertools.pairwise(original)
        )
    name = PurePath(arguments[0])
    return name.stem == "worldloom" and name.suffix in ("", ".exe")


def exit_on_sigint() -> None:
    """End this process at Ctrl-C without a word from now on, if it is the command and nobody else handles the signal."""
    global _before
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler and is_command(sys.argv, sys.orig_argv):
        _before = signal.signal(signal.SIGINT, _leave)


def restore_sigint() -> None:
    """Let Ctrl-C raise ``KeyboardInterrupt`` again."""
    global _before
    if _before is not None:
        signal.signal(signal.SIGINT, _before)
        _before = None


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
