"""The callback that records a training in its folder: progress of every iteration, and checkpoints."""

from __future__ import annotations

import math
import time

from worldloom.learn.runs.run_folder import RunFolder
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.divergence_check import check_parameters
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer


class RunRecorder(Callback):
    """Writes progress and checkpoints into a run's folder.

    Args:
        folder: The folder.
        every_s: Seconds between two checkpoints; 0 for only the last.
        every_iterations: Iterations between two checkpoints; 0 to use only ``every_s``.
    """

    def __init__(self, folder: RunFolder, every_s: float = 30.0, every_iterations: int = 0) -> None:
        self.folder, self.every_s, self.every_iterations = folder, every_s, every_iterations
        self._saved_at = time.perf_counter()
        self._saved_iteration = -1

    def on_start(self, trainer: Trainer) -> None:
        self._saved_at = time.perf_counter()
        self._saved_iteration = trainer.iteration

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.folder.write(progress)
        due = self.every_s > 0.0 and time.perf_counter() - self._saved_at >= self.every_s
        if due or (
            self.every_iterations
            and trainer.iteration % self.every_iterations == 0
            and trainer.iteration != self._saved_iteration
        ):
            self.save(trainer)

    def on_end(self, trainer: Trainer) -> None:
        if trainer.iteration != self._saved_iteration or trainer.iteration == 0:
            self.save(trainer)

    def save(self, trainer: Trainer) -> None:
        """Write a checkpoint; DivergedError where a policy's parameters are not finite."""
        tensors, plain = trainer.state()
        check_parameters(tensors, trainer.iteration)
        score = trainer.score if math.isfinite(trainer.score) else None
        self.folder.checkpoints.save(tensors, plain, iteration=trainer.iteration, steps=trainer.steps, score=score)
        self._saved_at, self._saved_iteration = time.perf_counter(), trainer.iteration
