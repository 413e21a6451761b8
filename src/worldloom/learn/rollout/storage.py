"""The memory of a roll-out: what every row saw, did and got in T steps, and what it saw where an episode was cut off."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import torch

from worldloom.learn.agents.specs import PolicySpec
from worldloom.learn.device.gather import as_words, index_select, scatter_rows
from worldloom.learn.networks.policy import Policy


@dataclass(frozen=True)
class RolloutBatch:
    """Some of a roll-out's steps, to learn from. Leading axes are (rows,), or (steps, rows) for policies with a memory.

    Attributes:
        observations: By component.
        actions, log_probs: What was done, and how likely it was.
        values: What the value function said at the time.
        advantages, returns: What to learn.
        masks: Which choices were allowed; None where all always are.
        weights: 1 where an agent was there to act, 0 elsewhere; None where all always are.
        state: The policy's memory at the first step, shape (rows, state_size).
        resets: Where a new episode begins, shape (steps, rows); None for policies without a memory.
    """

    observations: dict[str, torch.Tensor]
    actions: torch.Tensor
    log_probs: torch.Tensor
    values: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor
    masks: torch.Tensor | None
    weights: torch.Tensor | None
    state: torch.Tensor | None = None
    resets: torch.Tensor | None = None

    def part(self, start: int, end: int) -> RolloutBatch:
        """Some of its steps, where it is flat."""
        cut = {name: tensor[start:end] for name, tensor in vars(self).items() if isinstance(tensor, torch.Tensor)}
        return replace(self, observations={k: v[start:end] for k, v in self.observations.items()}, **cut)

    def evaluate(self, policy: Policy) -> tuple[torch.Tensor, torch.Tensor]:
        """What ``policy`` gives for these steps: parameters of its action, and values."""
        if self.resets is not None and self.state is not None:
            return policy.sequence(self.observations, self.state, self.resets)
        parameters, values, _ = policy(self.observations, policy.initial_state(0, self.actions.device))
        return parameters, values


class Storage:
    """Tensors for ``steps`` steps of ``rows`` rows, on the device.

    Args:
        spec: What is seen and done.
        rows, steps: The size.
        device: Where.
        state_size: Numbers in the policy's memory; 0 for none.
        masked: Whether the choices that are allowed are kept with every step.
        leave: Whether agents may leave early, so that steps have weights.
        finals: How many episodes of one row can be cut off within the roll-out; their last observations are kept.
        cuts: Whether it is kept where episodes were cut off, instead of their last observations.
        sliding: Whether it is a window that :meth:`forget` moves on. Its observations stay where they are, in a ring.
    """

    def __init__(
        self,
        spec: PolicySpec,
        rows: int,
        steps: int,
        device: torch.device,
        *,
        state_size: int = 0,
        masked: bool = False,
        leave: bool = False,
        finals: int = 1,
        truncations: bool = False,
        sliding: bool = False,
    ) -> None:
        self.spec, self.rows, self.steps, self.device, self.sliding = spec, rows, steps, device, sliding

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.observations = {
            key: zeros(steps, rows, *part.shape, dtype=part.dtype) for key, part in spec.observations.items()
        }
        """In order, but in a window that slides: there step t is at ``(first + t) % steps``."""
        self.first = zeros(dtype=torch.int64)
        """Where the observations of the first step are."""
        self.actions = zeros(steps, rows, spec.action.width, dtype=spec.action.dtype)
        self.log_probs, self.entropies = zeros(steps, rows), zeros(rows)
        self.values = zeros(steps + 1, rows)
        """The value of what was seen, and of what is seen after the last step."""
        self.rewards = zeros(steps, rows)
        self.dones = zeros(steps, rows, dtype=torch.bool)
        self.masks = zeros(steps, rows, spec.action.parameters, dtype=torch.bool) if masked else None
        self.weights = zeros(steps, rows) if leave else None
        self.states = zeros(steps, rows, state_size)
        """The policy's memory before each step."""
        self.truncations = zeros(steps, rows, dtype=torch.bool) if truncations else None
        """Where an episode was cut off; None where its last observation is kept."""
        self.allocate_finals(0 if truncations else finals)
        self.starts = torch.tensor([0, *itertools.accumulate(spec.action.sizes)], dtype=torch.int32, device=device)
        """Where the choices of each part of an action begin, and where the last ends."""
        self._nothing, self._no_flags = zeros(0), zeros(0, dtype=torch.bool)

    def allocate_finals(self, finals: int) -> None:
        """Make room for ``finals`` episodes of each row that are cut off within a roll-out."""
        rows, device = self.rows, self.device
        self.finals = finals
        self.final_observations = {
            k: torch.zeros((finals, rows, *part.shape), dtype=part.dtype, device=device)
            for k, part in self.spec.observations.items()
        }
        self.final_values = torch.zeros((finals, rows), device=device)
        self.final_states = torch.zeros((finals, *self.states.shape[1:]), device=device)
        self.final_steps = torch.full((finals, rows), -1, dtype=torch.int32, device=device)
        """The step in which an episode was cut off, or -1."""
        self.final_count, self.final_slot = (
            torch.zeros(rows if finals else 0, dtype=torch.int32, device=device) for _ in range(2)
        )

    def empty_like(self) -> Storage:
        """Room for a copy of what is learned from."""
        kinds = {"masked": self.masks is not None, "leave": self.weights is not None}
        return Storage(
            self.spec, self.rows, self.steps, self.device, state_size=self.states.shape[2], finals=0, **kinds
        )

    def copy_(self, other: Storage) -> Storage:
        """Take over the steps of ``other``, whose rewards are finished: nothing of what was cut off is needed any more."""
        others = other.tensors()
        for name, tensor in self.tensors().items():
            tensor.copy_(others[name])
        self.values.copy_(other.values)
        return self

    def store_observations(self, step: int, observations: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Keep what was seen before a step; returns it in memory that nobody else has."""
        if not self.sliding:
            return {key: self.observations[key][step].copy_(seen) for key, seen in observations.items()}
        place = ((self.first + step) % self.steps).view(1)
        for key, seen in observations.items():
            as_words(self.observations[key], 2).index_copy_(0, place, as_words(seen.contiguous(), 1).unsqueeze(0))
        return {key: seen.clone() for key, seen in observations.items()}

    def newest(self, count: int) -> dict[str, torch.Tensor]:
        """What was seen before the last ``count`` steps, by component, (count, rows, ...)."""
        if not self.sliding:
            return {key: kept[-count:] for key, kept in self.observations.items()}
        places = (self.first + torch.arange(self.steps - count, self.steps, device=self.device)) % self.steps
        return {key: index_select(kept, 0, places) for key, kept in self.observations.items()}

    def step_weights(self, step: int) -> torch.Tensor:
        """The weights of one step; empty where there are none."""
        return self._nothing if self.weights is None else self.weights[step]

    def step_truncations(self, step: int) -> torch.Tensor:
        """Where episodes were cut off in one step; empty where that is not kept."""
        return self._no_flags if self.truncations is None else self.truncations[step]

    def store_finals(self, observations: dict[str, torch.Tensor], state: torch.Tensor) -> None:
        """Keep the last observations of the rows that were cut off in this step, and the memory they were seen with."""
        for key, kept in self.final_observations.items():
            scatter_rows(observations[key], self.final_slot, kept)
        if state.shape[1]:
            scatter_rows(state, self.final_slot, self.final_states)

    def gather_steps(self, places: torch.Tensor, advantages: torch.Tensor, returns: torch.Tensor) -> RolloutBatch:
        """The steps at ``places`` of the flat (steps, rows) tensors."""

        def pick(tensor: torch.Tensor) -> torch.Tensor:
            return index_select(tensor.flatten(0, 1), 0, places)

        return RolloutBatch(
            {k: pick(v) for k, v in self.observations.items()},
            pick(self.actions),
            pick(self.log_probs),
            pick(self.values[:-1]),
            pick(advantages),
            pick(returns),
            None if self.masks is None else pick(self.masks),
            None if self.weights is None else pick(self.weights),
        )

    def all_steps(self, advantages: torch.Tensor, returns: torch.Tensor) -> RolloutBatch:
        """All steps of all rows: flat, or in order for policies with a memory."""
        if self.states.shape[2]:
            return self.gather_rows(torch.arange(self.rows, device=self.device), advantages, returns)
        return RolloutBatch(
            {k: v.flatten(0, 1) for k, v in self.observations.items()},
            self.actions.flatten(0, 1),
            self.log_probs.flatten(),
            self.values[:-1].flatten(),
            advantages.flatten(),
            returns.flatten(),
            None if self.masks is None else self.masks.flatten(0, 1),
            None if self.weights is None else self.weights.flatten(),
        )

    def drop_oldest(self, count: int) -> None:
        """Drop the first ``count`` steps, and move the others to the front."""
        assert self.sliding
        self.first.add_(count).remainder_(self.steps)
        for tensor in (self.actions, self.log_probs, self.rewards, self.dones, self.masks, self.weights, self.states):
            if tensor is not None and tensor.numel():
                for start in range(
                    0, self.steps - count, count
                ):  # in pieces that do not overlap, so that nothing is copied twice
                    end = min(start + count, self.steps - count)
                    tensor[start:end].copy_(tensor[start + count : end + count])

    def invalidate_all(self) -> None:
        """No step counts until it is written: for windows that are learned from before they are full."""
        self.weights = (
            torch.zeros((self.steps, self.rows), device=self.device) if self.weights is None else self.weights.zero_()
        )
        self.dones.fill_(True)

    def tensors(self) -> dict[str, torch.Tensor]:
        """What is kept of the steps, by name."""
        found = {
            "actions": self.actions,
            "log_probs": self.log_probs,
            "rewards": self.rewards,
            "dones": self.dones,
            "states": self.states,
            "first": self.first,
        }
        found |= {f"observations/{k}": v for k, v in self.observations.items()}
        return found | {k: v for k, v in (("masks", self.masks), ("weights", self.weights)) if v is not None}

    def gather_rows(self, rows: torch.Tensor, advantages: torch.Tensor, returns: torch.Tensor) -> RolloutBatch:
        """All steps of ``rows``, in order."""

        def pick(tensor: torch.Tensor) -> torch.Tensor:
            return index_select(tensor, 1, rows)

        resets = torch.zeros_like(self.dones)
        resets[1:] = self.dones[:-1]  # the memory before the first step is already that of its episode
        slots = (self.first + torch.arange(self.steps, device=self.device)) % self.steps
        places = (slots[:, None] * self.rows + rows).flatten()
        return RolloutBatch(
            {
                k: index_select(v.flatten(0, 1), 0, places).unflatten(0, (self.steps, -1))
                for k, v in self.observations.items()
            },
            pick(self.actions),
            pick(self.log_probs),
            pick(self.values[:-1]),
            pick(advantages),
            pick(returns),
            None if self.masks is None else pick(self.masks),
            None if self.weights is None else pick(self.weights),
            self.states[0].index_select(0, rows),
            pick(resets),
        )
