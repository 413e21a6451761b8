"""Ctrl-C and SIGTERM during training: the first signal stops it after the iteration, the second exits at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any

from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.trainer import Trainer

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SHOW_CURSOR = b"\x1b[?25h"


class StopOnSignal(Callback):
    """Stops the training after its iteration when a signal arrives. A second signal exits at once.

    Signals reach only the main thread; in another thread this does nothing.

    Attributes:
        received: The signal that arrived, or None.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._trainer: Trainer | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopOnSignal:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def code(self) -> int:
        """The exit code of the process: 0, or 128 plus the signal's number, as in a shell."""
        return 0 if self.received is None else 128 + self.received

    def on_start(self, trainer: Trainer) -> None:
        self._trainer = trainer
        if self.received is not None:
            trainer.stop()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            if sys.stderr.isatty():
                os.write(2, SHOW_CURSOR)  # the live panel hides it, and cannot restore it now
            os._exit(128 + number)
        self.received = signal.Signals(number)
        if self._trainer is not None:
            self._trainer.stop()
        # A signal handler must not print: it may interrupt another print.
        os.write(2, b"worldloom: stopping after this iteration; repeat to exit at once\n")
