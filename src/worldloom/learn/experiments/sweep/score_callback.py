"""The callback that follows a run of a trial, and ends it where it is pruned or has reached its target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from worldloom.learn.experiments.sweep.objective import Score
from worldloom.learn.runs.metrics_file import METRICS
from worldloom.learn.runs.run_folder import read_metrics
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer


class ScoreCallback(Callback):
    """Adds every iteration to ``score``. Of a resumed run it first adds the iterations of ``folder``.

    Args:
        score: What follows the run.
        folder: The run's folder.
    """

    def __init__(self, score: Score, folder: Path) -> None:
        self.score, self.folder = score, folder
        self._names: list[str] = []

    def on_start(self, trainer: Trainer) -> None:
        policies = list(trainer.summaries())
        trained = [policy for policy in policies if trainer.is_trained(policy)]
        self._names = [f"/{policy}" for policy in trained] if len(policies) > 1 else [""]
        if trainer.iteration and (self.folder / METRICS).is_file():
            for row in read_metrics(self.folder):
                self._add(int(row["steps"]), row["seconds"], row)
        if self.score.over:
            trainer.stop()

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self._add(progress.steps, progress.seconds, progress.metrics)
        if self.score.over:
            trainer.stop()

    def _add(self, steps: int, seconds: float, metrics: Mapping[str, float]) -> None:
        self.score.add(
            steps, seconds, _mean(metrics, "episode/return", self._names), _mean(metrics, "eval/return", self._names)
        )


def _mean(metrics: Mapping[str, float], name: str, policies: Sequence[str]) -> float:
    """The mean of a metric over the trained policies; NaN where one has none."""
    values = [metrics.get(f"{name}{policy}", math.nan) for policy in policies]
    return sum(values) / len(values) if values else math.nan
