"""Rollout storage: observations, actions, rewards and values of T steps, and final observations at truncations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import torch

from worldloom.learn.agents.specs import PolicySpec
from worldloom.learn.device.gather import as_words, index_select, scatter_rows
from worldloom.learn.networks.policy import Policy


@dataclass(frozen=True)
class RolloutBatch:
    """Some steps of a rollout. Leading axes are (samples,), or (steps, rows) for recurrent policies.

    Attributes:
        observations: By component.
        actions, log_probs: Actions and their log-probabilities.
        values: Values predicted during the rollout.
        advantages, returns: Training targets.
        masks: Action masks; None where there are none.
        weights: 1 where an agent was active, else 0; None where all always are.
        state: The recurrent state at the first step, shape (rows, state_size).
        resets: Whether an episode starts, shape (steps, rows); None for policies that are not recurrent.
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
        """The samples from ``start`` to ``end`` of a flat batch."""
        tensors = {name: tensor[start:end] for name, tensor in vars(self).items() if isinstance(tensor, torch.Tensor)}
        return replace(self, observations={k: v[start:end] for k, v in self.observations.items()}, **tensors)

    def evaluate(self, policy: Policy) -> tuple[torch.Tensor, torch.Tensor]:
        """Action parameters and values of ``policy`` for these steps."""
        if self.resets is not None and self.state is not None:
            return policy.sequence(self.observations, self.state, self.resets)
        parameters, values, _ = policy(self.observations, policy.initial_state(0, self.actions.device))
        return parameters, values


