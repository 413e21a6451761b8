"""Worlds as dm_env environments: a batch, in the form of EnvPool, or one alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.base.not_copyable import NoShallowCopy
from worldloom.core.registry.definition import Definition
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.simulation import Simulation
from worldloom.vector.adapters.base import VectorAdapter
from worldloom.vector.adapters.gymnasium import WorldVectorEnv
from worldloom.vector.checks import Backend, check_config_names
from worldloom.vector.env_layout import EnvComponent, combine_values
from worldloom.vector.world_batch import resolve_definition

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
        discounts = _discounts(terminations, infos)
        return dm_env.TimeStep(step_types, rewards, discounts, BatchedObservation(observations, self._ids))

    def observation_spec(self) -> Any:
        """The spec of one world's observation, beside that of its id."""
        return BatchedObservation(_observation_spec(self.worlds), specs.Array((), np.int32, "env_id"))

    def action_spec(self) -> Any:
        """The spec of one world's action."""
        return _action_spec(self.worlds)

    def reward_spec(self) -> Any:
        """The spec of one world's reward."""
        return _reward_spec(self.worlds)

    def discount_spec(self) -> Any:
        """The spec of one world's discount."""
        return _discount_spec()


class WorldDmEnv(NoShallowCopy, dm_env.Environment):  # type: ignore[misc]
    """One world as a dm_env environment, for loops of one environment such as Acme's.

    The first TimeStep of an episode has neither reward nor discount. The discount is 0 at a termination and 1 at a
    truncation, or that of the world's info component ``discount``. ``step`` after the last TimeStep, and before the
    first, ignores its action and starts an episode.

    Args:
        world: The id of a registered world, or its definition.
        device: ``cpu``, ``cuda:N``, ``auto`` or ``python``.
        seed: The seed of the episodes; None draws one from the operating system.
        config: Values of the world's configuration.
    """

    def __init__(self, world: str | Definition, *, device: str = "cpu", seed: int | None = None, **config: Any) -> None:
        world = resolve_definition(world)
        check_config_names(world, config)
        self._vector = WorldVectorEnv(
            world, 1, device=device, seed=seed, autoreset="disabled", config=config, gymnasium_types=False
        )
        self._between_episodes = True

    @property
    def simulation(self) -> Simulation:
        return self._vector.simulation

    def reset(self) -> dm_env.TimeStep:
        """Start a new episode."""
        observations, _ = self._vector.reset()
        self._between_episodes = False
        return dm_env.restart(_first_world(observations))

    def step(self, action: Any) -> dm_env.TimeStep:
        """Step the world with an action that conforms to :meth:`action_spec`."""
        if self._between_episodes:
            return self.reset()
        observations, rewards, terminations, truncations, infos = self._vector.step(_for_one_world(action))
        self._between_episodes = bool(terminations[0] | truncations[0])
        return dm_env.TimeStep(
            dm_env.StepType.LAST if self._between_episodes else dm_env.StepType.MID,
            rewards[0],
            _discounts(terminations, infos)[0],
            _first_world(observations),
        )

    def observation_spec(self) -> Any:
        return _observation_spec(self._vector)

    def action_spec(self) -> Any:
        return _action_spec(self._vector)

    def reward_spec(self) -> Any:
        return _reward_spec(self._vector)

    def discount_spec(self) -> Any:
        return _discount_spec()

    def close(self) -> None:
        """Release the world's memory."""
        self._vector.close()


def _discounts(terminations: np.ndarray[Any, Any], infos: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The discount of every world, shape (num_envs,): the info component of this name, or 0 at a termination."""
    return np.asarray(infos.get("discount", ~terminations), np.float32)


def _for_one_world(action: Any) -> Any:
    """An action, or a mapping of several components, with an axis of one world."""
    if isinstance(action, Mapping):
        return {key: np.asarray(value)[None] for key, value in action.items()}
    return np.asarray(action)[None]


def _first_world(values: Any) -> Any:
    return {key: value[0] for key, value in values.items()} if isinstance(values, dict) else values[0]


def _observation_spec(worlds: WorldVectorEnv) -> Any:
    return _specs(worlds, worlds.batch.layout.observations, "obs")


def _action_spec(worlds: WorldVectorEnv) -> Any:
    return _specs(worlds, worlds.batch.layout.actions, "action")


def _reward_spec(worlds: WorldVectorEnv) -> Any:
    return specs.Array((), worlds.batch.rewards().dtype, "reward")


def _discount_spec() -> Any:
    return specs.BoundedArray((), np.float32, 0.0, 1.0, "discount")


def _specs(worlds: WorldVectorEnv, components: list[EnvComponent], single_name: str) -> Any:
    """The spec of one world's values: that of a single component, called ``single_name``, or a dict of several."""
    names = [component.key for component in components] if len(components) > 1 else [single_name]
    return combine_values(
        {
            component.key: _spec(component.space, worlds.simulation.tables[component.table][component.name].dtype, name)
            for component, name in zip(components, names, strict=True)
        }
    )


def _spec(space: gymnasium.Space[Any], dtype: np.dtype[Any], name: str) -> Any:
    """The spec of values of ``space`` in a column of ``dtype``."""
    if isinstance(space, gymnasium.spaces.Discrete):
        return specs.DiscreteArray(int(space.n), dtype, name)
    if isinstance(space, gymnasium.spaces.MultiDiscrete):
        return specs.BoundedArray(space.shape, dtype, 0, space.nvec - 1, name)
    if isinstance(space, gymnasium.spaces.MultiBinary):
        return specs.BoundedArray(space.shape, dtype, False, True, name)
    assert isinstance(space, gymnasium.spaces.Box)
    return specs.BoundedArray(space.shape, dtype, space.low, space.high, name)
