"""Settings of DQN. A field's docstring is its help on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldloom.core.base.errors import InputError
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.q_head import QHead
from worldloom.learn.config.replay_config import ReplayConfig
from worldloom.learn.config.train_config import Schedule
from worldloom.learn.config.validation import require_not_negative


@dataclass(frozen=True)
class DQNConfig(ReplayConfig):
    """Settings of DQN."""

    num_envs: int = 64
    """Number of parallel worlds, over all processes; on the command line also auto, which measures the fastest."""
    total_steps: int = 150_000
    """Total environment steps, summed over all worlds."""
    learning_rate: float = 2e-3
    """Initial learning rate."""
    schedule: Schedule = "linear"
    """Learning rate schedule: constant, or linear decay to 0 over the training."""
    max_gradient_norm: float = 10.0
    """Maximum gradient norm; 0 for no clipping."""
    policy: PolicyConfig = field(default_factory=lambda: PolicyConfig(hidden=(128, 128)))
    """Settings of the network."""
    double: bool = True
    """Double DQN: the online network selects the next action, the target network evaluates it."""
    n_step: int = 3
    """Number of rewards n of an n-step TD target."""
    target_update: int = 1
    """Target network update interval, in updates."""
    tau: float = 0.05
    """Polyak coefficient of the target network update; 1 for a hard copy."""
    epsilon_start: float = 1.0
    """Initial epsilon of epsilon-greedy exploration; with points, epsilon follows them alone."""
    epsilon_end: float = 0.05
    """Final epsilon."""
    epsilon_fraction: float = 0.2
    """Fraction of the training over which epsilon decays linearly."""
    huber: float = 1.0
    """Threshold delta of the Huber loss; 0 for the squared error."""
    noisy: bool = False
    """Noisy output layers instead of epsilon-greedy exploration: weights have learned noise, and epsilon is 0."""

    fixed_numbers = (*ReplayConfig.fixed_numbers, "epsilon_end", "epsilon_fraction", "huber")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target_update < 1:
            raise InputError(f"target_update must be 1 or more, not {self.target_update}")
        for name in ("epsilon_start", "epsilon_end", "epsilon_fraction"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name} must lie between 0 and 1, not be {getattr(self, name)}")
        require_not_negative(self, "huber")
        if self.eval_stochastic:
            raise InputError("eval_stochastic does not apply to DQN, whose policy has no action probabilities: omit it")

    @property
    def head(self) -> QHead:
        """The output layers of the network."""
        return QHead(self.atoms, self.v_min, self.v_max, self.noisy)

    def epsilon(self, fraction: float) -> float:
        """Epsilon after ``fraction`` of the training, where ``epsilon_start`` is one number."""
        done = min(1.0, fraction / self.epsilon_fraction) if self.epsilon_fraction > 0.0 else 1.0
        return self.epsilon_start + (self.epsilon_end - self.epsilon_start) * done
