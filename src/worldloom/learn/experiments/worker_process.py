"""Processes that work for this one: a module of the package, which reads one JSON object and writes others.

A worker is a new interpreter in a session of its own, so that Ctrl-C reaches only the parent. It gets a signal when the
parent passes one on, or SIGTERM when the parent ends, however that ends. It never gets two: a training exits at once
after the second.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from worldloom.core.base.errors import StorageError
from worldloom.core.base.files import open_regular, read_file, reject_symlink, write_error

Message = dict[str, Any]
Send = Callable[[Message], None]

LIMITS = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)
"""Errors where the operating system grants no more files, processes or memory."""

LOG_TAIL_BYTES = 4096
"""Bytes at the end of a log in which the last line is searched."""


class WorkerProcess:
    """A process that runs the main function of a module, which calls :func:`serve`.

    Args:
        module: The module.
        request: What the worker is to do; values for JSON.
        log: The file for its standard error; InputError where it is a symbolic link.
        cores: CPU cores that it may use; empty for all.

    Raises:
        StorageError: If the log cannot be written, or the operating system refuses the process.
    """

    def __init__(self, module: str, request: Mapping[str, Any], log: Path, cores: Collection[int] = ()) -> None:
        self.log = log
        reject_symlink(log)
        paths = os.pathsep.join(path for path in sys.path if path)
        try:
            with os.fdopen(open_regular(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as errors:
                self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
                    [sys.executable, "-m", module],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env={**os.environ, "PYTHONPATH": paths},
                    start_new_session=True,
                )
        except OSError as error:
            if error.errno not in LIMITS:
                raise write_error(log, error) from None
            raise StorageError(
                f"the operating system refuses another process for training ({error.strerror}): run fewer side "
                "by side, or raise the limit of open files (ulimit -n) or of processes (ulimit -u)"
            ) from None
        assert self.process.stdin is not None
        if cores and hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(self.process.pid, cores)
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="worldloom-worker", daemon=True).start()
        with contextlib.suppress(OSError):  # it has exited already; the pipe stays open until this process ends
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()

    def receive(self, timeout_s: float) -> Message | None:
        """The next message; None where the worker has exited. Raises ``queue.Empty`` after ``timeout_s`` seconds."""
        message = self._messages.get(timeout=timeout_s)
        if message is None:
            self._messages.put(None)  # for the next call
        return message

    def send_signal(self, number: signal.Signals) -> None:
        """Let the worker send itself a signal, if it still runs."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(f"{int(number)}\n".encode())
            self.process.stdin.flush()

    def was_killed(self) -> bool:
        """Whether a signal ended the process. Call it once it has exited."""
        return self.process.wait() < 0

    def describe_exit(self) -> str:
        """How the process exited, in words, with the last line of its log. Call it once it has exited."""
        code = self.process.wait()
        tail: list[str] = []
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
        with contextlib.suppress(OSError):
            tail = read_file(self.log)[-LOG_TAIL_BYTES:].decode(errors="replace").strip().splitlines()
        return f"its process {how}" + (f": {tail[-1].strip()}" if tail else "")

    def close(self, wait_s: float = 0.0) -> None:
        """Kill the worker and its processes, if they still run after ``wait_s`` seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(wait_s)
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            for line in self.process.stdout:
                self._messages.put(json.loads(line))
        self._messages.put(None)


def serve(work: Callable[[Message, Send], None]) -> None:
    """Run ``work`` in a worker: it gets the request, and a function that sends messages to the parent.

    Standard output holds messages only: what others print goes to standard error.
    """
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request: Message = json.loads(sys.stdin.readline())
    threading.Thread(target=_pass_on_signals, name="worldloom-parent", daemon=True).start()

    def send(message: Message) -> None:
        messages.write(json.dumps(message) + "\n")
        messages.flush()

    work(request, send)


def _pass_on_signals() -> None:
    """Send this process the first signal that the parent names; SIGTERM where the parent ends before it does so."""
    line = sys.stdin.readline()
    os.kill(os.getpid(), int(line) if line else signal.SIGTERM)
