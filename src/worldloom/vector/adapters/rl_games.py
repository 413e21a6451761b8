"""Worlds as a vectorised environment of rl_games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.registry.registry import Definition
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

try:
    from rl_games.common import env_configurations, vecenv
    from rl_games.common.ivecenv import IVecEnv
except ImportError as missing:
    raise InputError("worlds for rl_games need its package: pip install 'rl-games>=1.6.5'") from missing


class RlGamesVectorEnv(IVecEnv):  # type: ignore[misc]
    """A batch of worlds, as tensors on their device. Worlds that ended start anew in the same step.

    ``infos["time_outs"]`` are the worlds whose episode was cut off rather than brought to its end; with ``value_bootstrap: True``
    rl_games adds the value of their last observation but one to the reward. ``infos["final_obs"]`` has the last ones.
    """

    def __init__(
        self,
        world: str | Definition,
        num_envs: int = 1,
        *,
        device: str = "cpu",
        seed: int | Sequence[int] | None = None,
        threads: int | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.env = WorldVectorEnv(
            world, num_envs, device=device, seed=seed, threads=threads, backend="torch", config=config
        )

    def reset(self) -> Any:
        observations, _ = self.env.reset()
        return observations

    def step(self, actions: torch.Tensor) -> tuple[Any, torch.Tensor, torch.Tensor, dict[str, Any]]:
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        infos["time_outs"] = truncations & ~terminations
        return observations, rewards, terminations | truncations, infos

    def get_env_info(self) -> dict[str, Any]:
        actions = self.env.single_action_space
        if isinstance(actions, gymnasium.spaces.MultiDiscrete):  # rl_games knows several choices only as a tuple
            actions = gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(int(n)) for n in actions.nvec.ravel()])
        return {
            "observation_space": self.env.single_observation_space,
            "action_space": actions,
            "agents": 1,
            "value_size": 1,
        }

    def seed(self, seed: int) -> None:
        self.env.reset(seed=seed)

    def close(self) -> None:
        self.env.close()


def register(name: str = "worldloom") -> None:
    """Let rl_games know worlds under ``env_name: worldloom``; its ``env_config`` then holds the arguments of :class:`RlGamesVectorEnv`."""
    vecenv.register(name.upper(), lambda _, num_actors, **arguments: RlGamesVectorEnv(num_envs=num_actors, **arguments))
    env_configurations.register(
        name, {"vecenv_type": name.upper(), "env_creator": lambda **arguments: RlGamesVectorEnv(**arguments)}
    )
