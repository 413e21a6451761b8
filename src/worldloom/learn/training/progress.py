"""Progress of a training: the metrics of every iteration, their names, and a one-line summary."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

METRICS: dict[str, str] = {
    "episode/return": "mean undiscounted return of recent episodes",
    "episode/length": "mean length of recent episodes, in steps",
    "episode/count": "finished episodes since the start of the run",
    "episode/faults": "faults of single worlds since the start of the run; they end episodes early",
    "eval/return": "mean undiscounted return of an evaluation on separate worlds; only in evaluated iterations",
    "eval/length": "mean length of the episodes of an evaluation, in steps",
    "loss/policy": "policy loss",
    "loss/value": "value loss; with DQN, SAC and TD3 the loss of the action values",
    "loss/entropy": "mean entropy of the policy, in nats",
    "update/kl": "approximate KL divergence from the behavior policy, in nats, mean over the optimizer steps",
    "update/clip_fraction": "fraction of the samples whose probability ratio was clipped, 0 to 1",
    "update/learning_rate": "learning rate",
    "update/explained_variance": "fraction of the variance of the returns that the values explain, at most 1",
    "update/gradient_norm": "gradient norm before clipping",
    "update/temperature": "entropy temperature alpha of SAC",
    "update/epsilon": "epsilon of epsilon-greedy exploration, 0 to 1",
    "value/mean": "mean Q value of the sampled actions",
    "elo/rating": "Elo rating of the policy, with pools of past selves; 1000 at the start",
    "elo/pool": "mean Elo rating of the policy's past selves",
    "elo/score": "mean score of the others against the policy's past selves: 1 win, 0.5 draw, 0 loss; recent iteration",
}
"""Every metric's name and meaning. With several policies ``/<policy>`` is appended to the name. For every info
that the world declares with ``metric=True`` there is ``episode/<name>``, the mean of its value at the end of the last
episode of each world, and in evaluations ``eval/<name>``."""

TIME_METRICS: dict[str, str] = {
    "time/steps_per_second": "recent environment steps per second",
    "time/share_roll-out": "fraction of the time that the rollout takes, 0 to 1",
    "time/share_update": "fraction of the time that the update takes, 0 to 1",
}
"""What TensorBoard and experiment trackers get beside the metrics."""


LINE_METRICS = {
    "episode/return": "return",
    "episode/length": "length",
    "eval/return": "evaluated return",
    "update/kl": "KL",
}
"""The metrics of a one-line summary, with their labels."""


@dataclass(frozen=True)
class Progress:
    """The progress of a run after one iteration.

    Attributes:
        iteration: Iterations done, over all resumed parts.
        steps: Environment steps done, over all resumed parts.
        total_steps: Steps at which the run is complete.
        seconds: Training time, over all resumed parts.
        steps_per_second: The recent rate.
        metrics: Metrics by the names of ``METRICS``; NaN where there is no value yet.
        shares: Fraction of the time by phase, 0 to 1.
    """

    iteration: int
    steps: int
    total_steps: int
    seconds: float
    steps_per_second: float
    metrics: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)

    @property
    def fraction(self) -> float:
        """Fraction of the run that is done, 0 to 1."""
        return min(1.0, self.steps / self.total_steps) if self.total_steps > 0 else 1.0

    @property
    def seconds_left(self) -> float:
        """Remaining time at the recent rate; NaN where there is no rate yet."""
        left = max(0, self.total_steps - self.steps)
        return left / self.steps_per_second if self.steps_per_second > 0 else math.nan


def tracked_scalars(progress: Progress) -> dict[str, float]:
    """What TensorBoard and experiment trackers record of an iteration: its finite metrics and ``TIME_METRICS``."""
    scalars = {
        **progress.metrics,
        "time/steps_per_second": progress.steps_per_second,
        **{f"time/share_{phase}": share for phase, share in progress.shares.items()},
    }
    return {name: float(value) for name, value in scalars.items() if math.isfinite(value)}


def by_policy(metrics: dict[str, float]) -> dict[str, dict[str, float]]:
    """The metrics of each policy by their plain names; those of a single policy are under ``""``."""
    policies: dict[str, dict[str, float]] = {}
    for name, value in metrics.items():
        group, _, rest = name.partition("/")
        measure, _, policy = rest.partition("/")
        policies.setdefault(policy, {})[f"{group}/{measure}" if rest else name] = value
    return policies


def format_duration(seconds: float) -> str:
    """``1:02:03`` or ``2:03``; ``-:--`` where it is unknown."""
    if not math.isfinite(seconds):
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def format_progress(progress: Progress) -> str:
    """One line of plain ASCII, for logs and simple terminals."""
    parts = [
        f"iteration {progress.iteration}",
        f"{progress.steps:,} of {progress.total_steps:,} steps ({progress.fraction:.0%})",
        f"{progress.steps_per_second:,.0f} steps/s",
    ]
    policies = by_policy(progress.metrics)
    for name, label in LINE_METRICS.items():
        values = {
            policy: numbers[name] for policy, numbers in policies.items() if math.isfinite(numbers.get(name, math.nan))
        }
        if values:
            parts.append(
                f"{label} "
                + " ".join(f"{value:.4g}" + (f" ({policy})" if policy else "") for policy, value in values.items())
            )
    return ", ".join([*parts, f"{format_duration(progress.seconds_left)} left"])
