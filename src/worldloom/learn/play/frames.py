"""Pictures of finished policies at play in one world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.registry.registry import Renderer
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.play.evaluation import Actor, Evaluation

Frame = np.ndarray[Any, np.dtype[np.uint8]]


def _render_frame(draw: Renderer, simulation: Simulation) -> Frame:
    try:
        return np.asarray(draw(simulation, 0))
    except Exception as problem:  # whatever a user's function raises
        name = getattr(draw, "__name__", "the renderer")
        raise InputError(
            f"{name}(simulation, world) of world '{simulation.definition.id}' failed: {type(problem).__name__}: {problem}"
        ) from problem


def record_frames(
    simulation: Simulation,
    actors: Mapping[str, tuple[AgentGroup, Actor]],
    episodes: int = 1,
    max_frames: int = 1000,
    min_frames: int | None = None,
) -> Iterator[Frame]:
    """World 0 at the start of each episode and after every step, uint8 (height, width, 3).

    Args:
        simulation: Worlds made with ``autoreset="disabled"``, so that the end of an episode is seen.
        players: Who plays whom, by name.
        episodes: How many episodes.
        most: Pictures after which it ends, wherever that is.
        enough: Pictures after which no further episode is begun; None for no such limit.
    """
    match = Evaluation(simulation, actors)
    return _record_episodes(simulation, lambda: bool(match.step()[0][0]), episodes, max_frames, min_frames)


def record_random_frames(
    simulation: Simulation, episodes: int = 1, max_frames: int = 1000, seed: int = 0
) -> Iterator[Frame]:
    """Likewise with random actions."""
    generator = np.random.default_rng(seed)

    def step() -> bool:
        simulation.step(random_actions(simulation, generator))
        return bool(simulation.terminated.numpy()[0] or simulation.truncated.numpy()[0])

    return _record_episodes(simulation, step, episodes, max_frames, None)


def _record_episodes(
    simulation: Simulation, step: Callable[[], bool], episodes: int, max_frames: int, min_frames: int | None
) -> Iterator[Frame]:
    """World 0, moved on by ``step``, which tells whether the episode ended."""
    draw = simulation.definition.render
    if draw is None:
        raise InputError(f"world '{simulation.definition.id}' has no renderer: register it with render=...")
    shown = 0
    for episode in range(episodes):
        if episode and min_frames is not None and shown >= min_frames:
            return
        if episode:
            simulation.reset()
        ended = False
        yield _render_frame(draw, simulation)
        shown += 1
        while not ended and shown < max_frames:
            ended = step()
            yield _render_frame(draw, simulation)
            shown += 1
        if shown >= max_frames:
            return
