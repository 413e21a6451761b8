"""Worlds of many agents: one world as a PettingZoo parallel environment, or a batch of worlds with a dict of arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from worldloom.core.base.errors import InputError
from worldloom.core.model.families import split
from worldloom.core.model.fields import Field, Role
from worldloom.core.registry.registry import Definition, definition
from worldloom.core.schedule.lifecycle import FINAL
from worldloom.core.schedule.schedule import Autoreset
from worldloom.core.simulation import Simulation
from worldloom.vector.env_layout import component_space, make_layout
from worldloom.vector.world_batch import Backend, WorldBatch

try:
    from pettingzoo import ParallelEnv
except ImportError as missing:
    raise InputError("worlds as PettingZoo environments need its package: pip install 'pettingzoo>=1.25'") from missing

DISCRETE_SPACES = (gymnasium.spaces.Discrete, gymnasium.spaces.MultiDiscrete)
PerAgent = dict[str, Any]
"""Something for every agent, or for every kind of agent, by name."""


@dataclass(frozen=True)
class AgentKind:
    """A kind of entity that acts.

    Attributes:
        table, count: Its table, and how many there are in a world.
        observations, actions, rewards, infos: Its components and those of the world, by key, each with its table.
        flags: The table of its ``terminated`` and ``truncated``: its own where its entities leave one by one, or the world's.
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


