"""One turn-based world as a PettingZoo environment with one agent at a time (agent environment cycle)."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.base.not_copyable import NoShallowCopy
from worldloom.core.registry.definition import Definition
from worldloom.core.simulation import Simulation
from worldloom.vector.adapters.pettingzoo import PerAgent, WorldParallelEnv
from worldloom.vector.checks import DISCRETE_SPACES

try:
    from pettingzoo import AECEnv
except ImportError as missing:
    raise InputError("worlds as PettingZoo environments need its package: pip install 'pettingzoo>=1.25'") from missing

TURN = "turn"
"""The component of a turn-based world with the id of the agent whose turn it is."""


class WorldAecEnv(NoShallowCopy, AECEnv):  # type: ignore[misc]
    """One turn-based world as a PettingZoo environment in which one agent acts at a time.

    The world has one kind of agent and a component ``turn``, the id of the agent to act; it ignores the actions of all
    others. An action that ``action_mask`` forbids is an error, and leaves the world as it was.

    Args:
        world: The id of a registered world, or its definition.
        render_mode: ``rgb_array``, ``human`` or None, as in :class:`WorldParallelEnv`.
        options: ``device``, ``seed`` and the world's configuration, as in :class:`WorldParallelEnv`:
            ``WorldAecEnv("Hanabi-v0", players=3)``.
    """

    def __init__(self, world: str | Definition, *, render_mode: str | None = None, **options: Any) -> None:
        super().__init__()
        self._parallel = WorldParallelEnv(world, render_mode=render_mode, **options)
        definition = self.simulation.definition
        if TURN not in definition.world.fields or len(definition.entities) != 1:
            raise InputError(
                f"world '{definition.id}' is not turn-based: it needs one kind of agent and a component '{TURN}' of "
                "the world, the id of the agent to act; use WorldParallelEnv"
            )
        if definition.populations:
            raise InputError(
                f"the number of agents of world '{definition.id}' varies, and WorldAecEnv needs a fixed one: "
                "use pettingzoo.utils.parallel_to_aec(WorldParallelEnv(...))"
            )
        self.metadata = {**self._parallel.metadata, "is_parallelizable": True}
        self.render_mode = render_mode
        self.possible_agents = list(self._parallel.possible_agents)
        self._observations: PerAgent = {}

    @property
    def simulation(self) -> Simulation:
        return self._parallel.simulation

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self._parallel.observation_space(agent)

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self._parallel.action_space(agent)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new episode. ``options`` are ignored: PettingZoo's conformance test passes arbitrary ones."""
        self._observations, self.infos = self._parallel.reset(seed, options)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.agent_selection = self._agent_to_act()

    def observe(self, agent: str) -> Any:
        """The last observation of an agent, also while others act."""
        return self._observations[agent]

    def step(self, action: Any) -> None:
        """Take the turn of the selected agent; None for an agent whose episode has ended."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._check_action(agent, action)
        actions = {one: self._ignored_action(one) for one in self.agents} | {agent: action}
        self._observations, self.rewards, self.terminations, self.truncations, self.infos = self._parallel.step(actions)
        self._cumulative_rewards[agent] = 0.0
        self._accumulate_rewards()
        self.agent_selection = self._agent_to_act()

    def _agent_to_act(self) -> str:
        return str(self.possible_agents[int(self.simulation.world[TURN].numpy()[0])])

    def _ignored_action(self, agent: str) -> Any:
        """An action for an agent whose turn it is not: zeros."""
        space = self.action_space(agent)
        return np.zeros(space.shape or (), space.dtype) if not isinstance(space, gymnasium.spaces.Discrete) else 0

    def _check_action(self, agent: str, action: Any) -> None:
        space, seen = self.action_space(agent), self._observations[agent]
        if isinstance(space, DISCRETE_SPACES) and not space.contains(action):
            raise InputError(f"{agent} needs an action of {space}, not {action!r}")
        mask = seen.get("action_mask") if isinstance(seen, dict) else None
        if mask is not None and isinstance(space, gymnasium.spaces.Discrete) and not mask[action]:
            raise InputError(f"{agent} may not take action {action} now: its action_mask allows {_allowed(mask)}")

    def render(self) -> Any:
        return self._parallel.render()

    def close(self) -> None:
        self._parallel.close()


def _allowed(mask: Any) -> str:
    return ", ".join(map(str, np.flatnonzero(mask)))
