"""Targets of the DeepMind Control Suite's tasks: in dm_control part of the model, in worldloom component ``goal``."""

from __future__ import annotations

from typing import Any

import numpy as np

GOALS = {
    "finger": ("site", "target", [0, 2]),
    "fish": ("geom", "target", [0, 1, 2]),
    "reacher": ("geom", "target", [0, 1]),
    "stacker": ("body", "target", [0, 2]),
    "swimmer": ("geom", "target", [0, 1, 2]),
}
"""Kind of object, name and axes of the target, by domain."""


def _index(domain: str, physics: Any) -> tuple[Any, tuple[int, list[int]]]:
    kind, name, axes = GOALS[domain]
    return getattr(physics.model, f"{kind}_pos"), (physics.model.name2id(name, kind), axes)


def set_goal(domain: str, physics: Any, goal: np.ndarray) -> None:
    """Move the target in the model of ``physics`` to ``goal``."""
    positions, index = _index(domain, physics)
    positions[index] = goal


def get_goal(domain: str, physics: Any) -> np.ndarray:
    """The position of the target in the model of ``physics``."""
    positions, index = _index(domain, physics)
    return np.array(positions[index])
