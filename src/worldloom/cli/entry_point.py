"""The process of the ``worldloom`` command: runs the command, and exits without freeing its objects one by one."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import sys
import threading
from typing import NoReturn

from worldloom.cli.main import main
from worldloom.terminal.console import print_error

CLOSED = (errno.EPIPE, errno.EIO)
"""Errors of a pipe or a terminal that nobody reads any more."""


def run() -> NoReturn:
    """Run the command line, and exit with its code."""
    exit_quickly(main())


def exit_quickly(code: int) -> NoReturn:
    """Exit after the exit handlers and the output, but without the interpreter's teardown.

    With PyTorch and Warp the teardown takes a second. The operating system frees the same memory at once. Where other
    threads still run, the process exits as usual.
    """
    current = threading.current_thread()
    if all(thread is current or thread.daemon for thread in threading.enumerate()):
        atexit._run_exitfuncs()
        os._exit(flush_output(code))
    sys.exit(code)


def flush_output(code: int) -> int:
    """Write what is left of the output, and return the exit code: ``code``, or 2 where the output cannot be written.

    A stream may be closed, and the reader of a pipe may have gone: neither is a fault of the command.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except ValueError:
        pass
    except OSError as error:
        if error.errno in CLOSED:
            return code
        print_error(f"the output cannot be written ({error.strerror}): free space, or redirect it elsewhere")
        code = code or 2
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            sys.stderr.flush()
    return code
