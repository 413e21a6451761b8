"""Worlds as dm_env environments, batched as EnvPool batches them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.schedule.entries import Autoreset
from worldloom.vector.adapters.base import VectorAdapter
from worldloom.vector.adapters.gymnasium import WorldVectorEnv
from worldloom.vector.world_batch import Backend

try:
    import dm_env
    from dm_env import specs
except ImportError as missing:
    raise InputError("env_type='dm' needs the package dm-env: pip install 'worldloom[compat]'") from missing


class BatchedObservation(NamedTuple):
    """``TimeStep.observation``: the observations and the ids of their environments, as EnvPool nests them."""

    obs: Any
    env_id: np.ndarray[Any, Any]


class DmVectorEnv(VectorAdapter, dm_env.Environment):  # type: ignore[misc]
    """A batch of worlds with next-step autoreset; every field of a TimeStep has a leading axis of ``num_envs``.

    Args: As for :class:`worldloom.vector.adapters.base.VectorAdapter`, and ``exact``.
    """

    BACKEND: ClassVar[Backend] = "numpy"
    AUTORESET: ClassVar[Autoreset] = "next_step"
    OPTIONS = frozenset({"exact"})

    def _connect(self, worlds: WorldVectorEnv, config: Mapping[str, Any]) -> None:
        self.num_envs = worlds.num_envs
        self._ended = np.zeros(worlds.num_envs, np.bool_)
        self._ids = np.arange(worlds.num_envs, dtype=np.int32)

    def reset(self) -> dm_env.TimeStep:
        observations, _ = self.worlds.reset()
        self._ended[:] = False
        step_types = np.full(self.num_envs, int(dm_env.StepType.FIRST), np.int32)
        zeros = np.zeros(self.num_envs, np.float32)
        return dm_env.TimeStep(
            step_types, zeros, np.ones(self.num_envs, np.float32), BatchedObservation(observations, self._ids)
        )

    def step(self, action: Any) -> dm_env.TimeStep:
        observations, rewards, terminations, truncations, infos = self.worlds.step(action)
        ended = terminations | truncations
        step_types = np.where(ended, int(dm_env.StepType.LAST), int(dm_env.StepType.MID))
        step_types = np.where(self._ended, int(dm_env.StepType.FIRST), step_types).astype(np.int32)
        self._ended = ended
        discounts = infos.get("discount", 1.0 - terminations.astype(np.float32))  # a world may define its own
        return dm_env.TimeStep(step_types, rewards, discounts, BatchedObservation(observations, self._ids))

    def observation_spec(self) -> Any:
        return BatchedObservation(
            _spec(self.worlds.single_observation_space, "obs"), specs.Array((), np.int32, "env_id")
        )

    def action_spec(self) -> Any:
        return _spec(self.worlds.single_action_space, "action")


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
