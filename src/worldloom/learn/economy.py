"""Deprecated path of :func:`worldloom.envs.covid.recording.play_policies`, kept for one release."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

from worldloom.core.simulation import Simulation
from worldloom.envs.covid import recording
from worldloom.envs.covid.data import Parameters
from worldloom.envs.covid.history import EpisodeHistory
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.play.evaluation import Actor, Evaluation


def play_policies(
    simulation: Simulation,
    actors: Mapping[str, tuple[AgentGroup, Actor]],
    parameters: Parameters,
    label: str,
    on_day: Callable[[int], None] | None = None,
) -> EpisodeHistory:
    """Record one episode of world 0; see :func:`worldloom.envs.covid.recording.play_policies`."""
    warnings.warn(
        "worldloom.learn.economy.play_policies(simulation, actors, ...) is now "
        "worldloom.envs.covid.recording.play_policies(Evaluation(simulation, actors), ...)",
        DeprecationWarning,
        stacklevel=2,
    )
    return recording.play_policies(Evaluation(simulation, actors), parameters, label, on_day)
