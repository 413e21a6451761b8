"""Worlds as dm_env environments, batched as EnvPool batches them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.registry.registry import Definition
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

try:
    import dm_env
    from dm_env import specs
except ImportError as missing:
    raise InputError("env_type='dm' needs the package dm-env: pip install 'worldloom[compat]'") from missing


class BatchedObservation(NamedTuple):
    """What dm_env users of pools expect under ``TimeStep.observation``."""

    obs: Any
    env_id: np.ndarray[Any, Any]


class DmVectorEnv(dm_env.Environment):  # type: ignore[misc]
    """A batch of worlds; every field of a TimeStep has a leading axis of ``num_envs``. Worlds that ended start anew in the next step."""

    def __init__(
        self,
        world: str | Definition,
        num_envs: int = 1,
        *,
        device: str = "cpu",
        seed: int | Sequence[int] | None = None,
        threads: int | None = None,
        config: Mapping[str, Any] | None = None,
        exact: bool = False,
    ) -> None:
        self._env = WorldVectorEnv(
            world,
            num_envs,
            device=device,
            seed=seed,
            autoreset="next_step",
            threads=threads,
            config=config,
            exact=exact,
        )
        self.num_envs = num_envs
        self._ended = np.zeros(num_envs, np.bool_)
        self._ids = np.arange(num_envs, dtype=np.int32)

    def reset(self) -> dm_env.TimeStep:
        observations, _ = self._env.reset()
        self._ended[:] = False
        kinds = np.full(self.num_envs, int(dm_env.StepType.FIRST), np.int32)
        zeros = np.zeros(self.num_envs, np.float32)
        return dm_env.TimeStep(
            kinds, zeros, np.ones(self.num_envs, np.float32), BatchedObservation(observations, self._ids)
        )

    def step(self, action: Any) -> dm_env.TimeStep:
        observations, rewards, terminations, truncations, infos = self._env.step(action)
        over = terminations | truncations
        kinds = np.where(over, int(dm_env.StepType.LAST), int(dm_env.StepType.MID))
        kinds = np.where(self._ended, int(dm_env.StepType.FIRST), kinds).astype(np.int32)
        self._ended = over
        discounts = infos.get("discount", 1.0 - terminations.astype(np.float32))  # a world may have one of its own
        return dm_env.TimeStep(kinds, rewards, discounts, BatchedObservation(observations, self._ids))

    def observation_spec(self) -> Any:
        return BatchedObservation(_spec(self._env.single_observation_space, "obs"), specs.Array((), np.int32, "env_id"))

    def action_spec(self) -> Any:
        return _spec(self._env.single_action_space, "action")

    def close(self) -> None:
        self._env.close()


def _spec(space: gymnasium.Space[Any], name: str) -> Any:
    if isinstance(space, gymnasium.spaces.Discrete):
        return specs.DiscreteArray(int(space.n), np.int32, name)
    if isinstance(space, gymnasium.spaces.Dict):
        return {k: _spec(v, k) for k, v in space.items()}
    if isinstance(space, gymnasium.spaces.MultiDiscrete):
        return specs.BoundedArray(space.shape, space.dtype, 0, space.nvec - 1, name)
    if isinstance(space, gymnasium.spaces.MultiBinary):
        return specs.BoundedArray(space.shape, space.dtype, 0, 1, name)
    assert isinstance(space, gymnasium.spaces.Box)
    return specs.BoundedArray(space.shape, space.dtype, space.low, space.high, name)
