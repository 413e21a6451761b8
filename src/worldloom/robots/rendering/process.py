"""The parent of the process that draws robots: its start, with one OpenGL back end after another, and requests."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

import numpy as np

from worldloom.core.base.errors import InputError

State = Mapping[str, np.ndarray[Any, Any]]
"""Arrays of ``mjData`` and ``mjModel`` by name."""
Images = np.ndarray[Any, np.dtype[np.uint8]]
PROGRAM = Path(__file__).with_name("draw_process.py")
BACKENDS = ("egl", "osmesa", "glfw")
"""Values of MUJOCO_GL on Linux, in the order in which they are tried."""
START_TIMEOUT_S = 60.0
"""Time limit of the start of the process, and of loading a model."""
DRAW_TIMEOUT_S = 60.0
"""Time limit of one image."""
EXIT_TIMEOUT_S = 1.0
MAX_MODELS = 4
"""Models that the process holds; the least recently drawn one makes room for another."""


class _LostError(Exception):
    """The process has exited, or does not reply."""


class DrawProcess:
    """A process that draws, started at the first image. It is restarted with the next back end where it crashes.

    Args:
        command: The program and its arguments; the number of a file descriptor follows.
    """

    def __init__(self, command: Sequence[str] = (sys.executable, str(PROGRAM))) -> None:
        self.command = list(command)
        self.failures: list[str] = []
        """Why back ends that were tried cannot be used."""
        self._backends: list[str] | None = None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._log: IO[bytes] = io.BytesIO()
        self._loaded: OrderedDict[int, None] = OrderedDict()

    def draw(self, key: int, model: tuple[Any, ...], states: Sequence[State]) -> Images:
        """Images of states of one model, uint8 (images, height, width, 3).

        Args:
            key: Identifies the model.
            model: The compiled model, width, height and camera, see ``draw_process.Scene``.
            states: The state of each image.

        Raises:
            InputError: Where no back end of OpenGL draws it, or MuJoCo cannot.
        """
        with self._lock:
            if self._backends is None:
                self._backends = _backends()
            while self._backends:
                try:
                    self._start(self._backends[0])
                    return self._draw(key, model, states)
                except _LostError as reason:
                    self.failures.append(f"{self._backends.pop(0) or 'the default'}: {reason}")
                    self._end()
                except InputError:
                    raise
                except BaseException:  # such as Ctrl-C: a reply may still come
                    self._end()
                    raise
        raise InputError(
            f"robots cannot be drawn here, as OpenGL is missing ({'; '.join(self.failures)}): for robots.Renderer "
            "install libegl1, or libosmesa6 to draw on the CPU; MUJOCO_GL=egl, osmesa or glfw chooses one"
        )

    def close(self) -> None:
        """End the process. The next image starts another."""
        with self._lock:
            self._end()

    def _start(self, backend: str) -> None:
        if self._process is not None:
            return
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        if backend:
            environment["MUJOCO_GL"] = backend
        parent_end, child_end = socket.socketpair()
        self._connection = Connection(parent_end.detach())
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        with child_end:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [*self.command, str(child_end.fileno())],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(child_end.fileno(),),
                start_new_session=True,  # no Ctrl-C for the process
            )
        self._receive(START_TIMEOUT_S)

    def _draw(self, key: int, model: tuple[Any, ...], states: Sequence[State]) -> Images:
        if key not in self._loaded:
            if len(self._loaded) == MAX_MODELS:
                self._send("free", self._loaded.popitem(last=False)[0])
            self._send("load", key, *model)
            self._reply(START_TIMEOUT_S)
        self._loaded[key] = None
        self._loaded.move_to_end(key)
        self._send("draw", key, list(states))
        images: Images = self._reply(DRAW_TIMEOUT_S * max(1, len(states)))[1]
        return images

    def _send(self, *message: Any) -> None:
        assert self._connection is not None
        try:
            self._connection.send(message)
        except OSError:
            raise _LostError(self._describe_exit()) from None

    def _reply(self, timeout: float) -> tuple[Any, ...]:
        """The reply to a request. InputError where it failed; the process goes on."""
        reply = self._receive(timeout, fatal=False)
        if reply[0] == "failed":
            raise InputError(f"MuJoCo cannot draw the robot: {reply[1]}")
        return reply

    def _receive(self, timeout: float, fatal: bool = True) -> tuple[Any, ...]:
        """The next message; ``_LostError`` where none comes, or it is a failure and ``fatal``."""
        assert self._connection is not None
        try:
            if not self._connection.poll(timeout):
                raise _LostError(f"no reply within {timeout:.0f} s")
            message: tuple[Any, ...] = self._connection.recv()
        except (EOFError, OSError):
            raise _LostError(self._describe_exit()) from None
        if fatal and message[0] == "failed":
            raise _LostError(message[1])
        return message

    def _describe_exit(self) -> str:
        """How the process exited, with the last line that it printed."""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_TIMEOUT_S)
        code = self._process.returncode
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        how = "no answer" if code is None else f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
        return f"{how}, {lines[-1].strip()}" if lines else how

    def _end(self) -> None:
        if self._process is None or self._connection is None:
            return
        self._connection.close()  # the process then exits
        try:
            self._process.wait(EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        self._process = self._connection = None
        self._loaded.clear()


def _backends() -> list[str]:
    """The back ends to try: that of MUJOCO_GL, or all; elsewhere than on Linux MuJoCo's default, the empty text."""
    chosen = os.environ.get("MUJOCO_GL", "")
    if chosen or not sys.platform.startswith("linux"):
        return [chosen]
    return list(BACKENDS)


DRAW_PROCESS = DrawProcess()
"""The process that all renderers share."""
atexit.register(DRAW_PROCESS.close)
