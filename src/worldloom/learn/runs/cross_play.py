"""Cross-play: every run's agents of one side against every run's agents of the other side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.runtime import fault_summary
from worldloom.core.runtime.fault_summary import FaultSummary
from worldloom.learn.agents.agent_group import agent_counts, agent_slots, parse_agents
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.play.evaluation import limit_steps, num_worlds_for, play_episodes
from worldloom.learn.runs.saved_run import SavedRun

Agents = list[tuple[str, int]]
"""Agents as (kind, slot)."""
MAX_STEPS = TrainConfig.eval_max_steps
"""Default of the steps after which an episode is cut off."""


@dataclass(frozen=True)
class MeanReturn:
    """Returns of a side.

    Attributes:
        mean: Mean return per agent.
        standard_error: Its standard error over episodes; NaN for a single episode.
    """

    mean: float
    standard_error: float


@dataclass(frozen=True)
class CrossPlay:
    """Returns of all pairs of runs.

    Attributes:
        side: The agents of the row's run; all others are of the column's run.
        episodes: Episodes of each pair.
        rows: Return of the row's side, by row and column.
        columns: Return of the column's side, by row and column.
        fault_summary: Faults of single worlds.
        cut_episodes: Episodes of all pairs that were cut off; their returns are those so far.
    """

    side: str
    episodes: int
    rows: list[list[MeanReturn]]
    columns: list[list[MeanReturn]]
    fault_summary: FaultSummary = field(default_factory=FaultSummary)
    cut_episodes: int = 0


def cross_play(
    runs: Sequence[SavedRun],
    episodes: int,
    *,
    side: str = "",
    device: str = "cpu",
    seed: int = 0,
    stochastic: bool = False,
    epsilon: float | None = None,
    on_progress: Callable[[int], None] | None = None,
    max_steps: int = MAX_STEPS,
) -> CrossPlay:
    """Play ``episodes`` episodes between all pairs of runs, each run also with itself.

    All pairs start from the same states of the worlds.

    Args:
        runs: Runs of the same world with the same configuration.
        episodes: Episodes of each pair.
        side: Agents of the row's run, as in ``Tagger`` or ``Player[0:2]``; empty for :func:`default_side`.
        device: Device of worlds and policies.
        seed: Seed of the worlds and of sampled actions.
        stochastic: Sample actions, instead of taking the most likely ones.
        epsilon: Epsilon of DQN policies; None for the world's default.
        on_progress: Called with the number of finished episodes of all pairs.
        max_steps: Steps after which an episode is cut off, where the world's own limit is longer or missing.
    """
    definition = _common_world(runs)
    side = side or default_side(definition)
    ours, theirs = split_agents(definition, side)
    rows: list[list[MeanReturn]] = [[] for _ in runs]
    columns: list[list[MeanReturn]] = [[] for _ in runs]
    cut_episodes = 0
    with runs[0].worlds(num_worlds_for(episodes), device, seed) as worlds:
        cut_after = limit_steps(worlds, max_steps)
        for i, run in enumerate(runs):
            for other in runs:
                done = (i * len(runs) + len(rows[i])) * episodes
                worlds.reset(seeds=seed)
                first = run.actors(worlds, stochastic=stochastic, seed=seed, epsilon=epsilon, agents=ours)
                second = other.actors(worlds, stochastic=stochastic, seed=seed + 1, epsilon=epsilon, agents=theirs)
                actors = {f"row/{name}": actor for name, actor in first.items()}
                actors |= {f"column/{name}": actor for name, actor in second.items()}
                report = None if on_progress is None else _shifted(on_progress, done)
                played = play_episodes(worlds, actors, episodes, report, max_steps + 1, cut_after)
                returns, cut_episodes = played.returns, cut_episodes + played.cut_episodes
                rows[i].append(_mean_return([returns[f"row/{name}"] for name in first]))
                columns[i].append(_mean_return([returns[f"column/{name}"] for name in second]))
        faults = fault_summary.read([worlds])
    return CrossPlay(side, episodes, rows, columns, faults, cut_episodes)


def default_side(definition: Definition) -> str:
    """The first kind of agent; the first half of the agents where there is only one kind."""
    counts = agent_counts(definition)
    kind, count = next(iter(counts.items()))
    return kind if len(counts) > 1 or count < 2 else f"{kind}[0:{count // 2}]"


def split_agents(definition: Definition, side: str) -> tuple[Agents, Agents]:
    """The agents of ``side``, and all others; InputError where there are no others."""
    counts = agent_counts(definition)
    ours = agent_slots(parse_agents(side, definition), counts)
    theirs = [(kind, slot) for kind, count in counts.items() for slot in range(count) if (kind, slot) not in ours]
    if not theirs:
        raise InputError(
            f"'{side}' are all agents of world '{definition.id}', so no agents are left for the other side: "
            "cross-play needs a world with several agents, and --side some of them"
        )
    return ours, theirs


def _common_world(runs: Sequence[SavedRun]) -> Definition:
    """The world of all runs; InputError where they differ."""
    if not runs:
        raise InputError("cross-play needs one run or more")
    first = runs[0]
    for run in runs[1:]:
        if run.definition.id != first.definition.id:
            raise InputError(
                f"{run.folder} was trained in {run.definition.id}, and {first.folder} in {first.definition.id}: "
                "cross-play needs runs of the same world"
            )
        if run.request.world_config != first.request.world_config:
            raise InputError(
                f"{run.folder} has another --config than {first.folder}: cross-play needs worlds of the same rules"
            )
    return first.definition


def _mean_return(returns: list[torch.Tensor]) -> MeanReturn:
    """From the returns of the policies of a side, each [episodes, agents]."""
    means = torch.cat(returns, 1).mean(1)
    error = float(means.std()) / math.sqrt(len(means)) if len(means) > 1 else math.nan
    return MeanReturn(float(means.mean()), error)


def _shifted(on_progress: Callable[[int], None], done: int) -> Callable[[int], None]:
    return lambda finished: on_progress(done + finished)
