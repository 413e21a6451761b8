"""How a training run stands: what is measured in every iteration, under which names, and one plain line about it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

METRICS: dict[str, str] = {
    "episode/return": "mean undiscounted return of the episodes that ended lately",
    "episode/length": "their mean length, in steps",
    "episode/count": "episodes that ended since the run began",
    "episode/faults": "faults of single worlds since the run began; they cut episodes short",
    "loss/policy": "the policy's loss",
    "loss/value": "the value function's loss; with DQN the loss of the action values",
    "loss/entropy": "mean entropy of the policy, in nats",
    "update/kl": "approximate KL divergence from the policy that acted, in nats, in the mean over the steps of the update",
    "update/clip_fraction": "share of the samples whose ratio was clipped, 0 to 1",
    "update/learning_rate": "step size of the optimiser",
    "update/explained_variance": "share of the returns' variance that the values explain, at most 1",
    "update/gradient_norm": "norm of the gradient before it was clipped",
    "update/epsilon": "how often DQN acts at random, 0 to 1",
    "value/mean": "mean value of the actions that were learned from",
}
"""Every metric's name and meaning. With several policies ``/<policy>`` is appended to the name."""


@dataclass(frozen=True)
class Progress:
    """A run after one iteration.

    Attributes:
        iteration: Iterations done, counted over all resumed parts.
        steps: World steps taken, counted likewise.
        total_steps: Steps after which the run is over.
        seconds: Time spent training, over all resumed parts.
        steps_per_second: The recent rate.
        metrics: Numbers by the names of ``METRICS``; NaN where there is none yet.
        shares: Share of the time, 0 to 1, by phase, such as roll-out, update, other.
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
        """How much of the run is done, 0 to 1."""
        return min(1.0, self.steps / self.total_steps) if self.total_steps > 0 else 1.0

    @property
    def seconds_left(self) -> float:
        """How long the rest takes at the recent rate; NaN where there is no rate yet."""
        left = max(0, self.total_steps - self.steps)
        return left / self.steps_per_second if self.steps_per_second > 0 else math.nan


def by_policy(metrics: dict[str, float]) -> dict[str, dict[str, float]]:
    """The metrics of each policy under their plain names; those of an only policy stand under ``""``."""
    found: dict[str, dict[str, float]] = {}
    for name, value in metrics.items():
        group, _, rest = name.partition("/")
        measure, _, policy = rest.partition("/")
        found.setdefault(policy, {})[f"{group}/{measure}" if rest else name] = value
    return found


def format_duration(seconds: float) -> str:
    """``1:02:03`` or ``2:03``; ``-:--`` where it is not known."""
    if not math.isfinite(seconds):
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def format_progress(progress: Progress) -> str:
    """One line of plain ASCII, for logs and for terminals that show no more."""
    parts = [
        f"iteration {progress.iteration}",
        f"{progress.steps:,} of {progress.total_steps:,} steps ({progress.fraction:.0%})",
        f"{progress.steps_per_second:,.0f} steps/s",
    ]
    policies = by_policy(progress.metrics)
    for name, label in (("episode/return", "return"), ("episode/length", "length"), ("update/kl", "KL")):
        values = {
            policy: numbers[name] for policy, numbers in policies.items() if math.isfinite(numbers.get(name, math.nan))
        }
        if values:
            parts.append(
                f"{label} "
                + " ".join(f"{value:.4g}" + (f" ({policy})" if policy else "") for policy, value in values.items())
            )
    return ", ".join([*parts, f"{format_duration(progress.seconds_left)} left"])
