"""The columns of a batch of worlds as tensors, with the shapes of ``env.step``."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor

from worldloom.core.schedule.table_views import FINAL
from worldloom.core.simulation import Simulation
from worldloom.vector.env_layout import EnvComponent, EnvLayout, combine_values
from worldloom.vector.rollouts.result import map_tensors
from worldloom.vector.transfer.world_readers import sum_rewards

INTEGER_SPACES = (spaces.Discrete, spaces.MultiDiscrete, spaces.Tuple)
"""Gymnasium's spaces whose values are int64."""


class WorldColumns:
    """Views of the columns that a rollout reads and writes, N = ``num_worlds``.

    Args:
        simulation: The worlds.
        layout: Their components.
        gymnasium_types: Whether observations have the types of Gymnasium's spaces: int64 for discrete values, and
            tuples for Tuple spaces. Otherwise they have the types of their columns.
        agent_rewards: Whether rewards are those of the agents, and not their sums.

    Attributes:
        actions: The action columns by key, [N, ...].
        observations: The observation columns, [N, ...], nested as the policy observes them.
        observation_dtypes: The types in which it observes them, nested in the same way.
        final_observations: The last observations of ended episodes, nested in the same way; None without same-step
            autoreset.
        terminations, truncations: The flags of the last step, bool [N].
        reward_columns: The columns that hold the rewards, [N, ...]; None where :meth:`summed_rewards` computes them.
    """

    def __init__(
        self, simulation: Simulation, layout: EnvLayout, gymnasium_types: bool, agent_rewards: bool = False
    ) -> None:
        self.simulation, self.layout, self.num_worlds = simulation, layout, simulation.num_worlds
        self._gymnasium_types = gymnasium_types
        self.terminations: Tensor = simulation.terminated.torch()
        self.truncations: Tensor = simulation.truncated.torch()
        self.device = self.terminations.device
        self.actions = {component.key: self._view(component) for component in layout.actions}
        self.observations = self._observations("")
        self.final_observations = self._observations(FINAL) if simulation.autoreset == "same_step" else None
        self.observation_dtypes = combine_values({c.key: self._dtypes(c) for c in layout.observations})
        rewards = {component.key: self._view(component) for component in layout.rewards}
        self._rewards = list(rewards.values())
        are_stored = agent_rewards or [values.ndim for values in self._rewards] == [1]
        self.reward_columns: Any = combine_values(rewards) if are_stored else None

    def _view(self, component: EnvComponent, prefix: str = "") -> Tensor:
        """A column with shape (num_worlds, ...)."""
        tensor: Tensor = self.simulation.tables[component.table][prefix + component.name].torch()
        return tensor.view(self.num_worlds, *component.shape)

    def _observations(self, prefix: str) -> Any:
        return combine_values({c.key: self._observation(c, prefix) for c in self.layout.observations})

    def _observation(self, component: EnvComponent, prefix: str) -> Tensor | tuple[Tensor, ...]:
        values = self._view(component, prefix)
        is_tuple = self._gymnasium_types and isinstance(component.gymnasium_space, spaces.Tuple)
        return values.unbind(1) if is_tuple else values

    def _dtypes(self, component: EnvComponent) -> Any:
        is_integer = self._gymnasium_types and isinstance(component.gymnasium_space, INTEGER_SPACES)
        return map_tensors(lambda view: torch.int64 if is_integer else view.dtype, self._observation(component, ""))

    def current_stream(self) -> Any:
        """The stream on which the worlds are stepped, PyTorch's current one, as Warp's; None on the CPU."""
        return self.simulation.executor.stream() if self.simulation.device.is_cuda else None

    def summed_rewards(self) -> Tensor:
        """The reward of every world, [N]: the sum over its agents."""
        if not self._rewards:
            return torch.zeros(self.num_worlds, device=self.device)
        on_host = self.simulation.device.is_cpu  # added by NumPy as in a step: PyTorch adds in another order
        rewards = [values.numpy() if on_host else values for values in self._rewards]
        total = sum_rewards(self.num_worlds, [(partial(_same, values), values.ndim > 1) for values in rewards])
        return torch.from_numpy(total) if on_host else total


def _same(values: Any) -> Any:
    return values
