"""Rendered frames of one world, with trained policies or random actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.registry.definition import Renderer
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.play.actors import Actor
from worldloom.learn.play.evaluation import Evaluation

Frame = np.ndarray[Any, np.dtype[np.uint8]]


def _render_frame(draw: Renderer, simulation: Simulation) -> Frame:
    try:
        return np.asarray(draw(simulation, 0))
    except Exception as problem:  # a user's function may raise anything
        name = getattr(draw, "__name__", "the renderer")
        raise InputError(
            f"{name}(simulation, world) of world '{simulation.definition.id}' failed: "
            f"{type(problem).__name__}: {problem}"
        ) from problem


def record_frames(
    simulation: Simulation,
    actors: Mapping[str, tuple[AgentGroup, Actor]],
    episodes: int = 1,
    max_frames: int = 1000,
    min_frames: int | None = None,
) -> Iterator[Frame]:
    """Frames of world 0 at the start of each episode and after every step, uint8 (height, width, 3).

    Args:
        simulation: Worlds made with ``autoreset="disabled"``, so that the last frame of an episode is rendered.
        actors: The actors with their agent groups, by name.
        episodes: Number of episodes.
        max_frames: Frames after which recording stops, even within an episode.
        min_frames: Frames after which no further episode is started; None for no such limit.
    """
    evaluation = Evaluation(simulation, actors)
    return _record_episodes(simulation, lambda: bool(evaluation.step()[0][0]), episodes, max_frames, min_frames)


def record_random_frames(
    simulation: Simulation, episodes: int = 1, max_frames: int = 1000, seed: int = 0
) -> Iterator[Frame]:
    """Frames of world 0 with random actions, see :func:`record_frames`."""
    generator = np.random.default_rng(seed)

    def step() -> bool:
        simulation.step(random_actions(simulation, generator))
        return bool(simulation.terminated.numpy()[0] or simulation.truncated.numpy()[0])

    return _record_episodes(simulation, step, episodes, max_frames, None)


def _record_episodes(
    simulation: Simulation, step: Callable[[], bool], episodes: int, max_frames: int, min_frames: int | None
) -> Iterator[Frame]:
    """Frames of world 0. ``step`` takes one step and returns whether the episode ended."""
    draw = simulation.definition.render
    if draw is None:
        raise InputError(f"world '{simulation.definition.id}' has no renderer: register it with render=...")
    recorded = 0
    for episode in range(episodes):
        if episode and min_frames is not None and recorded >= min_frames:
            return
        if episode:
            simulation.reset()
        ended = False
        yield _render_frame(draw, simulation)
        recorded += 1
        while not ended and recorded < max_frames:
            ended = step()
            yield _render_frame(draw, simulation)
            recorded += 1
        if recorded >= max_frames:
            return
