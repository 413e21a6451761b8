"""Gymnasium's render modes that draw at every step: ``human`` and ``rgb_array_list``."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from worldloom.core.simulation import Simulation
from worldloom.view.tiles import tile_images
from worldloom.view.window import Screen, open_screen

MAX_SHOWN = 16
"""Worlds in the image of ``human``: the first ones of the batch."""


class FrameObserver(Protocol):
    """Draws worlds after every reset and every step."""

    def update(self) -> None:
        """Draw the worlds, after a reset or a step."""

    def take_frames(self) -> tuple[Any, ...] | None:
        """What ``render`` returns."""

    def close(self) -> None:
        """Release the screen."""


class HumanView:
    """``human``: the first worlds of a batch as tiles in a window, or in the terminal."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._screen: Screen | None = self._open()

    def _open(self) -> Screen:
        definition = self._simulation.definition
        return open_screen(f"worldloom: {definition.id}", definition.frames_per_second)

    def update(self) -> None:
        if self._screen is None:
            self._screen = self._open()
        worlds = range(min(self._simulation.num_worlds, MAX_SHOWN))
        self._screen.show(tile_images(self._simulation.definition.images(self._simulation, worlds)))

    def take_frames(self) -> None:
        return None

    def close(self) -> None:
        if self._screen is not None:
            self._screen.close()
            self._screen = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy opens a screen of its own when it draws."""
        return {**self.__dict__, "_screen": None}


class FrameLists:
    """``rgb_array_list``: the images of each world since ``render`` or since the beginning of its episode."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._frames: list[list[Any]] = [[] for _ in range(simulation.num_worlds)]

    def update(self) -> None:
        begun = np.asarray(self._simulation.world.step.numpy()) == 0
        images = self._simulation.definition.images(self._simulation, range(self._simulation.num_worlds))
        for world, image in enumerate(images):
            if begun[world]:
                self._frames[world].clear()
            self._frames[world].append(image)

    def take_frames(self) -> tuple[list[Any], ...]:
        """The images of every world, uint8 (height, width, 3) each; they are forgotten."""
        frames, self._frames = self._frames, [[] for _ in self._frames]
        return tuple(frames)

    def close(self) -> None:
        self._frames = [[] for _ in self._frames]


def make_observer(render_mode: str | None, simulation: Simulation) -> FrameObserver | None:
    """The observer of a render mode; None for modes that draw only when ``render`` is called."""
    observers: dict[str | None, type[HumanView] | type[FrameLists]] = {"human": HumanView, "rgb_array_list": FrameLists}
    return observers[render_mode](simulation) if render_mode in observers else None
