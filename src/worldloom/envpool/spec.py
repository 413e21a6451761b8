"""``EnvSpec``: the arrays, spaces and config of a task, as EnvPool describes them."""

from __future__ import annotations

import functools
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.dtypes import SCALARS, scalar_of
from worldloom.envpool import atari_tasks
from worldloom.envpool.actions import SINGLE_ACTION
from worldloom.envpool.arguments import Arguments
from worldloom.envpool.dm_state import nesting_of
from worldloom.envpool.frame_stack import require_memory, stacked_space
from worldloom.envpool.state import INFO, OBSERVATION, STATE_INFOS
from worldloom.vector import registration
from worldloom.vector.env_layout import EnvComponent, EnvLayout, make_layout

PER_PLAYER = -1
"""The leading axis of arrays with one row per player, in the shapes of EnvPool's specs."""


@dataclass(frozen=True)
class ArraySpec:
    """Type, shape and bounds of one environment's row of an array."""

    dtype: np.dtype[Any]
    shape: list[int]
    minimum: Any
    maximum: Any
    is_discrete: bool = False


class EnvSpec:
    """The spec of a task.

    Args:
        arguments: The resolved arguments of ``make_spec``.
    """

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        self._layout = make_layout(arguments.definition)
        require_memory(self._layout, arguments.frame_stack, arguments.num_envs)

    @functools.cached_property
    def config(self) -> Any:
        """A named tuple of EnvPool's common arguments, the step limit and the settings of the task."""
        values = self.arguments.config
        return namedtuple("Config", [name.replace(".", "_") for name in values])(*values.values())

    @property
    def reward_threshold(self) -> float | None:
        """The return at which Gymnasium's environment of the same id counts as solved; None if it has none."""
        return registration.reward_threshold(self.arguments.definition.id)

    @functools.cached_property
    def action_array_spec(self) -> dict[str, ArraySpec]:
        """The arrays that ``send`` takes, by name."""
        single = len(self._layout.actions) == 1
        ids = {"env_id": _int_spec(()), "players.env_id": _int_spec((PER_PLAYER,))}
        return ids | {SINGLE_ACTION if single else c.key: self._component_spec(c, True) for c in self._layout.actions}

    @functools.cached_property
    def state_array_spec(self) -> dict[str, ArraySpec]:
        """The arrays that ``recv`` returns, by name."""
        flag, number = np.dtype(np.bool_), np.dtype(np.float32)
        specs = {"info:env_id": _int_spec(()), "info:players.env_id": _int_spec((PER_PLAYER,))}
        specs |= {"elapsed_step": _int_spec(()), "done": ArraySpec(flag, [], False, True)}
        specs |= {key: ArraySpec(number, [PER_PLAYER], -np.inf, np.inf) for key in ("reward", "discount")}
        specs |= {"step_type": _int_spec(()), "trunc": ArraySpec(flag, [], False, True)}
        single = len(self._layout.observations) == 1
        for component in self._layout.observations:
            specs["obs" if single else OBSERVATION + component.key] = self._stacked(component)
        return specs | {INFO + key: spec for key, spec in self._info_specs().items()}

    def _stacked(self, component: EnvComponent) -> ArraySpec:
        """The spec of an observation, with the axis of ``frame_stack``."""
        spec, count = self._component_spec(component, False), self.arguments.frame_stack
        if count == 1:
            return spec
        minimum, maximum = (
            bound if np.ndim(bound) == 0 else np.stack([bound] * count) for bound in (spec.minimum, spec.maximum)
        )
        return ArraySpec(spec.dtype, [count, *component.shape], minimum, maximum)

    def _info_specs(self) -> dict[str, ArraySpec]:
        definition = self.arguments.definition
        if not atari_tasks.is_atari(definition):
            infos = [component for component in self._layout.infos if component.key != "discount"]
            own = {component.key: self._component_spec(component, False) for component in infos}
            number = np.dtype(np.float32)
            states = {key: ArraySpec(number, [2], -np.inf, np.inf) for key in STATE_INFOS.get(definition.id, ())}
            return own | states
        return {
            "lives": _int_spec((PER_PLAYER,)),
            "reward": ArraySpec(np.dtype(np.float32), [PER_PLAYER], -np.inf, np.inf),
            "terminated": ArraySpec(np.dtype(np.int32), [PER_PLAYER], 0, 1, is_discrete=True),
            "ram": ArraySpec(np.dtype(np.uint8), [128], 0, 255),
        }

    def _component_spec(self, component: EnvComponent, action: bool) -> ArraySpec:
        definition, space = self.arguments.definition, component.space
        fields = {"World": definition.world.fields, **{k.__name__: k.fields for k in definition.entities}}
        dtype = np.dtype(SCALARS[scalar_of(fields[component.table][component.name].dtype)])
        per_player = [PER_PLAYER] if action or component.shape == () else []
        shape = [*per_player, *component.shape]
        if isinstance(space, gymnasium.spaces.Discrete):
            return ArraySpec(dtype, shape, int(space.start), int(space.start + space.n - 1), is_discrete=True)
        if isinstance(space, gymnasium.spaces.MultiDiscrete):
            return ArraySpec(dtype, shape, np.zeros_like(space.nvec), space.nvec - 1, is_discrete=True)
        if isinstance(space, gymnasium.spaces.Box):
            return ArraySpec(dtype, shape, _uniform(space.low), _uniform(space.high))
        return ArraySpec(dtype, shape, False, True)

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The space of one environment's observation."""
        return stacked_space(self._layout.observation_space, self.arguments.frame_stack)

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """The space of one environment's action."""
        return self._layout.action_space

    gymnasium_observation_space = observation_space
    gymnasium_action_space = action_space

    def observation_spec(self) -> Any:
        """dm_env specs of observations and infos: a named tuple with the fields of ``TimeStep.observation``."""
        specs = {k: _dm_spec(k, v) for k, v in self.state_array_spec.items() if k.startswith(("obs", "info"))}
        return nesting_of(specs)(specs)

    def action_spec(self) -> Any:
        """The dm_env spec of the action, or a dict of several."""
        specs = {k: _dm_spec(k, v) for k, v in self.action_array_spec.items() if not k.endswith("env_id")}
        return specs[SINGLE_ACTION] if SINGLE_ACTION in specs and len(specs) == 1 else specs

    @property
    def layout(self) -> EnvLayout:
        """The components of the world that an environment exposes."""
        return self._layout

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.arguments.config.items())
        return f"EnvSpec({self.arguments.definition.id}: {values})"


def _int_spec(shape: tuple[int, ...]) -> ArraySpec:
    return ArraySpec(np.dtype(np.int32), list(shape), minimum=-(2**31), maximum=2**31 - 1)


def _uniform(bounds: np.ndarray[Any, Any]) -> Any:
    """One number where all bounds are equal."""
    return bounds.flat[0].item() if bounds.size and (bounds == bounds.flat[0]).all() else bounds


def _dm_spec(key: str, spec: ArraySpec) -> Any:
    try:
        from dm_env import specs
    except ImportError:
        raise InputError("specs of dm_env need the package dm-env: pip install 'worldloom[compat]'") from None
    name, shape = key.replace(":", ".").split(".")[-1], [size for size in spec.shape if size != PER_PLAYER]
    if spec.is_discrete and not shape and spec.minimum == 0:
        return specs.DiscreteArray(spec.maximum + 1, spec.dtype, name)
    return specs.BoundedArray(shape, spec.dtype, spec.minimum, spec.maximum, name)
