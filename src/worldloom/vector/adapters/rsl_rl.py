"""Worlds as a vectorised environment of rsl_rl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.registry.registry import Definition
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

try:
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict
except ImportError as missing:
    raise InputError("worlds for rsl_rl need its package: pip install 'rsl-rl-lib>=5'") from missing


class RslRlVectorEnv(VecEnv):  # type: ignore[misc]
    """A batch of worlds, as tensors on their device. Worlds that ended start anew in the same step.

    Each observation component is a group of observations, shape (num_envs, n); a single one is called ``"policy"``.
    ``extras["time_outs"]`` are the worlds whose episode was cut off rather than brought to its end; rsl_rl adds the value of their
    last observation but one to the reward. ``env.batch.final_observations()`` has the last ones.

    rsl_rl's policies give real numbers. They are held within the bounds of the action; where the action is a choice of n, they are n
    scores, and the highest is chosen.
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
        self.batch = self.env.batch
        self.num_envs = num_envs
        self.device = self.batch.terminations().device
        self.cfg = {"world": self.env.simulation.definition.id, **(config or {})}
        space = self.env.single_action_space
        if isinstance(space, gymnasium.spaces.Discrete):
            self.num_actions = int(space.n)
        elif isinstance(space, gymnasium.spaces.Box):
            self.num_actions = int(torch.Size(space.shape).numel())
            self._low, self._high = (
                torch.as_tensor(bound, device=self.device).reshape(-1) for bound in (space.low, space.high)
            )
        else:
            raise InputError(
                f"rsl_rl's policies give real numbers or choose one of n: the world '{self.cfg['world']}' takes {space}"
            )

    @property
    def unwrapped(self) -> RslRlVectorEnv:
        return self

    @property
    def max_episode_length(self) -> int | torch.Tensor:
        """Steps after which an episode is cut off; a tensor where the worlds differ."""
        limits = self.env.simulation.world["max_steps"].torch()
        return int(limits[0]) if len(limits) == 1 else limits

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Steps since each world's reset, shape (num_envs,). rsl_rl sets it to spread the ends of the first episodes."""
        steps: torch.Tensor = self.env.simulation.world["step"].torch()
        return steps

    @episode_length_buf.setter
    def episode_length_buf(self, steps: torch.Tensor) -> None:
        self.env.simulation.world["step"].assign(steps)

    def get_observations(self) -> TensorDict:
        return self._observation_groups(self.batch.observations())

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        chosen = (
            actions.argmax(-1)
            if isinstance(self.env.single_action_space, gymnasium.spaces.Discrete)
            else actions.clamp(self._low, self._high)
        )
        observations, rewards, terminations, truncations, infos = self.env.step(chosen)
        log = {f"/{leaf.key}": infos[leaf.key].float().mean() for leaf in self.batch.layout.infos}
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

    def close(self) -> None:
        self.env.close()
