"""Worlds as a vectorised environment of rl_games."""

from __future__ import annotations

from typing import Any

import gymnasium
import torch

from worldloom.core.base.errors import InputError
from worldloom.vector.adapters.base import VectorAdapter

try:
    from rl_games.common import env_configurations, vecenv
    from rl_games.common.ivecenv import IVecEnv
except ImportError as missing:
    raise InputError("worlds for rl_games need its package: pip install 'rl-games>=1.6.5'") from missing


class RlGamesVectorEnv(VectorAdapter, IVecEnv):  # type: ignore[misc]
    """A batch of worlds as tensors on their device, with same-step autoreset.

    ``infos["time_outs"]`` marks the worlds whose episode was truncated, not terminated. With ``value_bootstrap: True``
    rl_games adds the value of the observation before the last to their reward. ``infos["final_obs"]`` holds the last
    observations.

    Args: As for :class:`worldloom.vector.adapters.base.VectorAdapter`.
    """

    env = VectorAdapter.worlds

    def reset(self) -> Any:
        observations, _ = self.worlds.reset()
        return observations

    def step(self, actions: torch.Tensor) -> tuple[Any, torch.Tensor, torch.Tensor, dict[str, Any]]:
        observations, rewards, terminations, truncations, infos = self.worlds.step(actions)
        infos["time_outs"] = truncations & ~terminations
        return observations, rewards, terminations | truncations, infos

    def get_env_info(self) -> dict[str, Any]:
        actions = self.worlds.single_action_space
        if isinstance(actions, gymnasium.spaces.MultiDiscrete):  # rl_games supports several choices only as a Tuple
            actions = gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(int(n)) for n in actions.nvec.ravel()])
        return {
            "observation_space": self.worlds.single_observation_space,
            "action_space": actions,
            "agents": 1,
            "value_size": 1,
        }

    def seed(self, seed: int) -> None:
        self.worlds.reset(seed=seed)


def register(name: str = "worldloom") -> None:
    """Register worlds with rl_games as ``env_name: worldloom``.

    ``env_config`` of rl_games' configuration then holds the arguments of :class:`RlGamesVectorEnv`.
    """
    vecenv.register(name.upper(), lambda _, num_actors, **arguments: RlGamesVectorEnv(num_envs=num_actors, **arguments))
    env_configurations.register(
        name, {"vecenv_type": name.upper(), "env_creator": lambda **arguments: RlGamesVectorEnv(**arguments)}
    )
