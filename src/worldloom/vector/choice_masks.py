"""Action masks in the interfaces: the allowed choices of worlds, and action spaces that sample among them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from worldloom.core.measure.random_actions import allowed_choices, find_mask
from worldloom.core.model.fields import Role
from worldloom.core.simulation import Simulation
from worldloom.vector.world_batch import WorldBatch

Array = np.ndarray[Any, Any]


class ChoiceMask:
    """The choices of an action component that the current states of worlds allow.

    Args:
        simulation: The worlds.
        table, action: The column of the action component.
        row: The row of one agent; None for all rows of a world.

    Attributes:
        sizes: The choices of each element of a world's action, or of the agent's; empty where no mask applies.
        is_observation: Whether the mask is an observation: the world then needs an allowed choice.
    """

    def __init__(self, simulation: Simulation, table: str, action: str, row: int | None = None) -> None:
        self._simulation = weakref.ref(simulation)  # a space that outlives its environment does not keep the worlds
        self._table, self._row = table, row
        columns = simulation.tables[table]
        self._mask = find_mask(columns, action)
        self.sizes: tuple[int, ...] = ()
        self.is_observation = False
        self._first: Array | None = None
        self._seeded_at: tuple[int, int] | None = None
        if self._mask is not None:
            rows = np.prod(columns[action].shape, dtype=int) // (simulation.num_worlds * len(self._mask.sizes))
            self.sizes = self._mask.sizes * (rows if row is None else 1)
            self.is_observation = columns[self._mask.name].field.role is Role.OBSERVATION

    def __call__(self) -> Array | None:
        """Bool of shape (num_worlds, choices); an element of which no choice is allowed has all of them.

        None where the worlds are closed.
        """
        simulation = self._simulation()
        if simulation is None or simulation._closed or self._mask is None:
            return None
        if self._seeded_at is not None and self._seeded_at == _time(simulation):
            return self._first
        self._seeded_at = None
        allowed = allowed_choices(simulation.tables[self._table], self._mask)
        by_world = allowed.reshape(simulation.num_worlds, -1, allowed.shape[1])
        allowed = (by_world if self._row is None else by_world[:, self._row]).reshape(simulation.num_worlds, -1)
        return np.asarray(allowed | np.repeat(~self._has_choice(allowed), self.sizes, axis=1))

    def _has_choice(self, allowed: Array) -> Array:
        """Whether a choice of each element is allowed, shape (num_worlds, elements)."""
        return np.asarray(np.logical_or.reduceat(allowed, np.cumsum((0, *self.sizes[:-1])), axis=1))

    def begin_episode(self) -> None:
        """Keep the choices that the first states of all episodes so far allow, for :meth:`expect_episode`."""
        self._seeded_at = None
        first = self()
        common = first if first is None or self._first is None else first & self._first
        self._first = common if common is not None and self._has_choice(common).all() else first

    def expect_episode(self) -> None:
        """Until the next step or reset, return the choices that are allowed at the start of episodes.

        Gymnasium's ``check_env`` seeds the action space, samples, and then resets and steps.
        """
        simulation = self._simulation()
        if simulation is not None and not simulation._closed and self._first is not None:
            self._seeded_at = _time(simulation)


def _time(simulation: Simulation) -> tuple[int, int]:
    """The episode and the step of the first world."""
    return int(simulation.world["episode"].numpy()[0]), int(simulation.world["step"].numpy()[0])


def draw_allowed(allowed: Array, sizes: tuple[int, ...], generator: np.random.Generator) -> Array:
    """One allowed choice for each element of each row, each with the same probability, shape (rows, elements)."""
    drawn = np.empty((len(allowed), len(sizes)), np.int64)
    numbers = generator.random(drawn.shape)
    for element, (size, end) in enumerate(zip(sizes, np.cumsum(sizes), strict=True)):
        counts = allowed[:, end - size : end].cumsum(axis=1)
        rank = (numbers[:, element] * counts[:, -1]).astype(np.int64)
        drawn[:, element] = (counts > rank[:, None]).argmax(axis=1)
    return drawn


class _MaskedSpace:
    """The part of an action space that samples among the allowed choices.

    A copy or a pickle is an ordinary space: spaces are sent to other processes and stored with policies.
    """

    choice_mask: ChoiceMask
    np_random: np.random.Generator
    shape: tuple[int, ...]
    dtype: Any

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """A random allowed action; with a mask, of any type, or probabilities as Gymnasium's spaces."""
        allowed = self.choice_mask() if mask is None and probability is None else None
        if allowed is None:
            return super().sample(_int8_mask(self, mask), probability)  # type: ignore[misc]
        drawn = draw_allowed(allowed, self.choice_mask.sizes, self.np_random).reshape(self.shape).astype(self.dtype)
        return drawn[()]

    def seed(self, seed: Any = None) -> Any:
        """Seed the generator. Samples until the next step or reset are allowed at the start of an episode."""
        self.choice_mask.expect_episode()
        return super().seed(seed)  # type: ignore[misc]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        state = {name: value for name, value in self.__dict__.items() if name != "choice_mask"}
        return _space_of, (type(self).__mro__[2], state)


