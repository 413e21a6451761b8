"""Pools with Gymnasium's functions, and with those of gym before version 0.26."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.envpool.pool import EnvPool
from worldloom.envpool.spec import EnvSpec
from worldloom.envpool.state import INFO, OBSERVATION, State
from worldloom.vector.checks import AUTORESET_MODES, check_reset_options


class GymnasiumEnvPool(EnvPool, gymnasium.vector.VectorEnv[Any, Any, Any], gymnasium.Env[Any, Any]):  # type: ignore[misc]
    """A pool whose ``step`` returns observations, rewards, terminations, truncations and infos.

    ``observation_space`` and ``action_space`` are those of one environment, as in EnvPool. Infos hold ``env_id``,
    ``players``, ``elapsed_step`` and the infos of the task, without Gymnasium's masks. As in EnvPool, a pool is an
    ``Env`` too, so that wrappers of single environments accept it.

    Args:
        spec: The spec of the task.
    """

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self.num_envs = len(self)
        self.is_vector_env = True  # for wrappers of older versions; programs assign it too
        self.render_mode = spec.arguments.render["render_mode"]
        self.metadata = {
            "render_modes": [] if spec.arguments.definition.render is None else ["rgb_array"],
            "autoreset_mode": AUTORESET_MODES["next_step"],
        }
        self.observation_space = self.single_observation_space = spec.observation_space
        self.action_space = self.single_action_space = spec.action_space
        reader = self._engine.groups[0].reader
        self._info_keys = [(field.key.removeprefix(INFO), field.key) for field in reader.infos]
        keys = [field.key for field in reader.observations]
        self._observation_keys = None if len(keys) == 1 else [(key.removeprefix(OBSERVATION), key) for key in keys]

    def __str__(self) -> str:
        return repr(self)  # that of Gymnasium reads spec.id, which a spec of EnvPool does not have

    def reset(self, env_id: Any = None, *, seed: Any = None, options: dict[str, Any] | None = None) -> Any:  # type: ignore[override]
        """Reset the environments of ``env_id`` or of ``options["reset_mask"]``, or all.

        Returns:
            The observations of those environments, and infos.
        """
        if seed is not None:
            warnings.warn("reset(seed=...) is ignored: pass seed to envpool.make", stacklevel=2)
        mask = check_reset_options(options, ("reset_mask",)).get("reset_mask")
        if mask is not None:
            if env_id is not None:
                raise InputError("pass env_id or options['reset_mask'], not both")
            mask = np.asarray(mask, np.bool_)
            if mask.shape != (len(self),) or not mask.any():
                raise InputError(f"a reset mask has shape ({len(self)},) and selects at least one environment")
            env_id = np.flatnonzero(mask)
        return super().reset(env_id)

    def _observations_and_info(self, state: State) -> tuple[Any, dict[str, Any]]:
        info: dict[str, Any] = {
            "env_id": state["info:env_id"],
            "players": {"env_id": state["info:players.env_id"]},
            "elapsed_step": state["elapsed_step"],
        }
        for name, key in self._info_keys:
            info[name] = state[key]
        if self._observation_keys is None:
            return state["obs"], info
        return {name: state[key] for name, key in self._observation_keys}, info

    def _to(self, state: State, reset: bool) -> Any:
        observations, info = self._observations_and_info(state)
        if reset:
            return observations, info
        truncated = state["trunc"]
        terminated = state["done"] > truncated  # done and not truncated
        return observations, state["reward"], terminated, truncated, info


class GymEnvPool(GymnasiumEnvPool):
    """A pool with the functions of gym before version 0.26, which EnvPool's paper and CleanRL use.

    ``reset`` returns observations, and infos too if ``gym_reset_return_info`` is True; ``step`` returns observations,
    rewards, ends and infos. ``info["TimeLimit.truncated"]`` is True where the end is a truncation.
    """

    def _to(self, state: State, reset: bool) -> Any:
        observations, info = self._observations_and_info(state)
        info["TimeLimit.truncated"] = state["trunc"]
        if reset:
            return (observations, info) if self.config["gym_reset_return_info"] else observations
        return observations, state["reward"], state["done"], info
