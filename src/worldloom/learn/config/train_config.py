"""Settings that every algorithm has. A field's docstring is its help on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from worldloom.core.base.errors import InputError
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.validation import check_fields, require_not_negative

Schedule = Literal["constant", "linear", "kl"]
CutValues = Literal["auto", "last", "before"]


@dataclass(frozen=True)
class TrainConfig:
    """Settings common to all algorithms."""

    num_envs: int = 1024
    """Worlds that run side by side, over all processes."""
    total_steps: int = 1_000_000
    """World steps to train for, over all worlds."""
    seed: int = 0
    """Where the random numbers of worlds, networks and actions start."""
    device: str = "auto"
    """cpu, cuda:N, or auto for a GPU where there is one."""
    gamma: float = 0.99
    """How much a reward counts that comes one step later."""
    learning_rate: float = 3e-4
    """Step size of the optimiser at the start."""
    schedule: Schedule = "constant"
    """How the step size changes: not at all, linearly to 0 over the training, or so that the policy moves by about target_kl per update."""
    max_gradient_norm: float = 0.5
    """Gradients longer than this are shortened to it; 0 for no limit."""
    clip_rewards: bool = False
    """Learn from the sign of each reward instead of its size. Returns are told as they are."""
    episodic_life: bool = False
    """Where agents have a component lives: nothing that comes after the loss of a life counts for what came before it, as at the end of an
    episode. The episode itself goes on."""
    action_masks: bool = True
    """Heed the component action_mask of the agents, where a world has one: choices that it forbids are never taken."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Numbers in the networks' products: fp32 (on a GPU with TF32 products) or bf16. Losses and statistics are always fp32."""
    graphs: bool = True
    """On a GPU: run the roll-out and the update as one CUDA graph each."""
    compile: bool = False
    """Compile the networks with torch.compile; it takes a while at the start, and pays for large ones."""
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    """The network."""

    def __post_init__(self) -> None:
        check_fields(self)
        for name, least in (("num_envs", 1), ("total_steps", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise InputError(f"{name} must be {least} or more, not {getattr(self, name)}")
        if not 0.0 <= self.gamma <= 1.0:
            raise InputError(f"gamma must lie between 0 and 1, not be {self.gamma}")
        if not self.learning_rate > 0.0:
            raise InputError(f"learning_rate must be greater than 0, not {self.learning_rate}")
        require_not_negative(self, "max_gradient_norm")


@dataclass(frozen=True)
class RolloutConfig(TrainConfig):
    """Settings of algorithms that learn from what the present policy does."""

    num_steps: int = 32
    """Steps that every world takes between two updates."""
    overlap: bool = False
    """Learn from a roll-out while the next one is taken, by the policy from before: on a GPU both run at once. It pays where worlds keep a part
    of the GPU busy for long, such as Atari's, and needs memory for two roll-outs."""
    entropy_weight: float = 0.0
    """How much a policy that tries more counts in the loss."""
    value_weight: float = 0.5
    """How much the value's error counts in the loss."""
    cut_values: CutValues = "auto"
    """What an episode that was cut off would still have brought: the value of its last observation (last), or of the one before it (before),
    which spares to keep all last observations. auto: before for images of bytes, last for all else."""
    normalize_rewards: bool = False
    """Divide rewards by the spread of the discounted return, as it is seen so far."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_steps < 1:
            raise InputError(f"num_steps must be 1 or more, not {self.num_steps}")
        require_not_negative(self, "value_weight")
