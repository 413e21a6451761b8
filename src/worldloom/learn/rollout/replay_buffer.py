"""Replay: the last steps of every row in a ring on the device, drawn again in random batches of n-step transitions.

Worlds that fill a replay reset themselves with the step *after* an episode's last one (``autoreset="next_step"``). What a row
sees after a step is then always what it sees before the next one, the final observation included, so that every
observation is stored once::

    step      t              t + 1                      t + 2
    sees      x              the final observation      the first of the next episode
    flags     terminated     valid=False: only resets

The replay lies in tensors of shape [capacity, N, ...]. Where the next step goes is a number on the device: adding and sampling
have fixed shapes, never wait for the host, and can be captured in a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.kernels.random import fold_seed, integer
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.device.gather import index_select
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.losses.advantages import check_tensor
from worldloom.learn.rollout.prioritized_replay import ReplayPriorities

_STREAM = wp.constant(wp.int32(0x5265706C))


@wp.kernel(enable_backward=False)
def _draw(
    cursor: wp.array(dtype=wp.int64),
    capacity: wp.int32,
    rows: wp.int32,
    stack: wp.int32,
    n: wp.int32,
    seed: wp.uint32,
    tick: wp.array(dtype=wp.int64),
    indices: wp.array(dtype=wp.int64),
) -> None:
    """Draw one place: any step with its stack's frames behind it and ``n`` steps after it; one never filled where there is none."""
    sample = wp.tid()
    now = tick[0]
    # In place of an episode, which worlds count up from 0, stands a number counted down from -1: the two never meet.
    high, low = wp.int32(~(now >> wp.int64(32))), wp.int32(now)
    newest = wp.int32((cursor[0] + wp.int64(capacity - 1)) % wp.int64(capacity))
    oldest_age = wp.int32(wp.min(cursor[0] - wp.int64(1), wp.int64(capacity - stack)))
    age = integer(seed, sample, high, low, _STREAM, 0, n, oldest_age + 1)
    row = integer(seed, sample, high, low, _STREAM, 1, 0, rows)
    slot = (newest + capacity - age) % capacity
    indices[sample] = wp.int64(slot) * wp.int64(rows) + wp.int64(row)


@wp.func
def _look_back(
    sample: wp.int32,
    slot: wp.int32,
    row: wp.int32,
    valid: wp.array2d(dtype=wp.bool),
    frames: wp.array2d(dtype=wp.int64),
) -> None:
    """Write down the places of a stack's frames, newest last; before an episode's start its first frame repeats."""
    capacity, rows, stack = valid.shape[0], valid.shape[1], frames.shape[1]
    back = wp.int32(0)
    for k in range(stack):
        at = (slot + capacity - back) % capacity
        frames[sample, stack - 1 - k] = wp.int64(at) * wp.int64(rows) + wp.int64(row)
        # The step before an episode's start only reset, or was never filled: neither is valid, and the walk stays where it is.
        if valid[(at + capacity - 1) % capacity, row]:
            back += 1


@wp.kernel(enable_backward=False)
def _windows(
    indices: wp.array(dtype=wp.int64),
    rewards: wp.array2d(dtype=wp.float32),
    terminated: wp.array2d(dtype=wp.bool),
    truncated: wp.array2d(dtype=wp.bool),
    valid: wp.array2d(dtype=wp.bool),
    n: wp.int32,
    gamma: wp.float32,
    returns: wp.array(dtype=wp.float32),
    discounts: wp.array(dtype=wp.float32),
    counts: wp.array(dtype=wp.float32),
    frames: wp.array2d(dtype=wp.int64),
    next_frames: wp.array2d(dtype=wp.int64),
) -> None:
    """Follow a place for at most ``n`` steps: what they gave, what follows them, and where the frames lie."""
    sample = wp.tid()
    capacity, rows = rewards.shape[0], rewards.shape[1]
    slot = wp.int32(indices[sample] / wp.int64(rows))
    row = wp.int32(indices[sample] % wp.int64(rows))
    total, discount, length = wp.float32(0.0), wp.float32(1.0), wp.int32(0)
    for k in range(n):
        place = (slot + k) % capacity
        total += discount * rewards[place, row]
        discount *= gamma
        length = k + 1
        if terminated[place, row]:
            discount = wp.float32(0.0)
        if terminated[place, row] or truncated[place, row]:
            break
    returns[sample] = total
    discounts[sample] = discount
    counts[sample] = wp.where(valid[slot, row], 1.0, 0.0)
    _look_back(sample, slot, row, valid, frames)
    _look_back(sample, (slot + length) % capacity, row, valid, next_frames)


