"""Learned policies in the economy: an episode of theirs, day by day."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from worldloom.core.simulation import Simulation
from worldloom.envs.covid.data import Parameters
from worldloom.envs.covid.history import History
from worldloom.envs.covid.recording import Recording
from worldloom.learn.evaluate import Acts, Match
from worldloom.learn.seats import Seats


def play_policies(
    simulation: Simulation,
    players: Mapping[str, tuple[Seats, Acts]],
    parameters: Parameters,
    label: str,
    tell: Callable[[int], None] | None = None,
) -> History:
    """One episode of world 0.

    Args:
        simulation: Fresh worlds of the economy, made with ``autoreset="disabled"``.
        players: The policies with their seats, by name.
        parameters: What the worlds were made of.
        label: What the history is called.
        tell: Called with the number of days done.
    """
    match, recording = Match(simulation, players), Recording(simulation, parameters)
    for day in range(simulation.definition.max_steps):
        ended = bool(match.step()[0][0])
        recording.note()
        if tell is not None:
            tell(day + 1)
        if ended:
            break
    return recording.history(label)
