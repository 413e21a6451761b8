"""A past self at play: a copy of a policy with earlier weights that acts in some rows of the policy's agents."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor

from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.device.torch_settings import autocast
from worldloom.learn.networks.policy import Policy


class PastSelf:
    """Acts in ``rows`` in place of the current policy.

    Its tensors keep their memory, so that a captured rollout acts with whatever weights were copied into them.

    Args:
        policy: The policy in training, whose architecture it copies.
        agent_group: The agents of that policy.
        rows: The rows that it controls, int64 [R].
        seed: The random seed.
        first_row: Global index of the group's first row among all processes.
        stream: Separates its random numbers from those of the policies and of other past selves.
        precision: Precision of the network.
    """

    def __init__(
        self,
        policy: Policy,
        agent_group: AgentGroup,
        rows: Tensor,
        *,
        seed: int,
        first_row: int,
        stream: int,
        precision: str,
    ) -> None:
        self.policy = copy.deepcopy(policy)  # still requires gradients, without which fused kernels are not used
        self.policy.eval()
        self.agent_group, self.rows, self.precision = agent_group, rows, precision
        action = agent_group.spec.action
        self.sampler = Sampler(action, len(rows), agent_group.device, seed, first_row, stream)
        self.state = policy.initial_state(len(rows), agent_group.device)
        """The recurrent state, [R, S]."""
        self._action = torch.zeros((len(rows), action.width), dtype=action.dtype, device=agent_group.device)
        self._log_prob, self._entropy = torch.zeros((2, len(rows)), device=agent_group.device)

    def act(self, observations: Mapping[str, Tensor], mask: Tensor | None, step: int, actions: Tensor) -> None:
        """Replace the actions of its rows.

        Args:
            observations: Observations of all rows, by name.
            mask: Action mask of all rows; None where there is none.
            step: Index of the step in the storage.
            actions: Actions of all rows, as stored.
        """
        own = {name: values.index_select(0, self.rows) for name, values in observations.items()}
        with autocast(self.agent_group.device, self.precision):
            parameters, _, state = self.policy(own, self.state)
        if self.policy.recurrent:
            self.state.copy_(state)
        self.sampler.sample(
            parameters,
            action=self._action,
            log_prob=self._log_prob,
            entropy=self._entropy,
            mask=None if mask is None else mask.index_select(0, self.rows),
            log_std=self.policy.log_std,
            offset=step,
        )
        actions.index_copy_(0, self.rows, self._action)

    def end_step(self, dones: Tensor) -> None:
        """Zero the recurrent state of its rows whose episode ended, bool of all rows."""
        if self.policy.recurrent:
            self.state *= ~dones.index_select(0, self.rows)[:, None]

    def end(self, steps: int) -> None:
        """Finish a rollout of ``steps`` steps."""
        self.sampler.advance(steps)
