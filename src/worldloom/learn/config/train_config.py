"""Settings common to the algorithms. A field's docstring is its help on the command line.

A real number may be a schedule, a list of points (steps, value); see
:class:`~worldloom.learn.config.piecewise_linear.PiecewiseLinear`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from worldloom.core.base.device import check_name
from worldloom.core.base.errors import InputError
from worldloom.learn.config.piecewise_linear import PiecewiseLinear, check_schedules, convert_points
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.validation import check_fields, require_not_negative

Schedule = Literal["constant", "linear", "kl"]
CutValues = Literal["auto", "last", "before"]


@dataclass(frozen=True)
class TrainConfig:
    """Settings common to all algorithms."""

    num_envs: int = 1024
    """Number of parallel worlds, over all processes; on the command line also auto, which measures the fastest."""
    total_steps: int = 1_000_000
    """Total environment steps, summed over all worlds."""
    seed: int = 0
    """Random seed of worlds, networks and actions."""
    device: str = "auto"
    """Device: cpu, cuda:N, or auto for a GPU where one is available."""
    gamma: float = 0.99
    """Discount factor gamma."""
    learning_rate: float = 3e-4
    """Learning rate; the initial one with schedule linear or kl."""
    schedule: Schedule = "constant"
    """Learning rate schedule: constant, linear decay to 0 over the training, or adapted so that the KL divergence of
    an update stays near target_kl."""
    max_gradient_norm: float = 0.5
    """Maximum gradient norm; 0 for no clipping."""
    clip_rewards: bool = False
    """Clip rewards to their sign for training. Reported returns are unclipped."""
    episodic_life: bool = False
    """Episodic life: for training, the loss of a life ends the episode, where agents have a component lives. The world
    itself is not reset."""
    action_masks: bool = True
    """Invalid action masking: never take choices that the component action_mask forbids, where a world has one."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Precision of the networks: fp32 (TF32 products on a GPU) or bf16 autocast. Losses and statistics are fp32."""
    graphs: bool = True
    """Run the rollout and the update as CUDA graphs on a GPU."""
    compile: bool = False
    """Compile the networks with torch.compile: a slow start, faster large networks."""
    native: bool = True
    """On the CPU, train fully connected networks with native kernels, which are several times faster than PyTorch's
    operations. Results differ in rounding."""
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    """Settings of the network."""
    reward_scale: float = 1.0
    """Constant factor of the rewards for training, after clipping and normalization. Reported returns are unscaled."""
    stagger: bool = False
    """Start the first episode of every world at a random step, where the world has a time limit, so that episodes of
    equal length do not end all at once. The first returns are those of shorter episodes."""
    eval_every: int = 0
    """Environment steps between two evaluations on separate worlds; 0 for none. With evaluations the best checkpoint
    is the one with the highest evaluated return."""
    eval_episodes: int = 32
    """Episodes of an evaluation."""
    eval_worlds: int = 0
    """Parallel worlds of an evaluation; 0 for one per episode, at most 1,024."""
    eval_seed: int = 1_000_000
    """Random seed of the evaluation worlds. Every evaluation plays the same episodes."""
    eval_stochastic: bool = False
    """Sample the actions of an evaluation as in training, instead of taking the most likely ones."""
    eval_max_steps: int = 27_000
    """Steps after which an evaluation episode is cut off, where the world's own limit is longer or missing."""

    fixed_numbers: ClassVar[tuple[str, ...]] = ()
    """Names of the real numbers that cannot be schedules."""

    def __post_init__(self) -> None:
        convert_points(self)
        check_fields(self, schedulable=True)
        check_schedules(self, self.fixed_numbers)
        check_name(self.device)
        for name, minimum in (
            ("num_envs", 1),
            ("total_steps", 1),
            ("seed", 0),
            ("eval_every", 0),
            ("eval_episodes", 1),
            ("eval_worlds", 0),
            ("eval_seed", 0),
            ("eval_max_steps", 1),
        ):
            if getattr(self, name) < minimum:
                raise InputError(f"{name} must be {minimum} or more, not {getattr(self, name)}")
        if not 0.0 <= self.gamma <= 1.0:
            raise InputError(f"gamma must lie between 0 and 1, not be {self.gamma}")
        if not self.learning_rate > 0.0:
            raise InputError(f"learning_rate must be greater than 0, not {self.learning_rate}")
        if isinstance(self.learning_rate, PiecewiseLinear) and self.schedule != "constant":
            raise InputError(
                f"learning_rate has points, which schedule {self.schedule} would overwrite: use schedule constant"
            )
        require_not_negative(self, "max_gradient_norm")
        if not self.reward_scale > 0.0:
            raise InputError(f"reward_scale must be greater than 0, not {self.reward_scale}")


@dataclass(frozen=True)
class RolloutConfig(TrainConfig):
    """Settings common to the on-policy algorithms."""

    num_steps: int = 32
    """Rollout length: steps of every world between two updates."""
    overlap: bool = False
    """Take the next rollout with the previous policy during the update; on a GPU both run concurrently. Useful for slow
    worlds such as Atari; needs memory for two rollouts."""
    save_rollout: bool = True
    """With overlap, save the rollout that the next update uses with every checkpoint. Without it a resumed training
    takes a new one first."""
    entropy_weight: float = 0.0
    """Entropy bonus coefficient."""
    value_weight: float = 0.5
    """Value loss coefficient."""
    cut_values: CutValues = "auto"
    """Bootstrap value at truncation: of the final observation (last), or of the one before it (before), which saves
    memory. auto: before for uint8 images, else last."""
    normalize_rewards: bool = False
    """Scale rewards by the running standard deviation of the discounted return."""
    normalize_values: bool = False
    """Normalize value targets by the running mean and standard deviation of the returns; the critic predicts
    normalized values. Targets are not clipped. For rewards whose scale is unknown or changes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_steps < 1:
            raise InputError(f"num_steps must be 1 or more, not {self.num_steps}")
        require_not_negative(self, "value_weight")
