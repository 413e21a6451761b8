"""Callbacks, called on the host between the iterations of a trainer."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from worldloom.core.base.errors import InputError
from worldloom.learn.training.progress import Progress

if TYPE_CHECKING:
    from worldloom.learn.training.trainer import Trainer


class Callback:
    """Base class of callbacks: override what you need. ``trainer.stop()`` ends the training after the iteration."""

    def on_start(self, trainer: Trainer) -> None:
        """Called before the first iteration."""

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        """Called with the metrics of an iteration; on a GPU they may be one or two iterations late."""

    def on_end(self, trainer: Trainer) -> None:
        """Called after the last iteration, unless an error was raised."""


class StopAt(Callback):
    """Stops once the mean return of recent episodes, over all trained policies, reaches ``score``."""

    def __init__(self, score: float) -> None:
        self.score = score

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        if trainer.score >= self.score:
            trainer.stop()


class StopAfter(Callback):
    """Stops ``seconds`` after the start."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._over = math.inf

    def on_start(self, trainer: Trainer) -> None:
        self._over = time.perf_counter() + self.seconds

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        if time.perf_counter() >= self._over:
            trainer.stop()


def as_callbacks(callbacks: Iterable[Callback] | Callback) -> list[Callback]:
    """One callback or several, as a list."""
    several = isinstance(callbacks, Iterable) and not isinstance(callbacks, Callback)
    callback_list: list[Any] = [*callbacks] if several else [callbacks]  # type: ignore[misc]
    for callback in callback_list:
        if not isinstance(callback, Callback):
            raise InputError(
                f"a callback is an object of a class derived from worldloom.learn.Callback, not {callback!r}"
            )
    return callback_list
