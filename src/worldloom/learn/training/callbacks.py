"""What others do while a trainer trains: callbacks, called on the host between iterations."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from worldloom.learn.training.progress import Progress

if TYPE_CHECKING:
    from worldloom.learn.training.trainer import Trainer


class Callback:
    """Does nothing; derive from it and write the methods that are needed. ``trainer.stop()`` ends the training after the iteration."""

    def on_start(self, trainer: Trainer) -> None:
        """Before the first iteration."""

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        """When the numbers of an iteration are known; on a GPU that may be an iteration or two later."""

    def on_end(self, trainer: Trainer) -> None:
        """After the last iteration, however it came about, except by an error."""


class StopAt(Callback):
    """Ends the training once the mean return of recent episodes, over all policies that are trained, has reached ``score``."""

    def __init__(self, score: float) -> None:
        self.score = score

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        if trainer.score >= self.score:
            trainer.stop()


class StopAfter(Callback):
    """Ends the training ``seconds`` after it began."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._over = math.inf

    def on_start(self, trainer: Trainer) -> None:
        self._over = time.perf_counter() + self.seconds

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        if time.perf_counter() >= self._over:
            trainer.stop()
