"""Worlds as environments of RLlib: a batch of worlds, or one world with several agents."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.base.not_copyable import NoShallowCopy
from worldloom.core.simulation import Simulation
from worldloom.vector.adapters.base import stack_actions
from worldloom.vector.adapters.gymnasium import WorldVectorEnv
from worldloom.vector.adapters.pettingzoo import PerAgent, WorldParallelEnv
from worldloom.vector.checks import StepResult

try:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
except ImportError as missing:
    raise InputError("worlds for RLlib need its package: pip install 'worldloom[rllib]'") from missing

ALL_AGENTS = "__all__"
"""RLlib's key of the flag that ends the episode of all agents."""


class RllibVectorEnv(WorldVectorEnv):
    """A batch of worlds with next-step autoreset, for the class SingleAgentEnvRunner of RLlib.

    ``PPOConfig().environment(RllibVectorEnv, env_config={"world": "CartPole-v1"})``. RLlib passes the number of worlds,
    ``num_envs_per_env_runner``, with ``gym_env_vectorize_mode="vector_entry_point"`` only.

    Args:
        env_config: ``world``, its id; ``module``, the module that registers it, if worldloom does not contain it; and
            arguments of :class:`WorldVectorEnv`, such as ``device``, ``threads`` and ``config``. RLlib adds
            ``num_envs``.
    """

    def __init__(self, env_config: Mapping[str, Any]) -> None:
        if "num_envs" not in env_config:
            raise InputError(
                "RLlib would create the worlds one by one: "
                'set .env_runners(gym_env_vectorize_mode="vector_entry_point")'
            )
        super().__init__(**_arguments(env_config), autoreset="next_step")

    def step(self, actions: Any) -> StepResult:
        """Step every world. RLlib passes a list with the action of each."""
        return super().step(stack_actions(actions))


class RllibMultiAgentEnv(NoShallowCopy, MultiAgentEnv):  # type: ignore[misc]
    """One world with several agents, for the class MultiAgentEnvRunner of RLlib.

    Agents are those of :class:`WorldParallelEnv`: every entity of a kind with an action component, named after its
    kind, ``runner_0``. RLlib creates ``num_envs_per_env_runner`` of these environments.

    Args:
        env_config: ``world`` and ``module`` as for :class:`RllibVectorEnv`; ``device``, ``seed`` and ``render_mode`` as
            for :class:`WorldParallelEnv`; and ``config``, values of the world's configuration.
    """

    def __init__(self, env_config: Mapping[str, Any]) -> None:
        arguments = _arguments(env_config)
        self._env = WorldParallelEnv(**arguments.pop("config", {}), **arguments)
        definition = self._env.simulation.definition
        if any(population.agents for population in definition.populations.values()):
            raise InputError(
                f"the agents of world '{definition.id}' come and go, but RLlib takes an episode for ended when all "
                "agents that it knows have ended: use RllibVectorEnv, whose rows are padded"
            )
        self.possible_agents = list(self._env.possible_agents)
        self.agents = list(self.possible_agents)
        self.observation_spaces = {agent: self._env.observation_space(agent) for agent in self.possible_agents}
        self.action_spaces = {agent: self._env.action_space(agent) for agent in self.possible_agents}
        self.metadata, self.render_mode = dict(self._env.metadata), self._env.render_mode
        super().__init__()

    @property
    def simulation(self) -> Simulation:
        return self._env.simulation

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[PerAgent, PerAgent]:
        """Start a new episode. Returns the observations and infos of all agents."""
        observations, infos = self._env.reset(seed=seed, options=options)
        self.agents = list(self._env.agents)
        return observations, infos

    def step(self, action_dict: Mapping[str, Any]) -> tuple[PerAgent, PerAgent, PerAgent, PerAgent, PerAgent]:
        """Step the world. Afterwards ``agents`` are those that have acted, whose results these are.

        The episode is over when its last agents have left it. If some of them were truncated, the flag of all agents
        says so instead of their own: RLlib takes an episode for terminated if every agent has a flag of its own, and
        would not bootstrap.
        """
        self.agents = list(self._env.agents)
        observations, rewards, terminations, truncations, infos = self._env.step(action_dict)
        over = not self._env.agents
        truncated = over and any(truncations[agent] and not terminations[agent] for agent in truncations)
        if over:
            truncations = dict.fromkeys(truncations, False)
        terminations[ALL_AGENTS], truncations[ALL_AGENTS] = over and not truncated, truncated
        return observations, rewards, terminations, truncations, infos

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()


def _arguments(env_config: Mapping[str, Any]) -> dict[str, Any]:
    """``env_config`` as keyword arguments of an environment, after the import of the module that registers the world.

    Raises InputError if it names no world.
    """
    if "world" not in env_config:
        raise InputError("env_config needs the world's id: .environment(..., env_config={'world': 'CartPole-v1'})")
    arguments = dict(env_config)
    if module := arguments.pop("module", None):
        importlib.import_module(module)  # processes of RLlib's workers have imported worldloom only
    return arguments
