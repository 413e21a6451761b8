"""Multi-agent worlds: one world as a PettingZoo parallel environment, or a batch of worlds with a dict of arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from worldloom.core.base.errors import InputError
from worldloom.core.base.not_copyable import NoShallowCopy
from worldloom.core.model.families import split
from worldloom.core.model.fields import Field, Role
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition
from worldloom.core.schedule.table_views import FINAL
from worldloom.core.simulation import Simulation
from worldloom.vector.checks import (
    DISCRETE_SPACES,
    check_action_keys,
    check_config_names,
    check_render_mode,
    check_reset_mask,
    check_reset_options,
    check_seeds,
)
from worldloom.vector.env_layout import combine_spaces, combine_values, component_space
from worldloom.vector.world_batch import WorldBatch, resolve_definition

try:
    from pettingzoo import ParallelEnv
except ImportError as missing:
    raise InputError("worlds as PettingZoo environments need its package: pip install 'pettingzoo>=1.25'") from missing

PerAgent = dict[str, Any]
"""One value per agent, or per kind of agent, by name."""


@dataclass(frozen=True)
class AgentKind:
    """A kind of entity that acts.

    Attributes:
        table, count: Its table, and the number of such entities in a world.
        observations, actions, rewards, infos: Its components and those of the world, by key, each with its table.
        flags: The table of its ``terminated`` and ``truncated``: its own if its entities end individually, or the
            world's.
        observation_space, action_space: The spaces of one agent.
    """

    table: str
    count: int
    observations: dict[str, tuple[str, Field]]
    actions: dict[str, tuple[str, Field]]
    rewards: dict[str, tuple[str, Field]]
    infos: dict[str, tuple[str, Field]]
    flags: str
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]


class WorldParallelVectorEnv(NoShallowCopy):
    """``num_envs`` copies of a multi-agent world: PettingZoo's parallel interface with one entry per kind of agent.

    Every kind of entity with an action is a kind of agent, under its own name in snake case. Arrays have the shape
    (num_envs, count, ...). Agents observe, and are rewarded by, their own components and those of the world. Where
    agents end individually the flags are per agent, and ``infos[kind]["active"]`` marks those still in the episode;
    otherwise the world's flags apply to all.

    With same-step autoreset ``infos[kind]["final_obs"]`` holds the last observations of the episodes that ended, and
    ``infos[kind]["_final_obs"]``, shape (num_envs,), masks their worlds.

    Args:
        world: The id of a registered world, or its definition.
        num_envs: Number of copies.
        device: ``cpu``, ``cuda:N``, ``auto`` or ``python``.
        options: ``seed``, ``autoreset``, ``threads``, ``backend``, ``copy``, ``config`` and ``exact``, as for
            :class:`worldloom.vector.adapters.gymnasium.WorldVectorEnv`.
    """

    def __init__(self, world: str | Definition, num_envs: int = 1, *, device: str = "cpu", **options: Any) -> None:
        definition = resolve_definition(world)
        self.kinds = _agent_kinds(definition)
        self.batch = WorldBatch.create(definition, num_envs, device, **options)
        if self.batch.simulation.definition.narrow:
            self.kinds = _agent_kinds(self.batch.simulation.definition)
        self.simulation = self.batch.simulation
        self.num_envs = num_envs
        self.metadata: dict[str, Any] = {
            "name": definition.id,
            "render_modes": [] if definition.render is None else ["rgb_array"],
            "render_fps": definition.frames_per_second,
        }

    def single_observation_space(self, kind: str) -> gymnasium.Space[Any]:
        """The space of one agent's observation in one world."""
        return self.kinds[kind].observation_space

    def single_action_space(self, kind: str) -> gymnasium.Space[Any]:
        """The space of one agent's action in one world."""
        return self.kinds[kind].action_space

    def observation_space(self, kind: str) -> gymnasium.Space[Any]:
        """The space of the observations of all agents of a kind in all worlds."""
        return batch_space(batch_space(self.single_observation_space(kind), self.kinds[kind].count), self.num_envs)

    def action_space(self, kind: str) -> gymnasium.Space[Any]:
        """The space of the actions of all agents of a kind in all worlds."""
        return batch_space(batch_space(self.single_action_space(kind), self.kinds[kind].count), self.num_envs)

    def reset(
        self, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[PerAgent, PerAgent]:
        """Start new episodes in all worlds, or in those of ``options["reset_mask"]``.

        Returns:
            The observations of all worlds, and infos.
        """
        mask = check_reset_options(options, ("reset_mask",)).get("reset_mask")
        if mask is not None:
            check_reset_mask(mask)
        self.simulation.reset(mask, check_seeds(seed, self.num_envs))
        return self._for_each_kind(self._observations), self._for_each_kind(self._infos)

    def step(self, actions: Mapping[str, Any]) -> tuple[PerAgent, PerAgent, PerAgent, PerAgent, PerAgent]:
        """Step every world. Returns observations, rewards, terminations, truncations and infos."""
        check_action_keys(actions, self.kinds)
        columns = {}
        for name, kind in self.kinds.items():
            for key, (table, component) in kind.actions.items():
                columns[f"{table}.{component.name}"] = actions[name][key] if len(kind.actions) > 1 else actions[name]
        self.simulation.step(columns)
        infos = self._for_each_kind(self._infos)
        if self.simulation.autoreset == "same_step":
            ended = self.batch.terminations() | self.batch.truncations()
            for name, kind in self.kinds.items():
                infos[name].update({"final_obs": self._observations(kind, FINAL), "_final_obs": ended})
        terminations, truncations = (
            {n: self._column(k, k.flags, flag) for n, k in self.kinds.items()} for flag in ("terminated", "truncated")
        )
        return (
            self._for_each_kind(self._observations),
            self._for_each_kind(self._rewards),
            terminations,
            truncations,
            infos,
        )

    def _for_each_kind(self, values: Callable[[AgentKind], Any]) -> PerAgent:
        return {name: values(kind) for name, kind in self.kinds.items()}

    def _column(self, kind: AgentKind, table: str, name: str) -> Any:
        """A column for every agent of a kind, shape (num_envs, count, ...); values of the world are repeated."""
        column = self.simulation.tables[table][name]
        values = self.batch.export(column, column.shape[1:])
        return self._repeat(values, kind.count) if table == "World" else values

    def _repeat(self, values: Any, count: int) -> Any:
        return (
            values[:, None].repeat(count, axis=1)
            if self.batch.backend == "numpy"
            else values[:, None].repeat_interleave(count, dim=1)
        )

    def _observations(self, kind: AgentKind, prefix: str = "") -> Any:
        return combine_values(
            {
                key: self._column(kind, table, prefix + component.name)
                for key, (table, component) in kind.observations.items()
            }
        )

    def _rewards(self, kind: AgentKind) -> Any:
        rewards = [self._column(kind, table, component.name) for table, component in kind.rewards.values()]
        return (
            sum(rewards[1:], rewards[0])
            if rewards
            else self._repeat(self.batch.all_worlds_mask(), kind.count) * np.float32(0.0)
        )

    def _infos(self, kind: AgentKind) -> dict[str, Any]:
        infos = {key: self._column(kind, table, component.name) for key, (table, component) in kind.infos.items()}
        end_individually = kind.flags != "World"
        infos["active"] = (
            self._column(kind, kind.table, "active")
            if end_individually
            else self._repeat(self.batch.all_worlds_mask(), kind.count)
        )
        return infos

    def close(self) -> None:
        self.simulation.close()

    def __enter__(self) -> WorldParallelVectorEnv:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Kinds of agents refer to the classes of the world, which a copy finds by its id."""
        return {name: value for name, value in self.__dict__.items() if name != "kinds"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.kinds = _agent_kinds(self.simulation.definition)


class WorldParallelEnv(NoShallowCopy, ParallelEnv):  # type: ignore[misc]
    """One world as a PettingZoo parallel environment. Agents are named after their kind: ``runner_0``, ``runner_1``.

    ``agents`` lists the agents still in the episode. An agent that has ended takes no action; the world uses action 0.

    Args:
        world: The id of a registered world, or its definition.
        device: ``cpu``, ``cuda:N``, or ``python`` to debug the world.
        seed: The seed until ``reset(seed=...)`` sets another.
        render_mode: ``rgb_array``, or None.
        config: Values of the world's configuration, and settings of worlds that have them:
            ``WorldParallelEnv("Boxing-v5", players=2)``.
    """

    def __init__(
        self,
        world: str | Definition,
        *,
        device: str = "cpu",
        seed: int | None = None,
        render_mode: str | None = None,
        **config: Any,
    ) -> None:
        if isinstance(world, str):
            settings, config = split(world, config)
            world = definition(world, **settings)
        check_config_names(world, config)
        self._vector = WorldParallelVectorEnv(world, 1, device=device, seed=seed, autoreset="disabled", config=config)
        self.metadata = self._vector.metadata
        check_render_mode(render_mode, self.simulation.definition, ("rgb_array",))
        self.render_mode = render_mode
        self._kind_and_slot = {
            f"{name}_{slot}": (name, slot) for name, kind in self._vector.kinds.items() for slot in range(kind.count)
        }
        self.possible_agents = list(self._kind_and_slot)
        self.agents = list(self.possible_agents)

    @property
    def simulation(self) -> Simulation:
        return self._vector.simulation

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self._vector.single_observation_space(self._kind_and_slot[agent][0])

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self._vector.single_action_space(self._kind_and_slot[agent][0])

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[PerAgent, PerAgent]:
        """Start a new episode. ``options`` are ignored: PettingZoo's conformance test passes arbitrary ones."""
        observations, infos = self._vector.reset(seed)
        self.agents = list(self.possible_agents)
        return self._split(observations), self._split(infos)

    def step(self, actions: Mapping[str, Any]) -> tuple[PerAgent, PerAgent, PerAgent, PerAgent, PerAgent]:
        if not self.agents:
            raise InputError("the episodes of all agents have ended: call reset() first")
        for agent in self.agents:
            space = self.action_space(agent)
            if agent not in actions or (isinstance(space, DISCRETE_SPACES) and not space.contains(actions[agent])):
                raise InputError(f"{agent} needs an action of {space}, not {actions.get(agent)!r}")
        observations, rewards, terminations, truncations, infos = map(
            self._split, self._vector.step(self._join(actions))
        )
        rewards, terminations, truncations = (
            {agent: to_type(value) for agent, value in values.items()}
            for to_type, values in ((float, rewards), (bool, terminations), (bool, truncations))
        )
        self.agents = [agent for agent in self.agents if not (terminations[agent] or truncations[agent])]
        return observations, rewards, terminations, truncations, infos

    def _split(self, batched: PerAgent) -> PerAgent:
        """The values of each agent still in the episode, out of the arrays of its kind."""
        return {
            agent: _agent_values(batched[self._kind_and_slot[agent][0]], self._kind_and_slot[agent][1])
            for agent in self.agents
        }

    def _join(self, actions: Mapping[str, Any]) -> PerAgent:
        """The actions of each kind, shape (1, count, ...)."""
        joined: PerAgent = {}
        for name, kind in self._vector.kinds.items():
            columns = {key: self.simulation.tables[t][c.name] for key, (t, c) in kind.actions.items()}
            arrays = {key: np.zeros(column.shape, column.dtype) for key, column in columns.items()}
            for agent in self.agents:
                agent_kind, slot = self._kind_and_slot[agent]
                if agent_kind == name:
                    for key, array in arrays.items():
                        array[0, slot] = actions[agent][key] if len(arrays) > 1 else actions[agent]
            joined[name] = combine_values(arrays)
        return joined

    def render(self) -> Any:
        draw = self.simulation.definition.render
        return None if self.render_mode is None or draw is None else draw(self.simulation, 0)

    def close(self) -> None:
        self._vector.close()


def _agent_values(values: Any, slot: int) -> Any:
    return (
        {key: _agent_values(value, slot) for key, value in values.items()}
        if isinstance(values, dict)
        else values[0, slot]
    )


def _agent_kinds(definition: Definition) -> dict[str, AgentKind]:
    """The kinds of entity with an action, by name."""
    if any(component.role is Role.ACTION for component in definition.world.fields.values()):
        raise InputError(
            f"world '{definition.id}' has an action component, which belongs to no agent: move it to a kind of entity"
        )
    kinds = {}
    definition.require_fixed((Role.ACTION, Role.OBSERVATION, Role.REWARD), "an environment")
    for kind in definition.entities:
        tables = {kind.__name__: kind.fields, "World": definition.world.fields}
        by_role: dict[Role, dict[str, tuple[str, Field]]] = {role: {} for role in Role}
        for table, fields in tables.items():
            for component in fields.values():
                own = by_role[component.role]
                own[component.name if component.name not in own else f"{table}.{component.name}"] = (table, component)
        if not by_role[Role.ACTION]:
            continue
        kinds[_snake_case(kind.__name__)] = AgentKind(
            kind.__name__,
            definition.rows[kind.__name__],
            observations=by_role[Role.OBSERVATION],
            actions=by_role[Role.ACTION],
            rewards=by_role[Role.REWARD],
            infos=by_role[Role.INFO],
            flags=kind.__name__ if definition.agents(kind) else "World",
            observation_space=_agent_space(by_role[Role.OBSERVATION]),
            action_space=_agent_space(by_role[Role.ACTION]),
        )
    if not kinds:
        raise InputError(f"world '{definition.id}' has no agents: give a kind of entity an action component")
    return kinds


def _agent_space(components: dict[str, tuple[str, Field]]) -> gymnasium.Space[Any]:
    return combine_spaces({key: component_space(c, c.value_shape) for key, (_, c) in components.items()})


def _snake_case(name: str) -> str:
    """``RedTank`` as ``red_tank``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
