"""What a sweep optimizes, computed from the metrics of a run row by row, so that a resumed run gives the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from worldloom.core.base.errors import InputError

ObjectiveName = Literal["final", "best", "steps", "seconds"]
REPORTS = 20
"""How often a training without evaluations reports its return to the pruner."""


@dataclass(frozen=True)
class Objective:
    """The number by which trials are compared.

    Attributes:
        name: ``final``, the last return; ``best``, the highest; ``steps`` or ``seconds`` until the return ``target``.
            Returns are those of evaluations where there are any, else the mean of recent training episodes.
        target: The return to reach, for ``steps`` and ``seconds``.
    """

    name: ObjectiveName = "final"
    target: float | None = None

    def __post_init__(self) -> None:
        if self.until_target and self.target is None:
            raise InputError(f"--objective {self.name} needs the return to reach: give --target")
        if not self.until_target and self.target is not None:
            raise InputError(f"--objective {self.name} has no return to reach: omit --target, or use steps or seconds")
        if self.target is not None and not math.isfinite(self.target):
            raise InputError(f"--target must be a finite return, not {self.target}")

    @property
    def until_target(self) -> bool:
        """Whether it counts until a return is reached; it is then minimized."""
        return self.name in ("steps", "seconds")

    def label(self) -> str:
        """The name of the number for people."""
        if self.target is not None:
            return f"{self.name} to {self.target:g}"
        return {"final": "final return", "best": "best return"}[self.name]


@dataclass(frozen=True)
class ReportTimes:
    """When a training reports its return: at equal fractions of its steps, or at every evaluation.

    Attributes:
        total_steps: Environment steps of the training.
        eval_every: Steps between two evaluations; 0 for none.
    """

    total_steps: int
    eval_every: int = 0

    @property
    def count(self) -> int:
        """The number of reports."""
        return max(1, -(-self.total_steps // self.eval_every)) if self.eval_every else REPORTS

    def index(self, steps: int) -> int:
        """The number of reports that are due after ``steps`` steps, 0 to ``count``."""
        if steps >= self.total_steps:
            return self.count
        return steps // self.eval_every if self.eval_every else steps * REPORTS // self.total_steps


class Score:
    """Follows one run of a trial.

    Args:
        objective: What is optimized.
        times: When the return is reported.
        is_behind: Whether the trial is to be pruned, from the number of a report and its return.
        stop_at: The mean return of recent episodes that ends the training; None for none.

    Attributes:
        reports: The return at each report, by its number.
        last, best: The last and the highest return; NaN before the first.
        reached: Steps and seconds when ``objective.target`` was reached; None where it was not.
        steps: Steps at the last row.
        pruned: Whether the run fell behind.
        over: Whether nothing further is to be trained.
    """

    def __init__(
        self,
        objective: Objective,
        times: ReportTimes,
        is_behind: Callable[[int, float], bool] | None = None,
        stop_at: float | None = None,
    ) -> None:
        self.objective, self.times, self.is_behind, self.stop_at = objective, times, is_behind, stop_at
        self.reports: dict[int, float] = {}
        self.last = self.best = math.nan
        self.reached: tuple[int, float] | None = None
        self.steps = 0
        self.pruned = self.over = False

    def add(self, steps: int, seconds: float, episode_return: float, eval_return: float) -> None:
        """Add one row of metrics; NaN where it has no return. Rows after the end do not count."""
        if self.over:
            return
        self.steps = steps
        current = eval_return if self.times.eval_every else episode_return
        if math.isfinite(current):
            self.last = current
            self.best = current if math.isnan(self.best) else max(self.best, current)
            target = self.objective.target
            if target is not None and current >= target:
                self.reached, self.over = (steps, seconds), True
            self._report(current)
        if self.stop_at is not None and episode_return >= self.stop_at:
            self.over = True

    def _report(self, current: float) -> None:
        index = self.times.index(steps=self.steps)
        if index == 0 or index in self.reports or self.over:
            return
        self.reports[index] = current
        if self.is_behind is not None and index < self.times.count and self.is_behind(index, current):
            self.pruned = self.over = True

    @property
    def value(self) -> float | None:
        """The objective; None where the run has no return, or did not reach the target."""
        if self.objective.until_target:
            if self.reached is None:
                return None
            return float(self.reached[0]) if self.objective.name == "steps" else self.reached[1]
        number = self.last if self.objective.name == "final" else self.best
        return number if math.isfinite(number) else None
