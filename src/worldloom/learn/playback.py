"""Pictures of finished policies at play in one world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from worldloom.core.compare import random_actions
from worldloom.core.errors import InputError
from worldloom.core.registry import Renderer
from worldloom.core.simulation import Simulation
from worldloom.learn.evaluate import Acts, Match
from worldloom.learn.seats import Seats

Picture = np.ndarray[Any, np.dtype[np.uint8]]


def _picture(draw: Renderer, simulation: Simulation) -> Picture:
    try:
        return np.asarray(draw(simulation, 0))
    except Exception as problem:  # whatever a user's function raises
        name = getattr(draw, "__name__", "the renderer")
        raise InputError(f"{name}(simulation, world) of world '{simulation.definition.id}' failed: {type(problem).__name__}: {problem}") from problem


def pictures(
    simulation: Simulation, players: Mapping[str, tuple[Seats, Acts]], episodes: int = 1, most: int = 1000, enough: int | None = None
) -> Iterator[Picture]:
    """World 0 at the start of each episode and after every step, uint8 (height, width, 3).

    Args:
        simulation: Worlds made with ``autoreset="disabled"``, so that the end of an episode is seen.
        players: Who plays whom, by name.
        episodes: How many episodes.
        most: Pictures after which it ends, wherever that is.
        enough: Pictures after which no further episode is begun; None for no such limit.
    """
    match = Match(simulation, players)
    return _filmed(simulation, lambda: bool(match.step()[0][0]), episodes, most, enough)


def random_pictures(simulation: Simulation, episodes: int = 1, most: int = 1000, seed: int = 0) -> Iterator[Picture]:
    """Likewise with random actions."""
    generator = np.random.default_rng(seed)

    def step() -> bool:
        simulation.step(random_actions(simulation, generator))
        return bool(simulation.terminated.numpy()[0] or simulation.truncated.numpy()[0])

    return _filmed(simulation, step, episodes, most, None)


def _filmed(simulation: Simulation, step: Callable[[], bool], episodes: int, most: int, enough: int | None) -> Iterator[Picture]:
    """World 0, moved on by ``step``, which tells whether the episode ended."""
    draw = simulation.definition.render
    if draw is None:
        raise InputError(f"world '{simulation.definition.id}' has no renderer: register it with render=...")
    shown = 0
    for episode in range(episodes):
        if episode and enough is not None and shown >= enough:
            return
        if episode:
            simulation.reset()
        ended = False
        yield _picture(draw, simulation)
        shown += 1
        while not ended and shown < most:
            ended = step()
            yield _picture(draw, simulation)
            shown += 1
        if shown >= most:
            return
