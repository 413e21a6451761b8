"""The values of the first world of a batch, for environments of one world."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np


def make_selection(space: gymnasium.Space[Any]) -> Callable[[Any], Any]:
    """A function from the observations of a batch to that of its first world, in the type of ``space``."""
    if isinstance(space, gymnasium.spaces.Dict):
        return functools.partial(_select_entries, {key: make_selection(part) for key, part in space.items()})
    if isinstance(space, gymnasium.spaces.Tuple):
        return functools.partial(_select_elements, [make_selection(part) for part in space])
    return _select_integer if isinstance(space, gymnasium.spaces.Discrete) else _select_array


def _select_entries(selections: Mapping[str, Callable[[Any], Any]], observations: Any) -> dict[str, Any]:
    return {key: select(observations[key]) for key, select in selections.items()}


def _select_elements(selections: Sequence[Callable[[Any], Any]], observations: Any) -> tuple[Any, ...]:
    return tuple(select(part) for select, part in zip(selections, observations, strict=True))


def _select_integer(observations: Any) -> np.int64:
    return np.int64(observations[0])


def _select_array(observations: Any) -> np.ndarray[Any, Any]:
    return np.asarray(observations[0])


def first_info(infos: dict[str, Any]) -> dict[str, Any]:
    return {k: v[0] for k, v in infos.items() if not k.startswith("_")}
