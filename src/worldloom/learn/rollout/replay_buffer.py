"""Replay buffer: the last steps of every row in a ring buffer on the device, sampled as n-step transitions.

The worlds must have ``autoreset="next_step"``: they reset with the step *after* the last one of an episode. The
observation after a step is then always the one before the next step, including the final one, so that every
observation is stored once::

    step          t              t + 1                      t + 2
    observation   x              the final observation      the first of the next episode
    flags         terminated     valid=False: only resets

The tensors have the shape [capacity, N, ...]. The write position is on the device: adding and sampling have fixed
shapes, need no synchronization, and can be captured in a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.kernels.random import fold_seed
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.device.device_numbers import Number, kernel_numbers
from worldloom.learn.device.gather import index_select
from worldloom.learn.device.tensor_checks import check_tensor
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.rollout.prioritized_replay import ReplayPriorities
from worldloom.learn.rollout.replay_kernels import draw_uniform, n_step_windows


@dataclass(frozen=True)
class TransitionBatch:
    """Transitions sampled from a replay buffer.

    Attributes:
        observations: Observations, by name, [B, ...].
        actions: Actions, [B, width].
        rewards: Discounted sums of the rewards of up to n steps, [B].
        next_observations: Observations after the last of those steps, by name, [B, ...].
        discounts: Discount of the value of ``next_observations``: gamma^k after k steps, 0 after a termination, [B].
        weights: Loss weights, [B]; 0 for invalid transitions.
        indices: Indices in the buffer, int64 [B]: slot * rows + row.
    """

    observations: dict[str, torch.Tensor]
    actions: torch.Tensor
    rewards: torch.Tensor
    next_observations: dict[str, torch.Tensor]
    discounts: torch.Tensor
    weights: torch.Tensor
    indices: torch.Tensor


class ReplayBuffer:
    """The last ``capacity`` steps of ``rows`` rows.

    An observation may be a stack of frames: its first axis is then time, newest last. Only the newest frame is stored,
    and stacks are rebuilt when sampled. At the start of an episode the first frame is repeated, as it is in worlds that
    fill their first stack by repetition.

    Args:
        observations: Observation specs by name.
        action_width: Elements of an action.
        action_dtype: Type of an action.
        rows: Number of rows, which all add a step at once.
        capacity: Steps kept per row.
        device: The device.
        stack: Frames along the first axis of the observations: one number for all, or numbers by name; observations
            not named are stored whole.
        n_step: Maximum number of rewards of a transition.
        gamma: Discount factor.
        seed: The random seed. Processes that train together need different ones.
        priorities: Prioritized instead of uniform sampling; it must have ``capacity`` steps of ``rows`` rows.
    """

    def __init__(
        self,
        observations: Mapping[str, ObservationSpec],
        action_width: int,
        action_dtype: torch.dtype,
        rows: int,
        capacity: int,
        device: torch.device,
        *,
        stack: int | Mapping[str, int] = 1,
        n_step: int = 1,
        gamma: float = 0.99,
        seed: int = 0,
        priorities: ReplayPriorities | None = None,
    ) -> None:
        self.specs = dict(observations)
        self.stacks = {name: stack.get(name, 1) if isinstance(stack, Mapping) else stack for name in self.specs}
        self.stack = max(self.stacks.values(), default=1)
        self.rows, self.capacity, self.device, self.n_step = rows, capacity, torch.device(device), n_step
        self.gamma: Number = gamma
        """Discount factor; a tensor [] on the device where it changes during training."""
        self.priorities = priorities
        self._check_arguments(stack)
        self.seed = int(fold_seed(np.asarray(seed, dtype=np.uint64)))
        self.frames = {
            name: self._zeros(spec.dtype, *(spec.shape if self.stacks[name] == 1 else spec.shape[1:]))
            for name, spec in self.specs.items()
        }
        """Observations, or their newest frames, by name: [capacity, N, ...]."""
        self.actions = self._zeros(action_dtype, action_width)
        self.rewards = self._zeros(torch.float32)
        self.terminated, self.truncated, self.valid = (self._zeros(torch.bool) for _ in range(3))
        self.cursor = torch.zeros(1, dtype=torch.int64, device=self.device)
        """Number of steps added in total. The next one is written to the slot ``cursor % capacity``."""
        self.tick = torch.zeros(1, dtype=torch.int64, device=self.device)
        """Number of batches sampled uniformly."""
        self._offsets = torch.tensor([0, self.stack - 1, -n_step], device=self.device)

    def _check_arguments(self, stack: int | Mapping[str, int]) -> None:
        if unknown := set(stack if isinstance(stack, Mapping) else ()) - set(self.specs):
            raise InputError(f"there is no observation '{min(unknown)}' for stack: there are {', '.join(self.specs)}")
        for name, frames in self.stacks.items():
            if frames < 1 or (frames > 1 and self.specs[name].shape[:1] != (frames,)):
                shape = self.specs[name].shape
                raise InputError(
                    f"observation '{name}' of shape {shape} is not a stack of {frames} frames: "
                    "name the stacked ones, as in stack={'image': 4}"
                )
        if self.rows < 1 or self.n_step < 1:
            raise InputError(
                f"a replay buffer needs at least one row and n_step of 1 or more, not {self.rows} and {self.n_step}"
            )
        if self.capacity < self.n_step + self.stack:
            minimum = self.n_step + self.stack
            raise InputError(
                f"a replay buffer with {self.n_step}-step returns and stacks of {self.stack} needs a capacity of "
                f"{minimum} or more, not {self.capacity}"
            )
        if self.capacity * self.rows >= 2**31:
            raise InputError(
                f"a replay buffer of {self.capacity} steps of {self.rows} rows has more than 2^31 entries: "
                "lower its capacity"
            )
        if self.priorities is not None and (self.priorities.steps, self.priorities.rows) != (self.capacity, self.rows):
            size = f"{self.priorities.steps} steps of {self.priorities.rows} rows"
            raise InputError(
                f"the priorities are for {size}, the replay buffer has {self.capacity} of {self.rows}: "
                "make both of one size"
            )

    def _zeros(self, dtype: torch.dtype, *shape: int) -> torch.Tensor:
        return torch.zeros((self.capacity, self.rows, *shape), dtype=dtype, device=self.device)

    def add(
        self,
        observations: Mapping[str, torch.Tensor],
        actions: torch.Tensor,
        rewards: torch.Tensor,
        terminated: torch.Tensor,
        truncated: torch.Tensor,
        valid: torch.Tensor,
    ) -> None:
        """Add one step of every row, in place of the oldest one.

        Args:
            observations: Observations before the step, by name, [N, ...]; whole stacks where they are stacks.
            actions: Actions, [N, width].
            rewards: Rewards, [N].
            terminated: Whether the step terminated the episode, bool [N].
            truncated: Whether the step truncated the episode, bool [N].
            valid: Whether the step may be trained on, bool [N]: not one that only reset, nor one of an agent that has
                left. A step after an invalid one starts an episode.
        """
        slots = (self.cursor + self._offsets) % self.capacity
        for name, stored in self.frames.items():
            spec, values = self.specs[name], observations[name]
            check_tensor(f"observation '{name}'", values, (self.rows, *spec.shape), spec.dtype, stored.device)
            stored.index_copy_(0, slots[0:1], (values if self.stacks[name] == 1 else values[:, -1]).unsqueeze(0))
        parts = {
            "actions": actions,
            "rewards": rewards,
            "terminated": terminated,
            "truncated": truncated,
            "valid": valid,
        }
        for name, value in parts.items():
            stored = getattr(self, name)
            check_tensor(name, value, tuple(stored.shape[1:]), stored.dtype, stored.device)
            stored.index_copy_(0, slots[0:1], value.unsqueeze(0))
        if self.priorities is not None:
            # With every added step, one stored step loses the last frame of its stack, and one completes its window.
            self.priorities.disable(slots[1:2])
            self.priorities.enable(slots[2:3], self.valid.index_select(0, slots[2:3]))
        self.cursor += 1

    def sample(self, batch: int) -> TransitionBatch:
        """Sample ``batch`` transitions among the steps whose next n steps were added too.

        A transition ends early where its episode ends. ``next_observations`` is then the final observation, whose
        discount is 0 unless the episode was truncated. All weights are 0 while there is nothing to sample.
        """
        if self.priorities is None:
            weights = None
            indices = torch.empty(batch, dtype=torch.int64, device=self.device)
            launch(
                draw_uniform,
                batch,
                (self.cursor, self.capacity, self.rows, self.stack, self.n_step, self.seed, self.tick, indices),
                self.device,
            )
            self.tick += 1
        else:
            indices, weights = self.priorities.sample(batch)
        returns, discounts, counts = (torch.empty(batch, dtype=torch.float32, device=self.device) for _ in range(3))
        frames, next_frames = (
            torch.empty((batch, self.stack), dtype=torch.int64, device=self.device) for _ in range(2)
        )
        flags = (self.terminated, self.truncated, self.valid)
        numbers, scheduled = kernel_numbers(self.device, self.gamma)
        arguments = (
            indices,
            self.rewards,
            *flags,
            self.n_step,
            *numbers,
            scheduled,
            returns,
            discounts,
            counts,
            frames,
            next_frames,
        )
        launch(n_step_windows, batch, arguments, self.device)
        return TransitionBatch(
            observations=self._gather(frames),
            actions=self.actions.flatten(0, 1).index_select(0, indices),
            rewards=returns,
            next_observations=self._gather(next_frames),
            discounts=discounts,
            weights=counts if weights is None else weights * counts,
            indices=indices,
        )

    def _gather(self, indices: torch.Tensor) -> dict[str, torch.Tensor]:
        """Observations from the frames at ``indices``, int64 [B, stack]."""
        observations = {}
        for name, stored in self.frames.items():
            frames = indices[:, self.stack - self.stacks[name] :].reshape(-1)
            observations[name] = index_select(stored.flatten(0, 1), 0, frames).view(
                len(indices), *self.specs[name].shape
            )
        return observations

    def tensors(self) -> dict[str, torch.Tensor]:
        """The state, by name, for checkpoints."""
        state = {f"observations.{name}": stored for name, stored in self.frames.items()}
        for name in ("actions", "rewards", "terminated", "truncated", "valid", "cursor", "tick"):
            state[name] = getattr(self, name)
        if self.priorities is not None:
            state |= {f"priorities.{name}": tensor for name, tensor in self.priorities.tensors().items()}
        return state
