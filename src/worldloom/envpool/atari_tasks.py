"""What Atari tasks report in EnvPool beyond other tasks, and the columns of a console that hold it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from worldloom.atari.emulator.rom_bank import RAM
from worldloom.atari.env.settings import NAMES, resolve_settings
from worldloom.core.model.families import family_of
from worldloom.core.registry.definition import Definition

RAM_BYTES = slice(RAM, RAM + 128)
"""The memory of a console within ``Console.machine``."""
INFOS: dict[str, tuple[str, str]] = {
    "lives": ("lives", "int32"),
    "reward": ("points", "float32"),
    "terminated": ("over", "int32"),
    "ram": ("machine", "uint8"),
}
"""EnvPool's key of an info, with its column of ``Console`` and EnvPool's dtype."""
SCREEN_LINES = 210
"""The lines of every image that EnvPool renders."""
ELAPSED = "elapsed"
"""The column of ``Console`` that counts the steps of a game. It continues over lost lives, as in EnvPool."""
SETTINGS = (
    "stack_num",
    "frame_skip",
    "noop_max",
    "zero_discount_on_life_loss",
    "episodic_life",
    "reward_clip",
    "use_fire_reset",
    "img_height",
    "img_width",
    "mode",
    "difficulty",
    "full_action_space",
    "repeat_action_probability",
    "use_inter_area_resize",
    "gray_scale",
)
"""The settings in EnvPool's config of an Atari task, in its order."""


def is_atari(world: Definition) -> bool:
    """Whether a world is one of the Atari games, for one player."""
    family = family_of(world.id)
    return family is not None and family.name == "Atari 2600" and len(world.entities) == 1


def fit_screen(images: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Images (n, lines, 160, 3) with EnvPool's 210 lines: without those below, or with black ones."""
    missing = SCREEN_LINES - images.shape[1]
    return np.pad(images, ((0, 0), (0, missing), (0, 0), (0, 0))) if missing > 0 else images[:, :SCREEN_LINES]


def settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a task as EnvPool's config holds them: -1 stands for the default mode and difficulty."""
    for_all = {name: value for name, value in given.items() if name in NAMES and not isinstance(value, list)}
    resolved = dataclasses.asdict(resolve_settings(for_all))
    values = {name: resolved[name] for name in SETTINGS}
    return {name: -1 if value is None else value for name, value in values.items()}