class WorldParallelVectorEnv:
    """``num_envs`` copies of a world of many agents: PettingZoo's parallel interface with one entry per kind of agent.

    Every kind of entity with an action is a kind of agent, under its own name in small letters. Arrays have the shape (num_envs, count, ...).
    Agents observe, and are rewarded by, their own components and those of the world. Where agents leave the episode one by one the flags are
    their own, and ``infos[kind]["active"]`` says who is still there; otherwise the world's flags count for all.

    With same-step autoreset ``infos[kind]["final_obs"]`` holds the last observations of the episodes that ended, and
    ``infos[kind]["_final_obs"]``, shape (num_envs,), says in which worlds.

    Args:
        world: The id of a registered world, or its definition.
        num_envs: How many copies.
        device, seed, autoreset, threads, backend, copy, config, exact: As for :class:`worldloom.vector.adapters.gymnasium.WorldVectorEnv`.
    """

    def __init__(
        self,
        world: str | Definition,
        num_envs: int = 1,
        *,
        device: str = "cpu",
        seed: int | None = None,
        autoreset: Autoreset = "same_step",
        threads: int | None = None,
        backend: Backend = "numpy",
        copy: bool = True,
        config: Mapping[str, Any] | None = None,
        exact: bool = False,
    ) -> None:
        made = definition(world) if isinstance(world, str) else world
        self.kinds = _agent_kinds(made)
        self.simulation = Simulation(
            made,
            num_envs,
            device,
            seed=seed,
            autoreset=autoreset,
            threads=threads,
            config=config,
            exact=exact,
            share=False,
        )
        self.batch = WorldBatch(self.simulation, make_layout(made), backend, copy)
        self.num_envs = num_envs
        self.metadata: dict[str, Any] = {
            "name": made.id,
            "render_modes": [] if made.render is None else ["rgb_array"],
            "render_fps": made.frames_per_second,
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
        """Start new episodes: in all worlds, or in those of ``options["reset_mask"]``. Returns the observations of all worlds, and infos."""
        self.simulation.reset((options or {}).get("reset_mask"), None if seed is None else np.asarray(seed))
        return self._for_each_kind(self._observations), self._for_each_kind(self._infos)

    def step(self, actions: Mapping[str, Any]) -> tuple[PerAgent, PerAgent, PerAgent, PerAgent, PerAgent]:
        """Take one step in every world. Returns observations, rewards, terminations, truncations and infos."""
        if set(actions) != set(self.kinds):
            raise InputError(f"actions are a mapping with the keys {', '.join(self.kinds)}")
        taken = {}
        for name, kind in self.kinds.items():
            for key, (table, component) in kind.actions.items():
                taken[f"{table}.{component.name}"] = actions[name][key] if len(kind.actions) > 1 else actions[name]
        self.simulation.step(taken)
        infos = self._for_each_kind(self._infos)
        if self.simulation.autoreset == "same_step":
            over = self.batch.terminations() | self.batch.truncations()
            for name, kind in self.kinds.items():
                infos[name].update({"final_obs": self._observations(kind, FINAL), "_final_obs": over})
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

    def _for_each_kind(self, found: Callable[[AgentKind], Any]) -> PerAgent:
        return {name: found(kind) for name, kind in self.kinds.items()}

    def _column(self, kind: AgentKind, table: str, name: str) -> Any:
        """A column for every agent of a kind, shape (num_envs, count, ...); each has a copy of what is the world's."""
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
        parts = {
            key: self._column(kind, table, prefix + component.name)
            for key, (table, component) in kind.observations.items()
        }
        return next(iter(parts.values())) if len(parts) == 1 else parts

    def _rewards(self, kind: AgentKind) -> Any:
        found = [self._column(kind, table, component.name) for table, component in kind.rewards.values()]
        return (
            sum(found[1:], found[0])
            if found
            else self._repeat(self.batch.all_worlds_mask(), kind.count) * np.float32(0.0)
        )

    def _infos(self, kind: AgentKind) -> dict[str, Any]:
        infos = {key: self._column(kind, table, component.name) for key, (table, component) in kind.infos.items()}
        leaving = kind.flags != "World"
        return {
            **infos,
            "active": self._column(kind, kind.table, "active")
            if leaving
            else self._repeat(self.batch.all_worlds_mask(), kind.count),
        }

    def close(self) -> None:
        self.simulation.close()


class WorldParallelEnv(ParallelEnv):  # type: ignore[misc]
    """One world as a PettingZoo parallel environment. Its agents are called after their kinds: ``runner_0``, ``runner_1``.

    ``agents`` are those still in the episode. Who has left takes no action any more; the world goes on with choice 0 for it.

    Args:
        world: The id of a registered world, or its definition.
        device: ``cpu``, ``cuda:N``, or ``python`` to debug the world.
        seed: The seed until ``reset(seed=...)`` gives another.
        render_mode: ``rgb_array``, or None.
        config: Values of the world's configuration, and settings of worlds that have them: ``WorldParallelEnv("Boxing-v5", players=2)``.
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
        self._vector = WorldParallelVectorEnv(world, 1, device=device, seed=seed, autoreset="disabled", config=config)
        self.metadata = self._vector.metadata
        if render_mode not in (None, "rgb_array"):
            raise InputError(f"render_mode must be 'rgb_array' or None, not {render_mode!r}")
        if render_mode is not None and self.simulation.definition.render is None:
            raise InputError(
                f"world '{self.metadata['name']}' has no renderer: register it with render=..., or leave render_mode out"
            )
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
        observations, infos = self._vector.reset(seed)
        self.agents = list(self.possible_agents)
        return self._split(observations), self._split(infos)

    def step(self, actions: Mapping[str, Any]) -> tuple[PerAgent, PerAgent, PerAgent, PerAgent, PerAgent]:
        if not self.agents:
            raise InputError("all agents have left: call reset() first")
        for agent in self.agents:
            space = self.action_space(agent)
            if agent not in actions or (isinstance(space, DISCRETE_SPACES) and not space.contains(actions[agent])):
                raise InputError(f"{agent} needs an action of {space}, not {actions.get(agent)!r}")
        observations, rewards, terminations, truncations, infos = map(
            self._split, self._vector.step(self._join(actions))
        )
        rewards, terminations, truncations = (
            {a: kind(v) for a, v in d.items()}
            for kind, d in ((float, rewards), (bool, terminations), (bool, truncations))
        )
        self.agents = [agent for agent in self.agents if not (terminations[agent] or truncations[agent])]
        return observations, rewards, terminations, truncations, infos

    def _split(self, batched: PerAgent) -> PerAgent:
        """What each agent that is still there has, out of the arrays for its kind."""
        return {
            agent: _agent_values(batched[self._kind_and_slot[agent][0]], self._kind_and_slot[agent][1])
            for agent in self.agents
        }

    def _join(self, actions: Mapping[str, Any]) -> PerAgent:
        """The actions of each kind, shape (1, count, ...)."""
        joined: PerAgent = {}
        for name, kind in self._vector.kinds.items():
            parts = {
                key: np.zeros(self.simulation.tables[t][c.name].shape, self.simulation.tables[t][c.name].dtype)
                for key, (t, c) in kind.actions.items()
            }
            for agent in self.agents:
                for key, part in parts.items():
                    if self._kind_and_slot[agent][0] == name:
                        part[0, self._kind_and_slot[agent][1]] = (
                            actions[agent][key] if len(parts) > 1 else actions[agent]
                        )
            joined[name] = parts if len(parts) > 1 else next(iter(parts.values()))
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


def _agent_kinds(made: Definition) -> dict[str, AgentKind]:
    """The kinds of entity with an action, by name."""
    if any(component.role is Role.ACTION for component in made.world.fields.values()):
        raise InputError(f"world '{made.id}' has an action of its own, which is nobody's: give it to a kind of entity")
    found = {}
    made.require_fixed((Role.ACTION, Role.OBSERVATION, Role.REWARD), "an environment")
    for kind in made.entities:
        tables = {kind.__name__: kind.fields, "World": made.world.fields}
        by_role: dict[Role, dict[str, tuple[str, Field]]] = {role: {} for role in Role}
        for table, fields in tables.items():
            for component in fields.values():
                own = by_role[component.role]
                own[component.name if component.name not in own else f"{table}.{component.name}"] = (table, component)
        if not by_role[Role.ACTION]:
            continue
        found[_snake_case(kind.__name__)] = AgentKind(
            kind.__name__,
            made.rows[kind.__name__],
            observations=by_role[Role.OBSERVATION],
            actions=by_role[Role.ACTION],
            rewards=by_role[Role.REWARD],
            infos=by_role[Role.INFO],
            flags=kind.__name__ if made.agents(kind) else "World",
            observation_space=_combine_spaces(by_role[Role.OBSERVATION]),
            action_space=_combine_spaces(by_role[Role.ACTION]),
        )
    if not found:
        raise InputError(f"world '{made.id}' has no agents: give a kind of entity an action component")
    return found


def _combine_spaces(components: dict[str, tuple[str, Field]]) -> gymnasium.Space[Any]:
    spaces = {key: component_space(component, component.value_shape) for key, (_, component) in components.items()}
    return next(iter(spaces.values())) if len(spaces) == 1 else gymnasium.spaces.Dict(spaces)


def _snake_case(name: str) -> str:
    """``RedTank`` as ``red_tank``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
