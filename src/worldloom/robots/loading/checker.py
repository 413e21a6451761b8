"""The parent of the process that loads models of others: its start, requests, limits and end."""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError

PROGRAM = Path(__file__).with_name("check_process.py")
START_SECONDS = 120.0
"""Time limit of the start of the process."""
MAX_GIB = 8.0
REMEDY = "raise the limit with robots.Model(..., limits=robots.LoadLimits({name}=...)) or {variable}"


@dataclass(frozen=True)
class LoadLimits:
    """What loading a model of others may take.

    Attributes:
        seconds: Wall time. By default the value of WORLDLOOM_MODEL_SECONDS, or 60.
        gib: Address space in GiB that MuJoCo may use. By default the value of WORLDLOOM_MODEL_GIB, or 8, or half of
            the machine's memory where that is less.
    """

    seconds: float | None = None
    gib: float | None = None

    def resolved(self) -> tuple[float, float]:
        """``seconds`` and ``gib`` with the defaults. Raises InputError for values that are no positive numbers."""
        values = []
        for name, given, default in (("seconds", self.seconds, 60.0), ("gib", self.gib, _default_gib())):
            variable = f"WORLDLOOM_MODEL_{name.upper()}"
            text = os.environ.get(variable, "")
            source, value = (f"{name} of LoadLimits", given) if given is not None else (variable, text or default)
            try:
                number = math.nan if isinstance(value, bool) else float(value)
            except (TypeError, ValueError):
                number = math.nan
            if not 0.0 < number < 1e6:
                raise InputError(f"{source} is a positive number, not {value!r}")
            values.append(number)
        return values[0], values[1]


def _default_gib() -> float:
    try:
        return min(MAX_GIB, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**31)
    except (AttributeError, ValueError, OSError):
        return MAX_GIB


class _IdleError(Exception):
    """The process exited as it was idle, just before the request."""


class Checker:
    """Loads models in a process, which is started for the first one and exits when it is idle."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._owner = 0

    def load(self, source: str, assets: Mapping[str, bytes], seconds: float, gib: float) -> tuple[bytes, list[str]]:
        """The compiled model of a file or of MJCF text as the bytes of a .mjb file, and MuJoCo's warnings.

        Args:
            source: The path, or the text.
            assets: Files that the text refers to, by name.
            seconds, gib: Limits of wall time and of address space.

        Raises:
            InputError: With the reason why MuJoCo cannot load it within the limits.
        """
        request = (source, dict(assets), os.getcwd(), seconds, int(gib * 2**30))
        with self._lock:
            try:
                try:
                    self._send(request)
                    return self._receive(seconds, gib)
                except _IdleError:
                    self._end()
                    self._send(request)
                    return self._receive(seconds, gib)
            except BaseException:  # a failure may have damaged the process; after Ctrl-C a reply may still come
                self._end()
                raise
            finally:
                if source.endswith(".mjb"):
                    self._end()

    def close(self) -> None:
        """End the process. The next model starts another."""
        with self._lock:
            self._end()

    def _send(self, request: Any) -> None:
        if self._owner != os.getpid():  # a fork: the process belongs to the parent
            self._process = self._connection = None
        if self._process is not None:
            with contextlib.suppress(OSError):
                if self._process.poll() is None and self._connection is not None and not self._connection.poll(0.0):
                    self._connection.send(request)
                    return
            self._end()
        self._start()
        assert self._connection is not None
        self._connection.send(request)

    def _start(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
        try:
            parent_end, child_end = socket.socketpair()
            self._connection, self._owner = Connection(parent_end.detach()), os.getpid()
            with child_end:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                    [sys.executable, str(PROGRAM), str(child_end.fileno())],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(child_end.fileno(),),
                    start_new_session=True,  # no Ctrl-C for the process
                )
        except OSError as error:
            raise InputError(
                f"the operating system refuses the process that loads models ({error.strerror}): "
                "raise the limit of open files (ulimit -n) or of processes (ulimit -u)"
            ) from None
        try:
            if not self._connection.poll(START_SECONDS):
                raise InputError(f"the process that loads models did not start within {START_SECONDS:.0f} s: try again")
            self._connection.recv()
        except (EOFError, OSError):
            raise InputError(
                f"the process that loads models cannot be started ({self._exit()}): check that "
                f"`{sys.executable} -c 'import mujoco'` works"
            ) from None

    def _receive(self, seconds: float, gib: float) -> tuple[bytes, list[str]]:
        connection = self._connection
        assert connection is not None
        try:
            if not connection.poll(seconds):
                remedy = REMEDY.format(name="seconds", variable="WORLDLOOM_MODEL_SECONDS")
                raise InputError(f"it takes longer than {seconds:g} s; if it is no error of the model, {remedy}")
            word, value = connection.recv()
            if word == "loaded":
                return connection.recv_bytes(), value
        except (EOFError, OSError):
            remedy, how = REMEDY.format(name="gib", variable="WORLDLOOM_MODEL_GIB"), self._exit()
            if how == "exit 0":
                raise _IdleError from None
            raise InputError(
                f"it crashes MuJoCo ({how}), as damaged models do, and models that need more than {gib:g} GiB "
                f"of memory: export it again, or {remedy}"
            ) from None
        if value == "memory":
            remedy = REMEDY.format(name="gib", variable="WORLDLOOM_MODEL_GIB")
            raise InputError(f"it needs more than {gib:g} GiB of memory; if it is no error of the model, {remedy}")
        raise InputError(value)

    def _exit(self) -> str:
        """How the process ended."""
        assert self._process is not None
        try:
            code = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            return "no answer"
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"

    def _end(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            self._process.wait()
        self._process = self._connection = None


CHECKER = Checker()
"""The checker of this process."""
atexit.register(CHECKER.close)
