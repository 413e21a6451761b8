"""Multi-agent worlds: one world as a PettingZoo parallel environment, or a batch of worlds with a dict of arrays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from worldloom.core.base.errors import InputError
from worldloom.core.base.not_copyable import NoShallowCopy
from worldloom.core.model.agent_rows import ENTITY
from worldloom.core.model.families import split
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition
from worldloom.core.schedule.table_views import FINAL
from worldloom.core.simulation import Simulation
from worldloom.vector.adapters.agent_kinds import AgentKind, agent_kinds
from worldloom.vector.adapters.agent_names import NAMES_PER_ROW, AgentNames
from worldloom.vector.checks import (
    DISCRETE_SPACES,
    check_action_keys,
    check_config_names,
    check_render_mode,
    check_reset_mask,
    check_reset_options,
    check_seeds,
)
from worldloom.vector.choice_masks import ChoiceMask, mask_space
from worldloom.vector.env_layout import combine_values
from worldloom.vector.render_modes import make_observer
from worldloom.vector.world_batch import WorldBatch, resolve_definition

try:
    from pettingzoo import ParallelEnv
except ImportError as missing:
    raise InputError("worlds as PettingZoo environments need its package: pip install 'pettingzoo>=1.25'") from missing

PETTINGZOO_RENDER_MODES = ("human", "rgb_array")
"""The render modes of worlds with a renderer."""
PerAgent = dict[str, Any]
"""One value per agent, or per kind of agent, by name."""


class WorldParallelVectorEnv(NoShallowCopy):
    """``num_envs`` copies of a multi-agent world: PettingZoo's parallel interface with one entry per kind of agent.

    Every kind of entity with an action is a kind of agent, under its own name in snake case. Arrays have the shape
    (num_envs, count, ...). Agents observe, and are rewarded by, their own components and those of the world. Where
    agents end individually the flags are per agent, and ``infos[kind]["active"]`` marks those still in the episode;
    otherwise the world's flags apply to all. The rows of a population are padded: ``active`` marks those with an agent,
    the others have zeros as observations, and their actions are ignored.

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
        self.kinds = agent_kinds(definition)
        self.batch = WorldBatch.create(definition, num_envs, device, **options)
        if self.batch.simulation.definition.narrow:
            self.kinds = agent_kinds(self.batch.simulation.definition)
        self.simulation = self.batch.simulation
        self.num_envs = num_envs
        self.metadata: dict[str, Any] = {
            "name": definition.id,
            "render_modes": [] if definition.render is None else list(PETTINGZOO_RENDER_MODES),
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
        self.batch.check_open()
        mask = check_reset_options(options, ("reset_mask",)).get("reset_mask")
        if mask is not None:
            check_reset_mask(mask)
        self.simulation.reset(mask, check_seeds(seed, self.num_envs))
        return self._for_each_kind(self._observations), self._for_each_kind(self._infos)

    def step(self, actions: Mapping[str, Any]) -> tuple[PerAgent, PerAgent, PerAgent, PerAgent, PerAgent]:
        """Step every world. Returns observations, rewards, terminations, truncations and infos."""
        self.batch.check_open()
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
        self.kinds = agent_kinds(self.simulation.definition)


class WorldParallelEnv(NoShallowCopy, ParallelEnv):  # type: ignore[misc]
    """One world as a PettingZoo parallel environment. Agents are named after their kind: ``runner_0``, ``runner_1``.

    ``agents`` lists the agents still in the episode. An agent that has ended takes no action; the world uses action 0.
    The agents of a population come and go: a removed one is terminated, with zeros as its last observation, and a new
    one has a new name, the next number of its kind in the episode. While a world has no agents, it is stepped with no
    actions.

    Args:
        world: The id of a registered world, or its definition.
        device: ``cpu``, ``cuda:N``, or ``python`` to debug the world.
        seed: The seed until ``reset(seed=...)`` sets another.
        render_mode: ``rgb_array``; ``human`` to show every reset and step in a window or the terminal; or None.
        max_agents: Names of each population among ``possible_agents``; None for 100 per row, or for fewer where the
            world's step limit allows no more. The episode of all agents is truncated when a name is missing.
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
        max_agents: int | None = None,
        **config: Any,
    ) -> None:
        if isinstance(world, str):
            settings, config = split(world, config)
            world = definition(world, **settings)
        check_config_names(world, config)
        self._vector = WorldParallelVectorEnv(world, 1, device=device, seed=seed, autoreset="disabled", config=config)
        self.metadata = self._vector.metadata
        check_render_mode(render_mode, self.simulation.definition, PETTINGZOO_RENDER_MODES)
        self.render_mode = render_mode
        self._observer = make_observer(render_mode, self.simulation)
        self._populations = {name: kind.table for name, kind in self._vector.kinds.items() if kind.varies}
        self._names = self._make_names(max_agents)
        self.possible_agents = list(self._names.possible)
        self._names.begin(self._serials())
        self.agents = list(self._names.rows)
        self._action_spaces = {
            agent: copy.deepcopy(self._vector.single_action_space(kind))
            for agent, (kind, _) in self._names.rows.items()
            if kind not in self._populations
        }
        self._bind_masks()

    def _bind_masks(self) -> None:
        """Make samples of the action spaces allowed ones, where agents have a mask."""
        for agent, space in self._action_spaces.items():
            kind, row = self._names.rows[agent]
            actions = self._vector.kinds[kind].actions
            masks = {key: ChoiceMask(self.simulation, t, c.name, row) for key, (t, c) in actions.items()}
            self._action_spaces[agent] = mask_space(space, masks)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind_masks()

    @property
    def simulation(self) -> Simulation:
        return self._vector.simulation

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self._vector.single_observation_space(self._names.kinds[agent])

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        shared = self._vector.single_action_space(self._names.kinds[agent])
        return self._action_spaces.get(agent, shared)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[PerAgent, PerAgent]:
        """Start a new episode. ``options`` are ignored: PettingZoo's conformance test passes arbitrary ones."""
        observations, infos = self._vector.reset(seed)
        self._names.begin(self._serials())
        self.agents = list(self._names.rows)
        if self._observer is not None:
            self._observer.update()
        return self._split(observations, self.agents), self._split(infos, self.agents)

    def step(self, actions: Mapping[str, Any]) -> tuple[PerAgent, PerAgent, PerAgent, PerAgent, PerAgent]:
        self._vector.batch.check_open()
        if not self.agents and (self._names.used_up or not self._populations or self._world_ended()):
            raise InputError("the episodes of all agents have ended: call reset() first")
        for agent in self.agents:
            space = self.action_space(agent)
            if agent not in actions or (isinstance(space, DISCRETE_SPACES) and not space.contains(actions[agent])):
                raise InputError(f"{agent} needs an action of {space}, not {actions.get(agent)!r}")
        results = self._vector.step(self._join(actions))
        if self._observer is not None:
            self._observer.update()
        observations, rewards, terminations, truncations, infos = (self._split(part, self.agents) for part in results)
        rewards, terminations, truncations = (
            {agent: to_type(value) for agent, value in values.items()}
            for to_type, values in ((float, rewards), (bool, terminations), (bool, truncations))
        )
        self.agents = [agent for agent in self.agents if not (terminations[agent] or truncations[agent])]
        if self._populations:
            gone, new = self._names.update(self._serials())
            for agent in gone & set(observations):  # another agent may hold the row already
                observations[agent], infos[agent] = _zeros(observations[agent]), {"active": np.False_}
                terminations[agent], truncations[agent] = True, False
            if not self._world_ended():
                observations |= self._split(results[0], new)
                infos |= self._split(results[-1], new)
                rewards |= dict.fromkeys(new, 0.0)
                terminations |= dict.fromkeys(new, False)
                truncations |= dict.fromkeys(new, False)
                self.agents += new
            if self._names.used_up:
                truncations |= dict.fromkeys(self.agents, True)
                self.agents = []
        return observations, rewards, terminations, truncations, infos

    def _world_ended(self) -> bool:
        return bool(self.simulation.terminated.numpy()[0] or self.simulation.truncated.numpy()[0])

    def _make_names(self, max_agents: int | None) -> AgentNames:
        kinds = self._vector.kinds
        if max_agents is not None:
            if not self._populations:
                raise InputError(
                    f"the number of agents of world '{self.simulation.definition.id}' is fixed: leave max_agents out"
                )
            rows = max(kinds[name].count for name in self._populations)
            if max_agents < rows:
                raise InputError(f"max_agents is {max_agents}, but a world may have {rows} agents at once: raise it")
        limit = int(self.simulation.world["max_steps"].numpy()[0])
        lives = min(NAMES_PER_ROW, limit + 1) if limit else NAMES_PER_ROW
        most = {name: max_agents or lives * kinds[name].count for name in self._populations}
        return AgentNames({name: kind.count for name, kind in kinds.items()}, most)

    def _serials(self) -> dict[str, list[int]]:
        """The serial numbers of the agents in the rows of each population."""
        tables = self.simulation.tables
        return {name: tables[table][ENTITY].numpy()[0].tolist() for name, table in self._populations.items()}

    def _split(self, batched: PerAgent, agents: Sequence[str]) -> PerAgent:
        """The values of each of ``agents``, out of the arrays of its kind."""
        places = {agent: self._names.rows[agent] for agent in agents}
        return {agent: _agent_values(batched[kind], row) for agent, (kind, row) in places.items()}

    def _join(self, actions: Mapping[str, Any]) -> PerAgent:
        """The actions of each kind, shape (1, count, ...)."""
        joined: PerAgent = {}
        for name, kind in self._vector.kinds.items():
            columns = {key: self.simulation.tables[t][c.name] for key, (t, c) in kind.actions.items()}
            arrays = {key: np.zeros(column.shape, column.dtype) for key, column in columns.items()}
            for agent in self.agents:
                agent_kind, slot = self._names.rows[agent]
                if agent_kind == name:
                    for key, array in arrays.items():
                        array[0, slot] = actions[agent][key] if len(arrays) > 1 else actions[agent]
            joined[name] = combine_values(arrays)
        return joined

    def render(self) -> Any:
        self._vector.batch.check_open()
        draw = self.simulation.definition.render
        return draw(self.simulation, 0) if self.render_mode == "rgb_array" and draw is not None else None

    def close(self) -> None:
        if self._observer is not None:
            self._observer.close()
        self._vector.close()


def _agent_values(values: Any, slot: int) -> Any:
    return (
        {key: _agent_values(value, slot) for key, value in values.items()}
        if isinstance(values, dict)
        else values[0, slot]
    )


def _zeros(values: Any) -> Any:
    """Zeros in the form of an agent's observation."""
    return {key: _zeros(value) for key, value in values.items()} if isinstance(values, dict) else np.zeros_like(values)
