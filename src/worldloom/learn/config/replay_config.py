"""Settings common to the algorithms with a replay buffer. A field's docstring is its help on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from worldloom.core.base.errors import InputError
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.config.validation import require_not_negative


@dataclass(frozen=True)
class ReplayConfig(TrainConfig):
    """Settings common to the algorithms with a replay buffer."""

    n_step: int = 1
    """Number of rewards n of an n-step TD target."""
    replay_capacity: int = 200_000
    """Replay buffer size in transitions, over all agents and processes."""
    save_replay: bool = True
    """Save the replay buffer with every checkpoint. Without it a resumed training first fills a new one."""
    batch_size: int = 256
    """Minibatch size in transitions, over all processes."""
    learning_starts: int = 5_000
    """Environment steps, over all worlds, before the first update."""
    steps_per_update: int = 1
    """Steps of every world between two updates."""
    updates: int = 4
    """Optimizer steps per update."""
    tau: float = 0.005
    """Polyak coefficient of the target network update; 1 for a hard copy."""
    atoms: int = 0
    """Distributional critic (C51): atoms of the distribution of returns between v_min and v_max; 0 for expected values
    only."""
    v_min: float = -10.0
    """Least return of the distribution, with atoms."""
    v_max: float = 10.0
    """Greatest return of the distribution, with atoms."""
    prioritized: bool = False
    """Prioritized replay by TD error, with importance-sampling weights."""
    priority_alpha: float = 0.6
    """Priority exponent alpha: 0 for uniform sampling, 1 for sampling proportional to the TD error."""
    priority_beta: float = 0.4
    """Initial importance-sampling exponent beta; it anneals linearly to 1."""
    stack: int = 1
    """Frames stacked along the first axis of an image observation; only the newest is stored."""

    fixed_numbers: ClassVar[tuple[str, ...]] = ("priority_beta", "v_min", "v_max")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_step", "replay_capacity", "batch_size", "steps_per_update", "updates", "stack"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more, not {getattr(self, name)}")
        if not 0.0 <= self.priority_beta <= 1.0:
            raise InputError(f"priority_beta must lie between 0 and 1, not be {self.priority_beta}")
        require_not_negative(self, "learning_starts", "priority_alpha")
        if not 0.0 < self.tau <= 1.0:
            raise InputError(f"tau must be greater than 0 and at most 1, not {self.tau}")
        if self.atoms < 0 or self.atoms == 1:
            raise InputError(f"atoms must be 0, or 2 or more, not {self.atoms}")
        if self.atoms and not self.v_min < self.v_max:
            raise InputError(f"v_min must be less than v_max, not {self.v_min} and {self.v_max}")
        if self.schedule == "kl":
            name = type(self).__name__.removesuffix("Config")
            raise InputError(f"schedule kl does not apply to {name}: use schedule constant or linear")
