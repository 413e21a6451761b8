"""The spaces of a process pool: one space for all environments, or spaces that differ in their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gymnasium import Space
from gymnasium.vector.utils import batch_differing_spaces, batch_space

from worldloom.core.base.errors import InputError
from worldloom.vector.errors import ArgumentTypeError, SpacesError
from worldloom.vector.process_pool.shared_memory import has_fixed_shape, space_leaves

ObservationMode = Literal["same", "different"] | tuple[Space[Any], Space[Any]]


@dataclass(frozen=True)
class PoolSpaces:
    """The spaces of a pool, as the attributes of a Gymnasium vector environment."""

    single_observation_space: Space[Any]
    single_action_space: Space[Any]
    observation_space: Space[Any]
    action_space: Space[Any]


def resolve_spaces(
    pairs: Sequence[tuple[Space[Any], Space[Any]]], observation_mode: ObservationMode, batch_size: int
) -> PoolSpaces:
    """The spaces of a pool.

    Args:
        pairs: The observation space and the action space of every environment.
        observation_mode: ``same``; ``different`` for observation spaces of the same shapes and types with different
            bounds; or, as in Gymnasium, the batched and the single observation space.
        batch_size: Number of environments in a batch.

    Raises:
        InputError: If the spaces of two environments do not fit together.
    """
    first_observation, action = pairs[0]
    if observation_mode == "same":
        for env_id, pair in enumerate(pairs):
            if pair != pairs[0]:
                raise SpacesError(
                    f"environment {env_id} has other spaces than environment 0: {pair[0]} and {pair[1]}, not "
                    f"{first_observation} and {action}; the sub-environments observation spaces are not equivalent. "
                    "If this is intentional, use `observation_mode='different'` instead."
                    if pair[1] == action
                    else f"environment {env_id} has other spaces than environment 0: {pair[0]} and {pair[1]}, "
                    f"not {first_observation} and {action}"
                )
        return PoolSpaces(
            first_observation, action, batch_space(first_observation, batch_size), batch_space(action, batch_size)
        )
    if batch_size != len(pairs):
        raise InputError("observation_mode needs all environments in every batch: leave batch_size out")
    if observation_mode == "different":
        single = first_observation
    elif isinstance(observation_mode, tuple) and [isinstance(s, Space) for s in observation_mode] == [True, True]:
        single = observation_mode[1]
    else:
        raise (ArgumentTypeError if isinstance(observation_mode, tuple) else InputError)(
            "Invalid `observation_mode`, expected: 'same' or 'different' or tuple of single and batch observation "
            f"space, actual got {observation_mode}"
        )
    for env_id, (observation, other_action) in enumerate(pairs):
        if not _have_same_layout(observation, single):
            raise SpacesError(
                f"the observation space of environment {env_id}, {observation}, has other shapes or types than {single}"
            )
        if other_action != action:
            raise SpacesError(f"environment {env_id} has another action space: {other_action}, not {action}")
    batched = (
        batch_differing_spaces([observation for observation, _ in pairs])
        if observation_mode == "different"
        else observation_mode[0]
    )
    return PoolSpaces(single, action, batched, batch_space(action, batch_size))


def _have_same_layout(one: Space[Any], other: Space[Any]) -> bool:
    """Whether values of two spaces have the same shapes and types; pickled values only need the same kind of space."""
    if has_fixed_shape(one) and has_fixed_shape(other):
        return space_leaves(one) == space_leaves(other)
    return type(one) is type(other)