@dataclass(frozen=True)
class TransitionBatch:
    """Transitions drawn from a replay.

    Attributes:
        observations: What was seen, by name, [B, ...].
        actions: What was done, [B, width].
        rewards: Discounted sums of the rewards of up to n steps, [B].
        next_observations: What was seen after the last of those steps, by name, [B, ...].
        discounts: What the value of ``next_observations`` counts: gamma^k after k steps, 0 where the episode terminated, [B].
        weights: What each transition's loss counts, [B]; 0 for those that must not be trained on.
        indices: Places in the replay, int64 [B]: slot * rows + row.
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

    An observation may be a stack of frames: its first axis is then time, newest last. Only the newest frame is stored, and
    stacks are put together again when they are drawn. At an episode's start the first frame is repeated; this is what the world
    showed if it fills its first stack by repetition too.

    Args:
        observations: What a row sees, by name.
        action_width: How many numbers an action has.
        action_dtype: Their type.
        rows: How many rows add a step at once.
        capacity: How many steps of each row are kept.
        device: Where they are kept.
        stack: How many frames the first axis of an observation has: one number for all of them, or numbers by name, where those
            not named are stored whole.
        n_step: The most rewards that a transition counts.
        gamma: The discount per step.
        seed: Where random numbers start. Processes that learn together need different ones.
        priorities: Draws by surprise instead of uniformly; it needs a place for each of ``capacity`` x ``rows``.
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
        self.rows, self.capacity, self.device, self.n_step, self.gamma = (
            rows,
            capacity,
            torch.device(device),
            n_step,
            gamma,
        )
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
        """How many steps were added since the beginning; the next one goes to the slot ``cursor % capacity``."""
        self.tick = torch.zeros(1, dtype=torch.int64, device=self.device)
        """How many batches were drawn uniformly."""
        self._offsets = torch.tensor([0, self.stack - 1, -n_step], device=self.device)

    def _check_arguments(self, stack: int | Mapping[str, int]) -> None:
        if unknown := set(stack if isinstance(stack, Mapping) else ()) - set(self.specs):
            raise InputError(
                f"there is no observation '{min(unknown)}' to be a stack: there are {', '.join(self.specs)}"
            )
        for name, frames in self.stacks.items():
            if frames < 1 or (frames > 1 and self.specs[name].shape[:1] != (frames,)):
                shape = self.specs[name].shape
                raise InputError(
                    f"observation '{name}' of shape {shape} is no stack of {frames} frames: name the stacked ones, as in stack={{'image': 4}}"
                )
        if self.rows < 1 or self.n_step < 1:
            raise InputError(
                f"a replay needs at least one row and n_step of 1 or more, not {self.rows} and {self.n_step}"
            )
        if self.capacity < self.n_step + self.stack:
            least = self.n_step + self.stack
            raise InputError(
                f"a replay with {self.n_step}-step returns and stacks of {self.stack} needs a capacity of {least} or more, not {self.capacity}"
            )
        if self.capacity * self.rows >= 2**31:
            raise InputError(
                f"a replay of {self.capacity} steps of {self.rows} rows has more than 2^31 places: lower its capacity"
            )
        if self.priorities is not None and (self.priorities.steps, self.priorities.rows) != (self.capacity, self.rows):
            found = f"{self.priorities.steps} steps of {self.priorities.rows} rows"
            raise InputError(
                f"the priorities are for {found}, the replay has {self.capacity} of {self.rows}: make both of one size"
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
        """Add one step of every row; the oldest step makes room for it.

        Args:
            observations: What each row saw before the step, by name, [N, ...]; whole stacks where they are stacks.
            actions: What each row did, [N, width].
            rewards: What the step gave, [N].
            terminated: Whether the step ended the episode by the world's rules, bool [N].
            truncated: Whether a time limit or the like ended it, bool [N].
            valid: Whether the step is to be trained on, bool [N]: not one that only reset, nor one of an agent that had left.
                A step after an invalid one starts an episode.
        """
        slots = (self.cursor + self._offsets) % self.capacity
        for name, stored in self.frames.items():
            spec, seen = self.specs[name], observations[name]
            check_tensor(f"observation '{name}'", seen, (self.rows, *spec.shape), spec.dtype, stored.device)
            stored.index_copy_(0, slots[0:1], (seen if self.stacks[name] == 1 else seen[:, -1]).unsqueeze(0))
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
            # One step loses the last frame of its stack with every step that is added, and one gets the last step of its window.
            self.priorities.disable(slots[1:2])
            self.priorities.enable(slots[2:3], self.valid.index_select(0, slots[2:3]))
        self.cursor += 1

    def sample(self, batch: int) -> TransitionBatch:
        """Draw ``batch`` transitions among the steps whose next n steps were added too.

        A transition ends early where its episode ends: ``next_observations`` is then the final one, which only counts
        (see ``discounts``) where the episode was truncated. All weights are 0 as long as there is nothing to draw.
        """
        if self.priorities is None:
            weights = None
            indices = torch.empty(batch, dtype=torch.int64, device=self.device)
            launch(
                _draw,
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
        arguments = (
            indices,
            self.rewards,
            *flags,
            self.n_step,
            self.gamma,
            returns,
            discounts,
            counts,
            frames,
            next_frames,
        )
        launch(_windows, batch, arguments, self.device)
        return TransitionBatch(
            observations=self._gather(frames),
            actions=self.actions.flatten(0, 1).index_select(0, indices),
            rewards=returns,
            next_observations=self._gather(next_frames),
            discounts=discounts,
            weights=counts if weights is None else weights * counts,
            indices=indices,
        )

    def _gather(self, places: torch.Tensor) -> dict[str, torch.Tensor]:
        """Observations whose frames lie at ``places``, int64 [B, stack]."""
        observations = {}
        for name, stored in self.frames.items():
            wanted = places[:, self.stack - self.stacks[name] :].reshape(-1)
            observations[name] = index_select(stored.flatten(0, 1), 0, wanted).view(
                len(places), *self.specs[name].shape
            )
        return observations

    def tensors(self) -> dict[str, torch.Tensor]:
        """Everything that changes, by name, for checkpoints."""
        found = {f"observations.{name}": stored for name, stored in self.frames.items()}
        for name in ("actions", "rewards", "terminated", "truncated", "valid", "cursor", "tick"):
            found[name] = getattr(self, name)
        if self.priorities is not None:
            found |= {f"priorities.{name}": tensor for name, tensor in self.priorities.tensors().items()}
        return found
