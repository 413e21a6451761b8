"""What a custom ``nn.Module`` must provide to be a policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor

ModuleObservations = Tensor | Mapping[str, Tensor]
"""The observation where there is one component, else all by name. Values are as the world writes them: bytes are not
scaled, and choices are integers; float64 is rounded to float32. With ``normalize_observations`` continuous ones are
normalized."""


class PolicyModule(Protocol):
    """A module without a recurrent state, for PPO, A2C and V-trace.

    P is the number of action parameters, ``spec.action.parameters``: logits of discrete actions, part after part, or
    means of continuous ones.

    A module may also have ``act(observations) -> parameters [N, P]``, the actor alone. It is used to play without
    the observations of the critic, which ``forward`` gets with all others.
    """

    def forward(self, observations: ModuleObservations) -> tuple[Tensor, Tensor]:
        """Observations of N agents -> action parameters [N, P] and values, [N] or [N, 1]."""


class RecurrentPolicyModule(Protocol):
    """A module with a recurrent state, for PPO, A2C and V-trace.

    The state of N agents is one tensor, [N, state_size] float32, which is 0 at the start of an episode. A state of
    several tensors, such as that of an LSTM, is concatenated.

    A module may also have two more methods:

    - ``sequence(observations, state, resets)`` for T steps of B agents: observations [T, B, ...], the state [B,
      state_size] before the first step and ``resets`` [T, B], True where an episode starts -> parameters [T, B, P] and
      values [T, B]. Before a step with a reset the state is set to 0. Without this method ``forward`` is called for one
      step after the other.
    - ``act(observations, state) -> (parameters, next state)``, the actor alone, as for :class:`PolicyModule`.

    Attributes:
        state_size: Numbers of the state of one agent, 1 or more.
    """

    state_size: int

    def forward(self, observations: ModuleObservations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Observations and states of N agents -> parameters [N, P], values [N] or [N, 1], next states."""
