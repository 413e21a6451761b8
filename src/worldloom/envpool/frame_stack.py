"""``frame_stack``: observations of MuJoCo tasks that hold the last observations of an episode, as in EnvPool."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
import warp as wp

from worldloom.core.base.arrays import checked_int
from worldloom.core.model.families import family_of
from worldloom.core.runtime import memory
from worldloom.vector.env_layout import EnvLayout

FAMILIES = ("MuJoCo", "DeepMind Control Suite")
"""The families whose tasks have the argument."""


def is_supported(task_id: Any) -> bool:
    """Whether a task has the argument ``frame_stack``."""
    family = family_of(task_id) if isinstance(task_id, str) else None
    return family is not None and family.name in FAMILIES


def take_count(task_id: Any, arguments: dict[str, Any]) -> int:
    """Remove ``frame_stack`` from the arguments of a task and return it; 1 where it was not given."""
    return checked_int("frame_stack", arguments.pop("frame_stack", 1), 1) if is_supported(task_id) else 1


def require_memory(layout: EnvLayout, count: int, num_envs: int) -> None:
    """InputError where the stacks of a pool do not fit: one, and its copy, per environment, and the space's bounds."""
    if count > 1:
        size = sum(math.prod(part.shape) * np.dtype(part.space.dtype).itemsize for part in layout.observations)
        what = f"stacks of {count:,} observations for num_envs={num_envs:,}"
        memory.require_bytes(
            (2 * num_envs + 2) * count * size, wp.get_device("cpu"), what, "use a smaller frame_stack or num_envs"
        )


def stacked_space(space: gymnasium.Space[Any], count: int) -> gymnasium.Space[Any]:
    """The space of ``count`` stacked observations; the same space for 1."""
    if count == 1:
        return space
    if isinstance(space, gymnasium.spaces.Dict):
        return gymnasium.spaces.Dict({key: stacked_space(part, count) for key, part in space.spaces.items()})
    assert isinstance(space, gymnasium.spaces.Box)
    low, high = (np.broadcast_to(bound, (count, *bound.shape)) for bound in (space.low, space.high))
    return gymnasium.spaces.Box(low, high, dtype=space.dtype.type)  # type: ignore[arg-type,union-attr]


def is_observation(key: str) -> bool:
    """Whether a key of a state is that of an observation."""
    return key.split(":")[0] == "obs"


class FrameStack:
    """The last observations of every environment of a group.

    Args:
        count: Number of observations in a stack.
        num_envs: Number of environments.
    """

    def __init__(self, count: int, num_envs: int) -> None:
        self.count, self._num_envs = count, num_envs
        self._frames: dict[str, np.ndarray[Any, Any]] = {}

    def push(self, state: dict[str, np.ndarray[Any, Any]], rows: np.ndarray[Any, Any] | None) -> None:
        """Replace the observations of ``state`` by stacks of them, oldest first, shape (rows, count, ...).

        The first observation of an episode fills the stack.

        Args:
            state: The state after a step or a reset of the environments of ``rows``; each is pushed once.
            rows: Their indices; None for all.
        """
        first = np.flatnonzero(state["elapsed_step"] == 0)
        for key in filter(is_observation, list(state)):
            newest = state[key]
            if key not in self._frames:
                self._frames[key] = np.zeros((self._num_envs, self.count, *newest.shape[1:]), newest.dtype)
            frames = self._frames[key]
            stacked = np.concatenate([(frames if rows is None else frames[rows])[:, 1:], newest[:, None]], axis=1)
            stacked[first] = newest[first, None]
            frames[slice(None) if rows is None else rows] = stacked
            state[key] = stacked
