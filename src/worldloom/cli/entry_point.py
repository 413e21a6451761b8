"""The process of the ``worldloom`` command: runs the command, and exits without freeing its objects one by one."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import NoReturn

from worldloom.cli.main import main


def run() -> NoReturn:
    """Run the command line, and exit with its code."""
    exit_quickly(main())


def exit_quickly(code: int) -> NoReturn:
    """Exit after the exit handlers and the output, but without the interpreter's teardown.

    With PyTorch and Warp the teardown takes a second. The operating system frees the same memory at once. Where other
    threads still run, or the output cannot be written, the process exits as usual.
    """
    current = threading.current_thread()
    if all(thread is current or thread.daemon for thread in threading.enumerate()):
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            sys.exit(code)
        os._exit(code)
    sys.exit(code)
