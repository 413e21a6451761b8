"""Rendered frames of worlds, with trained policies or random actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.play.actors import Actor
from worldloom.learn.play.evaluation import Evaluation
from worldloom.view.tiles import tile_images

Frame = np.ndarray[Any, np.dtype[np.uint8]]


def _render(simulation: Simulation, worlds: Sequence[int]) -> list[Frame]:
    """Images of some worlds. InputError where a user's renderer fails."""
    definition = simulation.definition
    try:
        return [np.asarray(image) for image in definition.images(simulation, worlds)]
    except InputError:
        raise
    except Exception as problem:  # a user's function may raise anything
        name = getattr(definition.render, "__name__", "the renderer")
        raise InputError(
            f"{name}(simulation, world) of world '{definition.id}' failed: {type(problem).__name__}: {problem}"
        ) from problem


def record_frames(
    simulation: Simulation,
    actors: Mapping[str, tuple[AgentGroup, Actor]],
    episodes: int = 1,
    max_frames: int = 1000,
    min_frames: int | None = None,
    every: int = 1,
) -> Iterator[Frame]:
    """Frames of all worlds, as tiles, at the start of each episode and after every step, uint8 (height, width, 3).

    A world whose episode has ended keeps its last image until all have ended. The end is shown for any ``every``.

    Args:
        simulation: Worlds made with ``autoreset="disabled"``, so that the last frame of an episode is rendered.
        actors: The actors with their agent groups, by name.
        episodes: Number of episodes.
        max_frames: Frames after which recording stops, even within an episode.
        min_frames: Frames after which no further episode is started; None for no such limit.
        every: Steps per frame.
    """
    evaluation = Evaluation(simulation, actors)

    def step() -> np.ndarray[Any, Any]:
        ended: np.ndarray[Any, Any] = evaluation.step()[0].cpu().numpy()
        return ended

    return _record_episodes(simulation, step, episodes, max_frames, min_frames, every)


def record_random_frames(
    simulation: Simulation, episodes: int = 1, max_frames: int = 1000, seed: int = 0
) -> Iterator[Frame]:
    """Frames of all worlds with random actions, see :func:`record_frames`."""
    generator = np.random.default_rng(seed)

    def step() -> np.ndarray[Any, Any]:
        simulation.step(random_actions(simulation, generator))
        ended: np.ndarray[Any, Any] = np.logical_or(simulation.terminated.numpy(), simulation.truncated.numpy())
        return ended

    return _record_episodes(simulation, step, episodes, max_frames, None, 1)


def _record_episodes(
    simulation: Simulation,
    step: Callable[[], np.ndarray[Any, Any]],
    episodes: int,
    max_frames: int,
    min_frames: int | None,
    every: int,
) -> Iterator[Frame]:
    """Frames of all worlds. ``step`` takes one step and returns the worlds whose episode ended, bool (worlds,)."""
    recorded = 0
    for episode in range(episodes):
        if episode and min_frames is not None and recorded >= min_frames:
            return
        if episode:
            simulation.reset()
        running = np.ones(simulation.num_worlds, bool)
        images = _render(simulation, range(simulation.num_worlds))
        yield tile_images(images)
        recorded += 1
        steps = 0
        while running.any() and recorded < max_frames:
            ended, steps = step(), steps + 1
            is_shown = steps % every == 0 or not (running & ~ended).any()
            worlds = np.flatnonzero(running if is_shown else running & ended).tolist()
            for world, image in zip(worlds, _render(simulation, worlds) if worlds else (), strict=True):
                images[world] = image
            running &= ~ended
            if is_shown:
                yield tile_images(images)
                recorded += 1
        if recorded >= max_frames:
            return
