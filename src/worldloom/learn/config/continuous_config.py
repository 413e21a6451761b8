"""Settings of SAC and TD3. A field's docstring is its help on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from worldloom.core.base.errors import InputError
from worldloom.learn.config.policy_config import ActionStd, PolicyConfig
from worldloom.learn.config.replay_config import ReplayConfig
from worldloom.learn.config.validation import require_not_negative


@dataclass(frozen=True)
class ContinuousConfig(ReplayConfig):
    """Settings common to SAC and TD3."""

    num_envs: int = 64
    """Number of parallel worlds, over all processes; on the command line also auto, which measures the fastest."""
    learning_rate: float = 3e-4
    """Learning rate of actor and critics; the initial one with schedule linear."""
    max_gradient_norm: float = 0.0
    """Maximum gradient norm; 0 for no clipping."""
    policy: PolicyConfig = field(default_factory=lambda: PolicyConfig(hidden=(256, 256), activation="relu"))
    """Settings of the networks. The actor's output layer is tanh, scaled to the bounds of the action."""
    replay_capacity: int = 1_000_000
    """Replay buffer size in transitions, over all agents and processes."""
    learning_starts: int = 5_000
    """Environment steps, over all worlds, before the first update. Until then actions are uniformly random."""
    updates: int = 8
    """Optimizer steps of the critics per update."""
    policy_delay: int = 1
    """Optimizer steps of the critics per step of the actor and of the target networks."""
    clipped_double: bool = True
    """Clipped double Q: the smaller value of the two critics counts; otherwise their mean, which explores more."""
    critic_hidden: tuple[int, ...] = ()
    """Units of each hidden layer of the critics; empty for those of policy.hidden."""
    noise_correlation: float = 0.0
    """Correlation of the exploration noise of two successive steps, 0 to below 1 (Ornstein-Uhlenbeck noise): near 1,
    actions keep their direction for about 1 / (1 - correlation) steps. For worlds where a goal is only reached by
    steady effort, such as MountainCarContinuous-v0."""

    fixed_numbers: ClassVar[tuple[str, ...]] = (*ReplayConfig.fixed_numbers, "noise_correlation")
    action_std: ClassVar[ActionStd] = "constant"
    """What the policy's ``action_std`` always is."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.policy_delay < 1:
            raise InputError(f"policy_delay must be 1 or more, not {self.policy_delay}")
        if not 0.0 <= self.noise_correlation < 1.0:
            raise InputError(f"noise_correlation must be at least 0 and less than 1, not {self.noise_correlation}")
        if self.critic_hidden:
            replace(self.policy, hidden=self.critic_hidden)  # checks the sizes
        policy = replace(self.policy, action_distribution="squashed_gaussian", action_std=self.action_std)
        object.__setattr__(self, "policy", policy)


@dataclass(frozen=True)
class SACConfig(ContinuousConfig):
    """Settings of SAC."""

    temperature: float = 1.0
    """Entropy temperature alpha; the initial one with auto_temperature."""
    auto_temperature: bool = True
    """Adapt the temperature so that the policy's entropy stays near the target."""
    target_entropy: float = -1.0
    """Target of the entropy per number of an action, in nats, for actions between -1 and 1."""

    fixed_numbers = (*ContinuousConfig.fixed_numbers, "temperature", "target_entropy")
    action_std = "state"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.temperature > 0.0:
            raise InputError(f"temperature must be greater than 0, not {self.temperature}")


@dataclass(frozen=True)
class TD3Config(ContinuousConfig):
    """Settings of TD3."""

    policy_delay: int = 2
    """Optimizer steps of the critics per step of the actor and of the target networks."""
    exploration_noise: float = 0.1
    """Standard deviation of the exploration noise in the last world, in units of half the action's range."""
    exploration_noise_min: float = 0.1
    """Standard deviation of the exploration noise in the first world. Those between are evenly spaced, so that some
    worlds explore far and others stay near the policy."""
    target_noise: float = 0.2
    """Standard deviation of the noise of target actions (target policy smoothing), in units of half the range."""
    target_noise_clip: float = 0.5
    """Bound of the noise of target actions, in the same units."""

    fixed_numbers = (
        *ContinuousConfig.fixed_numbers,
        *("exploration_noise", "exploration_noise_min", "target_noise", "target_noise_clip"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_not_negative(self, "exploration_noise", "exploration_noise_min", "target_noise", "target_noise_clip")
        if self.eval_stochastic:
            raise InputError("eval_stochastic does not apply to TD3, whose policy is deterministic: omit it")
