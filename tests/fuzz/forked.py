"""Child processes forked from a parent that has imported and compiled everything: a training starts in a second.

Forking is safe because the parent never starts a thread: this module limits NumPy and PyTorch to one thread before they
are imported, and nothing in the parent uses a GPU.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

TRACEBACK = 99
"""Exit code of a child that an exception ended."""


def require_single_threaded() -> None:
    """RuntimeError where this process has a second thread after a few seconds, in which threads may end."""
    tasks, end = Path("/proc/self/task"), time.monotonic() + 5.0
    while tasks.is_dir() and len(list(tasks.iterdir())) > 1:
        if time.monotonic() > end:
            raise RuntimeError("a process with threads cannot be forked safely")
        time.sleep(0.01)


def fork(work: Callable[[], int], log: Path) -> int:
    """Run ``work`` in a child process with its output in ``log``; returns the child's process id.

    The child's exit code is the result of ``work``.
    """
    require_single_threaded()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    code = TRACEBACK
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        code = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait(child: int, timeout_s: float) -> int | None:
    """The exit code of a child, negative for a signal; None where it had to be killed after ``timeout_s``."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
