"""Ctrl-C, SIGTERM and SIGHUP during training: a stop after the iteration; after the last two within five seconds.

SIGHUP comes when a terminal or a connection is closed. Where it is ignored, as under nohup, it stays ignored.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.trainer import Trainer

URGENT = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that leave no time for more than a checkpoint."""
KEPT_IGNORED = URGENT[1:]
SIGNALS = (signal.SIGINT, *URGENT)
SHOW_CURSOR = b"\x1b[?25h"
ABORT_AFTER_S = 2.5
"""Seconds after SIGTERM when an iteration that has not ended is aborted."""
ABORT_RAY_AFTER_S = 3.5
"""The same for workers of a Ray cluster, which poll for the stop and are not waited for once they are aborted."""
EXIT_AFTER_S = 4.0
"""Seconds after SIGTERM when the process exits, whatever it does. Schedulers send SIGKILL after 5 s or more."""


class TrainingAborted(BaseException):
    """An iteration was aborted after SIGTERM or SIGHUP. Its results are lost; the last checkpoint is kept."""


class StopOnSignal(Callback):
    """Stops the training after its iteration when a signal arrives. A second signal exits at once.

    After SIGTERM or SIGHUP the iteration may take ``abort_after_s`` more; then it is aborted by
    :class:`TrainingAborted`. After :data:`EXIT_AFTER_S` the process exits, also where the main thread is in a long call
    of a library. Signals reach only the main thread; in another thread this does nothing.

    Args:
        abort_after_s: Seconds after the signal; None for :data:`ABORT_AFTER_S`.

    Attributes:
        received: The signal that arrived, or None.
    """

    def __init__(self, abort_after_s: float | None = None) -> None:
        self.received: signal.Signals | None = None
        self._trainer: Trainer | None = None
        self._before: dict[int, Any] = {}
        self._abort_after_s, self._aborting = ABORT_AFTER_S if abort_after_s is None else abort_after_s, False
        self._ended = threading.Event()
        self._pipe: tuple[int, int] | None = None
        self._previous_fd = -1

    def __enter__(self) -> StopOnSignal:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if number not in KEPT_IGNORED or signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._handle)
            self._watch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._pipe is not None:
            signal.set_wakeup_fd(self._previous_fd)
            os.close(self._pipe[1])  # ends the thread
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def code(self) -> int:
        """The exit code of the process: 0, or 128 plus the signal's number, as in a shell."""
        return 0 if self.received is None else 128 + self.received

    @property
    def is_urgent(self) -> bool:
        """Whether a signal arrived that leaves no time for more than a checkpoint."""
        return self.received in URGENT

    def on_start(self, trainer: Trainer) -> None:
        self._trainer = trainer
        if self.received is not None:
            trainer.stop()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._aborting and number == signal.SIGTERM:
            if self._trainer is None or self._trainer.in_iteration:
                _write_error(b"worldloom: the iteration was aborted; the last checkpoint is kept\n")
                raise TrainingAborted
            return  # a checkpoint is being saved
        if self.received is not None:
            # A closed terminal sends SIGHUP several times, and a service manager after SIGTERM: no wish to lose more.
            if number not in KEPT_IGNORED and self.received not in KEPT_IGNORED:
                exit_at_once(128 + number)
            return
        self.received = signal.Signals(number)
        if self._trainer is not None:
            self._trainer.stop()
        again = b"" if number in KEPT_IGNORED else b"; repeat to exit at once"
        _write_error(b"worldloom: stopping after this iteration" + again + b"\n")

    # -- deadlines ---------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Let a thread wait for an urgent signal: its handler runs only once the main thread is back in Python code."""
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[1], False)
        self._previous_fd = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        threading.Thread(target=self._keep_deadlines, name="worldloom-sigterm", daemon=True).start()

    def _keep_deadlines(self) -> None:
        assert self._pipe is not None
        with open(self._pipe[0], "rb", buffering=0) as reader:
            numbers = b""
            while not (urgent := [number for number in numbers if number in URGENT]):
                numbers = reader.read(64)
                if not numbers:  # the end of the training
                    return
            if self._ended.wait(self._abort_after_s):
                return
            self._aborting = True
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
            if not self._ended.wait(EXIT_AFTER_S - self._abort_after_s):
                exit_at_once(128 + urgent[0])


def _write_error(message: bytes) -> None:
    """Write to standard error, which may be a closed terminal. A signal handler must not interrupt another print."""
    with suppress(OSError):
        os.write(2, message)


def exit_at_once(code: int) -> None:
    """End this process and its children at once."""
    for child in multiprocessing.active_children():
        child.kill()
    if sys.stderr is not None and sys.stderr.isatty():
        _write_error(SHOW_CURSOR)  # the live panel hides it, and cannot restore it now
    os._exit(code)
