"""Evaluation: trained policies play whole episodes, without learning."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.actions.distributions import to_env_action
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.config.json_files import is_count, short_repr
from worldloom.learn.device.torch_settings import use_torch_settings, useful_threads
from worldloom.learn.play.actors import Actor
from worldloom.learn.play.episode_metrics import EpisodeMetrics

__all__ = ["MAX_WORLDS", "Actor", "Evaluation", "EvaluationResult", "evaluate", "limit_steps", "num_worlds_for"]

MAX_WORLDS = 1024
"""Maximum number of parallel worlds; further episodes follow in the same worlds."""
MAX_STEPS = 1_000_000
"""Steps after which an episode that does not end is an error, by default."""

Actors = Mapping[str, tuple[AgentGroup, Actor]]
"""Actors with their agent groups, by name."""
OnProgress = Callable[[int], None] | None
"""Called with the number of finished episodes."""


class Evaluation:
    """Steps worlds with actors.

    Args:
        simulation: The worlds.
        actors: The actors with their agent groups, by name. Together they control every agent.
    """

    def __init__(self, simulation: Simulation, actors: Actors) -> None:
        self.simulation, self.actors = simulation, dict(actors)
        self._states = {
            name: actor.initial_state(agent_group.rows, agent_group.device)
            for name, (agent_group, actor) in actors.items()
        }

    def step(self) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """One step. Returns the worlds whose episode ended, bool [worlds], and the rewards by policy, [rows]."""
        with torch.no_grad():
            return self._step()

    def _step(self) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        present = {}
        for name, (agent_group, actor) in self.actors.items():
            present[name] = agent_group.active().clone()
            actions, self._states[name] = actor.act(
                {key: values.clone() for key, values in agent_group.observations().items()},
                self._states[name],
                agent_group.mask(),
            )
            agent_group.write_actions(to_env_action(agent_group.spec.action, actions))
        self.simulation.step()
        ended = self.simulation.terminated.torch() | self.simulation.truncated.torch()
        rewards = {}
        for name, (agent_group, _) in self.actors.items():
            rewards[name] = torch.nan_to_num(agent_group.rewards().float()) * present[name]
            begins = agent_group.world_ended()
            if agent_group.may_return:
                begins = begins | agent_group.terminated() | ~(present[name] & agent_group.active())
            self._states[name] = self._states[name] * ~begins[:, None]
        return ended, rewards


@dataclass(frozen=True)
class EvaluationResult:
    """Statistics of the evaluated episodes.

    Attributes:
        episodes: Number of episodes.
        mean_return, std_return, least_return, greatest_return: Of the undiscounted returns, per agent. The standard
            deviation is NaN for a single one.
        mean_length: Steps per episode.
        steps_per_second: Environment steps of these episodes per second of wall time.
        returns: Mean return by policy.
        cut_episodes: Episodes that :func:`limit_steps` cut off; their returns are those so far.
        metrics: Means of the infos that the world declares as metrics, by name; see :class:`EpisodeMetrics`.
    """

    episodes: int
    mean_return: float
    std_return: float
    least_return: float
    greatest_return: float
    mean_length: float
    steps_per_second: float
    returns: dict[str, float]
    cut_episodes: int = 0
    metrics: dict[str, float] = field(default_factory=dict)


def limit_steps(simulation: Simulation, max_steps: int) -> int:
    """Truncate episodes after ``max_steps`` steps at the latest.

    Returns ``max_steps``, or 0 where the worlds' own limits are as short and nothing was changed.
    """
    limits: Any = simulation.get_config("max_steps")  # 0 for none
    longer = np.equal(limits, 0) | np.greater(limits, max_steps)
    if not longer.any():
        return 0
    simulation.set_config("max_steps", np.where(longer, max_steps, limits))
    return max_steps


def evaluate(
    simulation: Simulation,
    actors: Actors,
    episodes: int,
    *,
    on_progress: OnProgress = None,
    max_steps: int = MAX_STEPS,
    cut_after: int = 0,
) -> EvaluationResult:
    """Play ``episodes`` whole episodes.

    The number of episodes per world is fixed in advance, so that short episodes are not favored.

    Args:
        simulation: New worlds with same-step autoreset.
        actors: The actors with their agent groups, by name. Together they control every agent.
        episodes: Number of episodes, divided evenly over the worlds; the first worlds play one more of a remainder.
        on_progress: Called before every step, and at the end, with the number of finished episodes.
        max_steps: Steps after which an episode that does not end is an error.
        cut_after: The result of :func:`limit_steps`, for the count of the episodes that it cut off; 0 without it.
    """
    played = play_episodes(simulation, actors, episodes, on_progress, max_steps, cut_after)
    returns = torch.cat([values.flatten() for values in played.returns.values()])
    return EvaluationResult(
        episodes,
        float(returns.mean()),
        float(returns.std()) if len(returns) > 1 else math.nan,
        float(returns.min()),
        float(returns.max()),
        played.total_length / episodes,
        played.total_length / played.seconds,
        {name: float(values.mean()) for name, values in played.returns.items()},
        played.cut_episodes,
        played.metrics,
    )


@dataclass(frozen=True)
class PlayedEpisodes:
    """Every episode that was played.

    Attributes:
        returns: Undiscounted returns by policy, float64 [episodes, agents] on the CPU; row i is the same episode.
        total_length: Steps of all episodes.
        seconds: Wall time.
        cut_episodes: Episodes that were truncated after ``cut_after`` steps.
        metrics: Means of the world's metrics over the episodes.
    """

    returns: dict[str, torch.Tensor]
    total_length: int
    seconds: float
    cut_episodes: int = 0
    metrics: dict[str, float] = field(default_factory=dict)


def play_episodes(
    simulation: Simulation, actors: Actors, episodes: int, on_progress: OnProgress, max_steps: int, cut_after: int
) -> PlayedEpisodes:
    """Play ``episodes`` whole episodes, see :func:`evaluate`."""
    if not isinstance(simulation, Simulation):
        raise InputError(f"policies are evaluated in a Simulation, not in {short_repr(simulation)}")
    if not isinstance(actors, Mapping) or not actors or not all(map(_is_actor, actors.values())):
        raise InputError(
            f"actors are agent groups with their actors by name, as open_run(folder).actors(simulation) gives them, "
            f"not {short_repr(actors)}"
        )
    for name, (agent_group, _) in actors.items():
        if agent_group.simulation is not simulation:
            raise InputError(
                f"actor '{name}' acts in other worlds than those of the evaluation: make it for them, as "
                "open_run(folder).actors(simulation) does"
            )
    if not is_count(max_steps) or max_steps < 1:
        raise InputError(f"max_steps is a whole number from 1, not {short_repr(max_steps)}")
    if not is_count(cut_after):
        raise InputError(f"cut_after is a whole number from 0, not {short_repr(cut_after)}")
    if on_progress is not None and not callable(on_progress):
        raise InputError(f"on_progress is a function of the number of finished episodes, not {short_repr(on_progress)}")
    if not is_count(episodes) or episodes < 1:
        raise InputError(f"at least one episode must be played, not {short_repr(episodes)}")
    groups = [agent_group for agent_group, _ in actors.values()]
    elements = max(g.rows * sum(part.features for part in g.spec.observations.values()) for g in groups)
    with use_torch_settings(groups[0].device, useful_threads(elements)):
        return _play(simulation, actors, episodes, on_progress, max_steps, cut_after)


def _is_actor(pair: Any) -> bool:
    """Whether ``pair`` is an agent group and an actor."""
    is_pair = isinstance(pair, tuple) and len(pair) == 2
    return is_pair and isinstance(pair[0], AgentGroup) and callable(getattr(pair[1], "act", None))


def _play(
    simulation: Simulation,
    actors: Actors,
    episodes: int,
    on_progress: Callable[[int], None] | None,
    max_steps: int,
    cut_after: int,
) -> PlayedEpisodes:
    evaluation, worlds = Evaluation(simulation, actors), simulation.num_worlds
    metrics = EpisodeMetrics(simulation)
    device = next(iter(actors.values()))[0].device
    remaining = episodes // worlds + (torch.arange(worlds, device=device) < episodes % worlds).long()
    lengths = torch.zeros(worlds, dtype=torch.int64, device=device)
    running = {
        name: torch.zeros(agent_group.rows, dtype=torch.float64, device=device)
        for name, (agent_group, _) in actors.items()
    }
    finished: dict[str, list[torch.Tensor]] = {name: [] for name in actors}
    start, total_length, cut_episodes = time.perf_counter(), 0, 0
    steps, next_check = 0, max_steps  # before that step, no episode can have taken max_steps steps
    while (waiting := int(remaining.sum())) > 0:
        if on_progress is not None:
            on_progress(episodes - waiting)
        if steps >= next_check:
            next_check = steps + max_steps - int(lengths[remaining > 0].max())
        if steps >= next_check:
            raise InputError(
                f"an episode did not end within {max_steps} steps: give the world a time limit with max_steps"
            )
        ended, rewards = evaluation.step()
        counted = ended & (remaining > 0)
        metrics.add(counted)
        for name, (agent_group, _) in actors.items():
            running[name] += rewards[name]
            by_world = running[name].view(worlds, agent_group.agents)
            finished[name].append(by_world[counted])
            by_world *= ~ended[:, None]
        lengths += 1
        ended_lengths = lengths[counted]
        total_length += int(ended_lengths.sum())
        if cut_after:
            unfinished = ~simulation.terminated.torch()[counted]
            cut_episodes += int((unfinished & (ended_lengths >= cut_after)).sum())
        lengths *= ~ended
        remaining -= counted.long()
        steps += 1
    seconds = time.perf_counter() - start
    if on_progress is not None:
        on_progress(episodes)
    returns = {name: torch.cat(parts).cpu() for name, parts in finished.items()}
    return PlayedEpisodes(returns, total_length, seconds, cut_episodes, metrics.means())


def num_worlds_for(episodes: int) -> int:
    """Number of parallel worlds for ``episodes`` episodes."""
    return max(1, min(episodes, MAX_WORLDS))
