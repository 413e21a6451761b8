"""Worlds as a vectorised environment of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.fields import Role
from worldloom.vector.adapters.base import VectorAdapter
from worldloom.vector.adapters.gymnasium import WorldVectorEnv
from worldloom.vector.checks import Backend

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as missing:
    raise InputError("worlds for Stable-Baselines3 need its package: pip install 'stable-baselines3>=2.7'") from missing


class Sb3VectorEnv(VectorAdapter, VecEnv):  # type: ignore[misc]
    """A batch of worlds with same-step autoreset, as Stable-Baselines3 expects.

    ``infos[i]["terminal_observation"]`` is the last observation of the episode that ended in world i.
    ``infos[i]["TimeLimit.truncated"]`` is True if that episode was truncated, not terminated.

    Worlds with an action mask have ``action_masks``, as sb3-contrib's MaskablePPO expects.

    The attributes of a world are its configuration: ``set_attr("force", 5.0, indices=[0, 1])`` sets it for two worlds.

    Args: As for :class:`worldloom.vector.adapters.base.VectorAdapter`, and ``render_mode``.
    """

    BACKEND: ClassVar[Backend] = "numpy"
    OPTIONS = frozenset({"render_mode"})
    env = VectorAdapter.worlds

    def _connect(self, worlds: WorldVectorEnv, config: Mapping[str, Any]) -> None:
        self._actions: Any = None
        VecEnv.__init__(self, worlds.num_envs, worlds.single_observation_space, worlds.single_action_space)

    def reset(self) -> Any:
        observations, infos = self.worlds.reset(seed=None if None in self._seeds else self._seeds)
        self.reset_infos = self._infos_per_world(infos)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: np.ndarray[Any, Any]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray[Any, Any], np.ndarray[Any, Any], list[dict[str, Any]]]:
        observations, rewards, terminations, truncations, infos = self.worlds.step(self._actions)
        ended = terminations | truncations
        rows = self._infos_per_world(infos)
        for i in np.flatnonzero(ended).tolist():
            rows[i]["terminal_observation"] = _world_values(infos["final_obs"], i)
            rows[i]["TimeLimit.truncated"] = bool(truncations[i] and not terminations[i])
            rows[i].update({key: infos["final_info"][key][i] for key in self._info_keys()})
        return observations, rewards, ended, rows

    def _infos_per_world(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """The info components of each world, as one dict per world."""
        keys = self._info_keys()
        return [{key: infos[key][i] for key in keys} for i in range(self.num_envs)]

    def _info_keys(self) -> list[str]:
        return [component.key for component in self.worlds.batch.layout.infos]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        chosen = list(self._get_indices(indices))
        if self._is_config(attr_name):
            values = self.worlds.simulation.world[attr_name].numpy()
            return [values[i if len(values) > 1 else 0] for i in chosen]
        return [getattr(self.worlds, attr_name)] * len(chosen)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        if not self._is_config(attr_name):
            raise InputError(f"'{attr_name}' cannot be set: the attributes of a world are its configuration")
        if indices is None:
            self.worlds.simulation.set_config(attr_name, value)
            return
        values = np.stack(self.get_attr(attr_name))
        values[list(self._get_indices(indices))] = value
        self.worlds.simulation.set_config(attr_name, values)

    def _is_config(self, name: str) -> bool:
        column = self.worlds.simulation.world.all_columns.get(name)
        return column is not None and column.field.role is Role.CONFIG

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """``action_masks``, for MaskablePPO: one array of the allowed choices per world."""
        if method_name == "action_masks":
            masks = self.worlds.action_masks()
            return [masks[i] for i in self._get_indices(indices)]
        raise InputError(
            f"there is no method '{method_name}' to call: a world has components, see env.worlds.simulation"
        )

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray[Any, Any] | None]:
        return self.worlds.render() or [None] * self.num_envs


def _world_values(values: Any, i: int) -> Any:
    return {key: value[i] for key, value in values.items()} if isinstance(values, dict) else values[i]
