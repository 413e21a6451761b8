"""Worlds as a vectorised environment of rsl_rl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import torch

from worldloom.core.base.errors import InputError
from worldloom.vector.adapters.base import VectorAdapter
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

try:
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict
except ImportError as missing:
    raise InputError("worlds for rsl_rl need its package: pip install 'rsl-rl-lib>=5'") from missing


class RslRlVectorEnv(VectorAdapter, VecEnv):  # type: ignore[misc]
    """A batch of worlds as tensors on their device, with same-step autoreset.

    Each observation component is an observation group, shape (num_envs, n); a single one is called ``"policy"``.
    ``extras["time_outs"]`` marks the worlds whose episode was truncated, not terminated. rsl_rl adds the value of the
    observation before the last to their reward. ``env.batch.final_observations()`` holds the last observations.

    rsl_rl's policies output real numbers. They are clipped to the bounds of a continuous action. For a discrete action
    of n choices they are n scores, and the highest is taken.

    Args: As for :class:`worldloom.vector.adapters.base.VectorAdapter`.
    """

    env = VectorAdapter.worlds

    def _connect(self, worlds: WorldVectorEnv, config: Mapping[str, Any]) -> None:
        self.batch = worlds.batch
        self.num_envs = worlds.num_envs
        self.device = self.batch.terminations().device
        self.cfg = {"world": worlds.simulation.definition.id, **config}
        space = worlds.single_action_space
        if isinstance(space, gymnasium.spaces.Discrete):
            self.num_actions = int(space.n)
        elif isinstance(space, gymnasium.spaces.Box):
            self.num_actions = int(torch.Size(space.shape).numel())
            self._low, self._high = (
                torch.as_tensor(bound, device=self.device).reshape(-1) for bound in (space.low, space.high)
            )
        else:
            raise InputError(
                "rsl_rl's policies output real numbers or choose one of n: "
                f"the world '{self.cfg['world']}' takes {space}"
            )

    @property
    def unwrapped(self) -> RslRlVectorEnv:
        return self

    @property
    def max_episode_length(self) -> int | torch.Tensor:
        """Steps after which an episode is truncated; a tensor where the worlds differ."""
        limits = self.worlds.simulation.world["max_steps"].torch()
        return int(limits[0]) if len(limits) == 1 else limits

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Steps since each world's reset, shape (num_envs,). rsl_rl sets it to desynchronize the first episodes."""
        steps: torch.Tensor = self.worlds.simulation.world["step"].torch()
        return steps

    @episode_length_buf.setter
    def episode_length_buf(self, steps: torch.Tensor) -> None:
        self.worlds.simulation.world["step"].assign(steps)

    def get_observations(self) -> TensorDict:
        return self._observation_groups(self.batch.observations())

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        env_actions = (
            actions.argmax(-1)
            if isinstance(self.worlds.single_action_space, gymnasium.spaces.Discrete)
            else actions.clamp(self._low, self._high)
        )
        observations, rewards, terminations, truncations, infos = self.worlds.step(env_actions)
        log = {f"/{component.key}": infos[component.key].float().mean() for component in self.batch.layout.infos}
        return (
            self._observation_groups(observations),
            rewards,
            terminations | truncations,
            {"time_outs": truncations & ~terminations, "log": log},
        )

    def _observation_groups(self, observations: Any) -> TensorDict:
        groups = observations if isinstance(observations, Mapping) else {"policy": observations}
        return TensorDict(
            {k: v.reshape(self.num_envs, -1).float() for k, v in groups.items()}, [self.num_envs], device=self.device
        )
