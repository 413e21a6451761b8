"""Learned policies in the economy: an episode of theirs, day by day."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from worldloom.core.simulation import Simulation
from worldloom.envs.covid.data import Parameters
from worldloom.envs.covid.history import EpisodeHistory
from worldloom.envs.covid.recording import EpisodeRecording
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.play.evaluation import Actor, Evaluation


def play_policies(
    simulation: Simulation,
    actors: Mapping[str, tuple[AgentGroup, Actor]],
    parameters: Parameters,
    label: str,
    on_day: Callable[[int], None] | None = None,
) -> EpisodeHistory:
    """One episode of world 0.

    Args:
        simulation: Fresh worlds of the economy, made with ``autoreset="disabled"``.
        players: The policies with their seats, by name.
        parameters: What the worlds were made of.
        label: What the history is called.
        tell: Called with the number of days done.
    """
    match, recording = Evaluation(simulation, actors), EpisodeRecording(simulation, parameters)
    for day in range(simulation.definition.max_steps):
        ended = bool(match.step()[0][0])
        recording.record_day()
        if on_day is not None:
            on_day(day + 1)
        if ended:
            break
    return recording.history(label)
