"""Random actions for a simulation, within the spaces of its agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete, Space

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

Array = np.ndarray[Any, Any]


def random_action(space: Space, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """Random actions for a column of ``shape``, in the column's own type.

    A box without bounds gets normally distributed numbers; one with a single bound, exponentially distributed ones from there.
    """
    if isinstance(space, Discrete):
        return generator.integers(0, space.n, shape, dtype=np.int32)
    if isinstance(space, MultiDiscrete):
        return generator.integers(0, np.asarray(space.choices, np.int32), shape, dtype=np.int32)
    return _random_box(space, shape, generator).astype(np.float32)


def _random_box(space: Box, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    least, greatest = (np.asarray(bound) for bound in (space.low, space.high))
    low, high = np.isfinite(least), np.isfinite(greatest)
    if low.all() and high.all():
        return generator.uniform(least, greatest, shape)
    away = generator.exponential(size=shape) if low.any() or high.any() else generator.standard_normal(shape)
    beyond = np.where(low, least, 0.0) + away, np.where(high, greatest, 0.0) - away
    return np.where(
        low & high, np.clip(beyond[0], least, greatest), np.where(low, beyond[0], np.where(high, beyond[1], away))
    )


def random_actions(simulation: Simulation, generator: np.random.Generator) -> dict[str, Array]:
    """Random actions for every world and every action component, as ``Simulation.step`` takes them."""
    actions = {}
    for name, (table, field) in simulation.definition.actions().items():
        assert field.space is not None
        actions[name] = random_action(field.space, simulation.tables[table][field.name].shape, generator)
    return actions
