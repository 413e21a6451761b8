"""Worlds as a vectorised environment of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.fields import Role
from worldloom.core.registry.registry import Definition
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as missing:
    raise InputError("worlds for Stable-Baselines3 need its package: pip install 'stable-baselines3>=2.7'") from missing


class Sb3VectorEnv(VecEnv):  # type: ignore[misc]
    """A batch of worlds. Worlds that ended start anew in the same step, as Stable-Baselines3 expects.

    ``infos[i]["terminal_observation"]`` is then the last observation of the episode that ended in world i, and
    ``infos[i]["TimeLimit.truncated"]`` says whether it was cut off rather than brought to its end.

    The attributes of a world are its configuration: ``set_attr("force", 5.0, indices=[0, 1])`` sets it for two of the worlds.
    """

    def __init__(
        self,
        world: str | Definition,
        num_envs: int = 1,
        *,
        device: str = "cpu",
        seed: int | Sequence[int] | None = None,
        threads: int | None = None,
        render_mode: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.env = WorldVectorEnv(
            world, num_envs, device=device, seed=seed, threads=threads, render_mode=render_mode, config=config
        )
        self._actions: Any = None
        super().__init__(num_envs, self.env.single_observation_space, self.env.single_action_space)

    def reset(self) -> Any:
        observations, infos = self.env.reset(seed=None if None in self._seeds else self._seeds)
        self.reset_infos = self._infos_per_world(infos)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: np.ndarray[Any, Any]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray[Any, Any], np.ndarray[Any, Any], list[dict[str, Any]]]:
        observations, rewards, terminations, truncations, infos = self.env.step(self._actions)
        over = terminations | truncations
        rows = self._infos_per_world(infos)
        for i in np.flatnonzero(over).tolist():
            rows[i]["terminal_observation"] = _world_values(infos["final_obs"], i)
            rows[i]["TimeLimit.truncated"] = bool(truncations[i] and not terminations[i])
            rows[i].update({leaf.key: infos["final_info"][leaf.key][i] for leaf in self.env.batch.layout.infos})
        return observations, rewards, over, rows

    def _infos_per_world(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """The info components of each world, as a dict of its own."""
        keys = [leaf.key for leaf in self.env.batch.layout.infos]
        return [{key: infos[key][i] for key in keys} for i in range(self.num_envs)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        chosen = list(self._get_indices(indices))
        if self._is_config(attr_name):
            values = self.env.simulation.world[attr_name].numpy()
            return [values[i if len(values) > 1 else 0] for i in chosen]
        return [getattr(self.env, attr_name)] * len(chosen)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        if not self._is_config(attr_name):
            raise InputError(f"'{attr_name}' cannot be set: the attributes of a world are its configuration")
        if indices is None:
            self.env.simulation.set_config(attr_name, value)
            return
        values = np.stack(self.get_attr(attr_name))
        values[list(self._get_indices(indices))] = value
        self.env.simulation.set_config(attr_name, values)

    def _is_config(self, name: str) -> bool:
        column = self.env.simulation.world.columns.get(name)
        return column is not None and column.field.role is Role.CONFIG

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        raise InputError(f"there is no method '{method_name}' to call: a world has components, see env.simulation")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray[Any, Any] | None]:
        return self.env.render() or [None] * self.num_envs

    def close(self) -> None:
        self.env.close()


def _world_values(values: Any, i: int) -> Any:
    return {key: value[i] for key, value in values.items()} if isinstance(values, dict) else values[i]
