"""The callback that records a training in its folder: progress of every iteration, and checkpoints."""

from __future__ import annotations

import math
import time

from worldloom.learn.runs.run_folder import RunFolder
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.divergence_check import check_parameters
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

SLOW_ITERATION_S = 2.0
"""Seconds of an iteration from which a checkpoint follows each one."""


class RunRecorder(Callback):
    """Writes progress and checkpoints into a run's folder.

    Args:
        folder: The folder.
        every_s: Seconds between two checkpoints; 0 for only the last.
        every_iterations: Iterations between two checkpoints; 0 to use only ``every_s``.
        slim: Whether checkpoints leave out the worlds and what was seen in them.
    """

    def __init__(self, folder: RunFolder, every_s: float = 30.0, every_iterations: int = 0, slim: bool = False) -> None:
        self.folder, self.every_s, self.every_iterations, self.slim = folder, every_s, every_iterations, slim
        self._saved_at = time.perf_counter()
        self._saved_iteration = -1
        self._iteration_ended_at, self._save_s = self._saved_at, 0.0

    def on_start(self, trainer: Trainer) -> None:
        self._saved_at = self._iteration_ended_at = time.perf_counter()
        self._saved_iteration = trainer.iteration
        self.folder.write_world(trainer.world_history.as_dict())

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.folder.write(progress)
        now = time.perf_counter()
        iteration_s, self._iteration_ended_at = now - self._iteration_ended_at, now
        due = self.every_s > 0.0 and time.perf_counter() - self._saved_at >= self.every_s
        # A signal aborts a slow iteration: save after each, where that takes less than a tenth of the time.
        due |= self.every_s > 0.0 and iteration_s >= max(SLOW_ITERATION_S, 10.0 * self._save_s)
        due |= progress.iteration == trainer.iteration and self._is_best_evaluation(trainer)
        if due or (
            self.every_iterations
            and trainer.iteration % self.every_iterations == 0
            and trainer.iteration != self._saved_iteration
        ):
            self.save(trainer)

    def _is_best_evaluation(self, trainer: Trainer) -> bool:
        """Whether the current parameters were evaluated, and better than those of all evaluated checkpoints."""
        if trainer.config.eval_every == 0 or not math.isfinite(trainer.checkpoint_score):
            return False
        best = self.folder.checkpoints.best_score(evaluated=True)
        return best is None or trainer.checkpoint_score > best

    def on_end(self, trainer: Trainer) -> None:
        if trainer.iteration != self._saved_iteration or trainer.iteration == 0:
            self.save(trainer)

    def save(self, trainer: Trainer) -> None:
        """Write a checkpoint; DivergedError where a policy's parameters are not finite."""
        started = time.perf_counter()
        tensors, plain = trainer.state(experience=not self.slim)
        check_parameters(tensors, trainer.iteration, trainer)
        score = trainer.checkpoint_score if math.isfinite(trainer.checkpoint_score) else None
        self.folder.checkpoints.save(
            tensors,
            plain,
            iteration=trainer.iteration,
            steps=trainer.steps,
            score=score,
            evaluated=trainer.config.eval_every > 0,
        )
        self._saved_at, self._saved_iteration = time.perf_counter(), trainer.iteration
        self._save_s, self._iteration_ended_at = self._saved_at - started, self._saved_at