class Storage:
    """Tensors for ``steps`` steps of ``rows`` rows, on the device.

    Args:
        spec: Observations and action.
        rows, steps: The size.
        device: The device.
        state_size: Size of the recurrent state; 0 for none.
        masked: Whether to store action masks.
        may_leave: Whether agents may leave early, so that steps have weights.
        finals: Maximum number of truncated episodes per row within the rollout, whose final observations are stored.
        truncations: Whether to store truncation flags instead of final observations.
        sliding: Whether it is a sliding window, see :meth:`drop_oldest`. Its observations are in a ring buffer.
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
        may_leave: bool = False,
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
        """By component. In a sliding window, step t is at ``(first + t) % steps``."""
        self.first = zeros(dtype=torch.int64)
        """Position of the observations of the first step."""
        self.actions = zeros(steps, rows, spec.action.width, dtype=spec.action.dtype)
        self.log_probs, self.entropies = zeros(steps, rows), zeros(rows)
        self.values = zeros(steps + 1, rows)
        """Values of the observations, and of the one after the last step, in units of the returns."""
        self.rewards = zeros(steps, rows)
        self.dones = zeros(steps, rows, dtype=torch.bool)
        self.masks = zeros(steps, rows, spec.action.logits, dtype=torch.bool) if masked else None
        self.weights = zeros(steps, rows) if may_leave else None
        self.states = zeros(steps, rows, state_size)
        """The recurrent state before each step."""
        self.truncations = zeros(steps, rows, dtype=torch.bool) if truncations else None
        """Whether the episode was truncated; None where final observations are stored."""
        self.allocate_finals(0 if truncations else finals)
        self.starts = torch.tensor([0, *itertools.accumulate(spec.action.sizes)], dtype=torch.int32, device=device)
        """Index of the first choice of each part of an action, and the total number of choices."""
        self._no_weights, self._no_truncations = zeros(0), zeros(0, dtype=torch.bool)

    def allocate_finals(self, finals: int) -> None:
        """Allocate final observations for ``finals`` truncated episodes of each row."""
        rows, device = self.rows, self.device
        self.finals = finals
        self.final_observations = {
            k: torch.zeros((finals, rows, *part.shape), dtype=part.dtype, device=device)
            for k, part in self.spec.observations.items()
        }
        self.final_values = torch.zeros((finals, rows), device=device)
        self.final_states = torch.zeros((finals, *self.states.shape[1:]), device=device)
        self.final_steps = torch.full((finals, rows), -1, dtype=torch.int32, device=device)
        """The step at which an episode was truncated, or -1."""
        self.final_count, self.final_slot = (
            torch.zeros(rows if finals else 0, dtype=torch.int32, device=device) for _ in range(2)
        )

    def empty_like(self) -> Storage:
        """A new storage of the same size, without final observations."""
        return Storage(
            self.spec,
            self.rows,
            self.steps,
            self.device,
            state_size=self.states.shape[2],
            masked=self.masks is not None,
            may_leave=self.weights is not None,
            finals=0,
        )

    def copy_(self, other: Storage) -> Storage:
        """Copy the steps of ``other``, whose rewards already include the bootstrap values at truncation."""
        others = other.tensors()
        for name, tensor in self.tensors().items():
            tensor.copy_(others[name])
        self.values.copy_(other.values)
        return self

    def store_observations(self, step: int, observations: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Store the observations before a step, and return a private copy of them."""
        if not self.sliding:
            return {key: self.observations[key][step].copy_(values) for key, values in observations.items()}
        position = ((self.first + step) % self.steps).view(1)
        for key, values in observations.items():
            words = as_words(values.contiguous(), 1).unsqueeze(0)
            as_words(self.observations[key], 2).index_copy_(0, position, words)
        return {key: values.clone() for key, values in observations.items()}

    def newest(self, count: int, names: Collection[str] | None = None) -> dict[str, torch.Tensor]:
        """Observations before the last ``count`` steps, by component, (count, rows, ...); None for all ``names``."""
        chosen = self.observations if names is None else {key: self.observations[key] for key in names}
        if not self.sliding:
            return {key: stored[-count:] for key, stored in chosen.items()}
        positions = (self.first + torch.arange(self.steps - count, self.steps, device=self.device)) % self.steps
        return {key: index_select(stored, 0, positions) for key, stored in chosen.items()}

    def step_weights(self, step: int) -> torch.Tensor:
        """The weights of one step; empty where there are none."""
        return self._no_weights if self.weights is None else self.weights[step]

    def step_truncations(self, step: int) -> torch.Tensor:
        """Truncation flags of one step; empty where they are not stored."""
        return self._no_truncations if self.truncations is None else self.truncations[step]

    def store_finals(self, observations: dict[str, torch.Tensor], state: torch.Tensor) -> None:
        """Store final observations and states of the rows that were truncated in this step."""
        for key, stored in self.final_observations.items():
            scatter_rows(observations[key], self.final_slot, stored)
        if state.shape[1]:
            scatter_rows(state, self.final_slot, self.final_states)

    def gather_steps(self, indices: torch.Tensor, advantages: torch.Tensor, returns: torch.Tensor) -> RolloutBatch:
        """The steps at ``indices`` of the flat (steps, rows) tensors."""

        def pick(tensor: torch.Tensor) -> torch.Tensor:
            return index_select(tensor.flatten(0, 1), 0, indices)

        return self._batch(pick, {k: pick(v) for k, v in self.observations.items()}, advantages, returns)

    def row_indices(self, rows: torch.Tensor) -> torch.Tensor:
        """Indices of all steps of ``rows`` in the flat (steps, rows) tensors."""
        return (torch.arange(self.steps, device=self.device)[:, None] * self.rows + rows).flatten()

    def all_steps(self, advantages: torch.Tensor, returns: torch.Tensor) -> RolloutBatch:
        """All steps of all rows: flat, or (steps, rows) for recurrent policies."""
        if self.states.shape[2]:
            return self.gather_rows(torch.arange(self.rows, device=self.device), advantages, returns)

        def flatten(tensor: torch.Tensor) -> torch.Tensor:
            return tensor.flatten(0, 1)

        return self._batch(flatten, {k: flatten(v) for k, v in self.observations.items()}, advantages, returns)

    def drop_oldest(self, count: int) -> None:
        """Drop the first ``count`` steps of a sliding window, and move the others to the front."""
        assert self.sliding
        self.first.add_(count).remainder_(self.steps)
        for tensor in (self.actions, self.log_probs, self.rewards, self.dones, self.masks, self.weights, self.states):
            if tensor is not None and tensor.numel():
                for start in range(0, self.steps - count, count):  # pieces that do not overlap
                    end = min(start + count, self.steps - count)
                    tensor[start:end].copy_(tensor[start + count : end + count])

    def invalidate_all(self) -> None:
        """Give all steps weight 0, for windows that are used before they are full."""
        self.weights = (
            torch.zeros((self.steps, self.rows), device=self.device) if self.weights is None else self.weights.zero_()
        )
        self.dones.fill_(True)

    def tensors(self) -> dict[str, torch.Tensor]:
        """The stored steps, by name."""
        state = {
            "actions": self.actions,
            "log_probs": self.log_probs,
            "rewards": self.rewards,
            "dones": self.dones,
            "states": self.states,
            "first": self.first,
        }
        state |= {f"observations/{k}": v for k, v in self.observations.items()}
        return state | {k: v for k, v in (("masks", self.masks), ("weights", self.weights)) if v is not None}

    def bootstrap_tensors(self) -> dict[str, torch.Tensor]:
        """What an update needs besides :meth:`tensors`, by name: values, and those of truncated episodes."""
        state = {"values": self.values}
        if self.finals:
            state |= {"final_values": self.final_values, "final_steps": self.final_steps}
        return state if self.truncations is None else {**state, "truncations": self.truncations}

    def gather_rows(self, rows: torch.Tensor, advantages: torch.Tensor, returns: torch.Tensor) -> RolloutBatch:
        """All steps of ``rows``, in order."""

        def pick(tensor: torch.Tensor) -> torch.Tensor:
            return index_select(tensor, 1, rows)

        resets = torch.zeros_like(self.dones)
        resets[1:] = self.dones[:-1]  # the state before the first step already belongs to its episode
        slots = (self.first + torch.arange(self.steps, device=self.device)) % self.steps
        indices = (slots[:, None] * self.rows + rows).flatten()
        observations = {
            k: index_select(v.flatten(0, 1), 0, indices).unflatten(0, (self.steps, -1))
            for k, v in self.observations.items()
        }
        batch = self._batch(pick, observations, advantages, returns)
        return replace(batch, state=self.states[0].index_select(0, rows), resets=pick(resets))

    def _batch(
        self,
        pick: Callable[[torch.Tensor], torch.Tensor],
        observations: dict[str, torch.Tensor],
        advantages: torch.Tensor,
        returns: torch.Tensor,
    ) -> RolloutBatch:
        """The steps that ``pick`` selects of a (steps, rows, ...) tensor, with their ``observations``."""
        return RolloutBatch(
            observations,
            pick(self.actions),
            pick(self.log_probs),
            pick(self.values[:-1]),
            pick(advantages),
            pick(returns),
            None if self.masks is None else pick(self.masks),
            None if self.weights is None else pick(self.weights),
        )
