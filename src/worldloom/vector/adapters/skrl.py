"""Worlds as a wrapped environment of skrl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import torch

from worldloom.core.base.errors import InputError
from worldloom.vector.adapters.base import VectorAdapter
from worldloom.vector.adapters.gymnasium import WorldVectorEnv
from worldloom.vector.checks import DISCRETE_SPACES

try:
    from skrl.envs.wrappers.torch import Wrapper
    from skrl.utils.spaces.torch import flatten_tensorized_space, tensorize_space, unflatten_tensorized_space
except ImportError as missing:
    raise InputError("worlds for skrl need its package: pip install 'skrl>=2'") from missing


class SkrlVectorEnv(VectorAdapter, Wrapper):  # type: ignore[misc]
    """A batch of worlds as tensors on their device; observations are flat, shape (num_envs, n).

    With same-step autoreset skrl uses the first observation of the new episode as the next observation of the last
    step. This is harmless at a termination. For truncations with ``time_limit_bootstrap`` pass
    ``autoreset="next_step"``: the next observation is then the last one of the old episode, and the step after it is
    spent on the reset.

    Args: As for :class:`worldloom.vector.adapters.base.VectorAdapter`, ``render_mode``, and ``autoreset``:
        ``same_step`` or ``next_step``.
    """

    OPTIONS = frozenset({"autoreset", "render_mode"})

    def _connect(self, worlds: WorldVectorEnv, config: Mapping[str, Any]) -> None:
        if worlds.simulation.autoreset == "disabled":
            raise InputError("skrl does not reset worlds: pass autoreset='same_step' or 'next_step'")
        Wrapper.__init__(self, worlds)
        self._numeric_observation_space = _binaries_as_box(worlds.single_observation_space)
        self._device = worlds.batch.terminations().device
        self._has_reset = False

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The space of one world's observation, with MultiBinary as a Box from 0 to 1: skrl supports no MultiBinary."""
        return self._numeric_observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """The space of one world's action."""
        return self.worlds.single_action_space

    def reset(self) -> tuple[torch.Tensor, dict[str, Any]]:
        """Start the first episodes. Later calls return the current observations: the worlds reset themselves."""
        self.worlds.batch.check_open()
        if self._has_reset:
            return self._flatten_observations(self.worlds.batch.observations()), self.worlds.batch.infos()
        self._has_reset = True
        observations, infos = self.worlds.reset()
        return self._flatten_observations(observations), infos

    def step(
        self, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Step every world; rewards and flags have the shape (num_envs, 1)."""
        values = unflatten_tensorized_space(self.action_space, actions)
        if isinstance(self.action_space, gymnasium.spaces.Dict):  # one tensor holds discrete and continuous parts
            values = {
                key: value.long() if isinstance(self.action_space[key], DISCRETE_SPACES) else value
                for key, value in values.items()
            }
        observations, rewards, terminations, truncations, infos = self.worlds.step(values)
        return (
            self._flatten_observations(observations),
            rewards.unsqueeze(-1),
            terminations.unsqueeze(-1),
            truncations.unsqueeze(-1),
            infos,
        )

    def _flatten_observations(self, observations: Any) -> torch.Tensor:
        flat: torch.Tensor = flatten_tensorized_space(
            tensorize_space(self.observation_space, observations, device=self.device)
        )
        return flat.float() if flat.dtype == torch.bool else flat

    def state(self) -> torch.Tensor | None:
        """Worlds have no state apart from their observations."""
        return None

    def render(self, *_: Any, **__: Any) -> Any:
        return self.worlds.render()


def _binaries_as_box(space: gymnasium.Space[Any]) -> gymnasium.Space[Any]:
    if isinstance(space, gymnasium.spaces.Dict):
        return gymnasium.spaces.Dict({key: _binaries_as_box(subspace) for key, subspace in space.items()})
    return gymnasium.spaces.Box(0.0, 1.0, space.shape) if isinstance(space, gymnasium.spaces.MultiBinary) else space