class MaskedDiscrete(_MaskedSpace, spaces.Discrete):  # type: ignore[misc]
    """``Discrete`` whose samples are allowed in the current state."""


class MaskedMultiDiscrete(_MaskedSpace, spaces.MultiDiscrete):  # type: ignore[misc]
    """``MultiDiscrete`` whose samples are allowed in the current state."""


class MaskedBox(_MaskedSpace, spaces.Box):  # type: ignore[misc]
    """The ``Box`` of a batch of ``MultiDiscrete`` spaces, whose samples are allowed in the current states."""


_MASKED: dict[type, type] = {
    spaces.Discrete: MaskedDiscrete,
    spaces.MultiDiscrete: MaskedMultiDiscrete,
    spaces.Box: MaskedBox,
}


def mask_space(space: gymnasium.Space[Any], masks: Mapping[str, ChoiceMask]) -> gymnasium.Space[Any]:
    """``space`` with samples of allowed choices for the action components in ``masks`` whose mask is an observation.

    An info, such as that of Taxi, marks actions that have an effect: samples include the others.
    """
    if isinstance(space, spaces.Dict):
        space.spaces.update({key: mask_space(part, {key: masks[key]}) for key, part in space.items() if key in masks})
        return space
    mask = next(iter(masks.values()), None)
    if mask is None or not (mask.sizes and mask.is_observation) or type(space) not in _MASKED:
        return space
    masked: gymnasium.Space[Any] = _space_of(_MASKED[type(space)], {**space.__dict__, "choice_mask": mask})
    return masked


def _space_of(kind: Any, state: dict[str, Any]) -> Any:
    space = kind.__new__(kind)
    space.__dict__.update(state)
    return space


def _int8_mask(space: Any, mask: Any) -> Any:
    """``mask`` in the form that Gymnasium requires: int8, in a tuple for ``MultiDiscrete``."""
    if mask is None or isinstance(mask, tuple):
        return mask
    mask = np.asarray(mask).astype(np.int8)
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        return tuple(np.split(mask.ravel(), np.cumsum(space.nvec)[:-1]))
    return mask


class MaskedActions:
    """The masks of a Gymnasium vector environment: samples among the allowed choices, and ``action_masks``."""

    simulation: Simulation
    batch: WorldBatch
    action_space: Any
    _choice_masks: dict[str, ChoiceMask]

    def _bind_masks(self) -> None:
        """Make samples of the action space allowed ones, in the worlds of this batch."""
        self._choice_masks = {c.key: ChoiceMask(self.simulation, c.table, c.name) for c in self.batch.layout.actions}
        self.action_space = mask_space(self.action_space, self._choice_masks)

    @property
    def action_masks(self) -> Callable[[], np.ndarray[Any, Any]]:
        """A function that returns the allowed choices of all worlds, bool of shape (num_envs, choices).

        The choices are those of the elements of an action, one after the other, as sb3-contrib expects them.

        Raises:
            AttributeError: If the world has no action mask, or several action components.
        """
        world = f"world '{self.simulation.definition.id}'"
        if not any(mask.sizes for mask in self._choice_masks.values()):
            raise AttributeError(
                f"{world} has no mask of its actions, a component action_mask: "
                "MaskablePPO has nothing to mask there, so use PPO"
            )
        if len(self._choice_masks) != 1:
            raise AttributeError(
                f"{world} has several actions, {', '.join(self._choice_masks)}, and action_masks is for one: "
                "read the mask of each from the observations or the infos"
            )
        return self._allowed_choices

    def _allowed_choices(self) -> np.ndarray[Any, Any]:
        self.batch.check_open()
        (mask,) = self._choice_masks.values()
        allowed = mask()
        assert allowed is not None
        return allowed
