"""Evaluation: finished policies play whole episodes, without learning."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.actions.distributions import to_env_action
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.device.torch_settings import use_torch_settings

MAX_WORLDS = 1024
"""Worlds that play side by side; further episodes follow in the same ones."""


class Actor(Protocol):
    """Anything that chooses actions: (observations, state, mask) to (actions, state), all with a row per agent."""

    def initial_state(self, rows: int, device: torch.device | str) -> torch.Tensor:
        """The memory with which episodes begin, shape (rows, size)."""

    def act(
        self, observations: Mapping[str, torch.Tensor], state: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions of shape (rows, width), and the memory afterwards."""


class Evaluation:
    """Finished policies at play.

    Args:
        simulation: The worlds.
        players: Who plays whom, by name.
    """

    def __init__(self, simulation: Simulation, actors: Mapping[str, tuple[AgentGroup, Actor]]) -> None:
        self.simulation, self.actors = simulation, dict(actors)
        self._states = {
            name: actor.initial_state(agent_group.rows, agent_group.device)
            for name, (agent_group, actor) in actors.items()
        }

    def step(self) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Everybody acts once. Returns the worlds whose episode ended, bool [worlds], and what each agent got, by policy, [rows]."""
        with torch.no_grad():
            return self._step()

    def _step(self) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        present = {}
        for name, (agent_group, actor) in self.actors.items():
            present[name] = agent_group.active().clone()
            actions, self._states[name] = actor.act(
                {key: now.clone() for key, now in agent_group.observations().items()},
                self._states[name],
                agent_group.mask(),
            )
            taken, memory = to_env_action(agent_group.spec.action, actions), agent_group.action_view()
            agent_group.write_actions(taken) if memory is None else memory.copy_(taken)
        self.simulation.step()
        ended = self.simulation.terminated.torch() | self.simulation.truncated.torch()
        got = {}
        for name, (agent_group, _) in self.actors.items():
            got[name] = torch.nan_to_num(agent_group.rewards().float()) * present[name]
            self._states[name] = self._states[name] * ~agent_group.world_ended()[:, None]
        return ended, got


@dataclass(frozen=True)
class EvaluationResult:
    """What came of some episodes.

    Attributes:
        episodes: How many.
        mean_return, std_return, least_return, greatest_return: Of the undiscounted returns, per agent; the spread is NaN for a single one.
        mean_length: Steps per episode.
        steps_per_second: World steps of these episodes over wall time.
        returns: Mean return by policy.
    """

    episodes: int
    mean_return: float
    std_return: float
    least_return: float
    greatest_return: float
    mean_length: float
    steps_per_second: float
    returns: dict[str, float]


def evaluate(
    simulation: Simulation,
    actors: Mapping[str, tuple[AgentGroup, Actor]],
    episodes: int,
    on_progress: Callable[[int], None] | None = None,
    max_steps: int = 1_000_000,
) -> EvaluationResult:
    """Play ``episodes`` whole episodes. How many a world plays is settled beforehand, so that short ones are not favoured.

    Args:
        simulation: Fresh worlds with same-step autoreset.
        players: Who plays whom, by name.
        episodes: How many; each world plays its share, and the first ones one more where it does not come out even.
        tell: Called after every step with the number of finished episodes.
        most_steps: Steps after which a world that never ends is given up.
    """
    if episodes < 1:
        raise InputError(f"at least one episode must be played, not {episodes}")
    agent_group = [played for played, _ in actors.values()]
    numbers = max(s.rows * sum(part.features for part in s.spec.observations.values()) for s in agent_group)
    with use_torch_settings(agent_group[0].device, numbers):
        return _play(simulation, actors, episodes, on_progress, max_steps)


def _play(
    simulation: Simulation,
    actors: Mapping[str, tuple[AgentGroup, Actor]],
    episodes: int,
    on_progress: Callable[[int], None] | None,
    max_steps: int,
) -> EvaluationResult:
    match, worlds = Evaluation(simulation, actors), simulation.num_worlds
    device = next(iter(actors.values()))[0].device
    left = episodes // worlds + (torch.arange(worlds, device=device) < episodes % worlds).long()
    lengths = torch.zeros(worlds, dtype=torch.int64, device=device)
    running = {
        name: torch.zeros(agent_group.rows, dtype=torch.float64, device=device)
        for name, (agent_group, _) in actors.items()
    }
    finished: dict[str, list[torch.Tensor]] = {name: [] for name in actors}
    start, steps, total_length = time.perf_counter(), 0, 0
    while (waiting := int(left.sum())) > 0:
        if on_progress is not None:
            on_progress(episodes - waiting)
        if steps >= max_steps:
            raise InputError(
                f"an episode did not end within {max_steps} steps: give the world a time limit with max_steps"
            )
        ended, got = match.step()
        counted = ended & (left > 0)
        for name, (agent_group, _) in actors.items():
            running[name] += got[name]
            by_world = running[name].view(worlds, agent_group.agents)
            finished[name].append(by_world[counted].flatten())
            by_world *= ~ended[:, None]
        lengths += 1
        total_length += int(lengths[counted].sum())
        lengths *= ~ended
        left -= counted.long()
        steps += 1
    seconds = time.perf_counter() - start
    if on_progress is not None:
        on_progress(episodes)
    by_policy = {name: torch.cat(parts).cpu() for name, parts in finished.items()}
    everything = torch.cat(list(by_policy.values()))
    return EvaluationResult(
        episodes,
        float(everything.mean()),
        float(everything.std()) if len(everything) > 1 else math.nan,
        float(everything.min()),
        float(everything.max()),
        total_length / episodes,
        total_length / seconds,
        {name: float(values.mean()) for name, values in by_policy.items()},
    )


def num_worlds_for(episodes: int) -> int:
    """How many worlds play ``episodes`` episodes side by side."""
    return max(1, min(episodes, MAX_WORLDS))
