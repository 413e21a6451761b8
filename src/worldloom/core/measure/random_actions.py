"""Random actions for a simulation, within the spaces of its agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete, Space

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

Array = np.ndarray[Any, Any]


def random_action(space: Space, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """Random actions for a column of ``shape``, in the column's type.

    A box without bounds gets normally distributed numbers. One with a single bound gets numbers with exponentially
    distributed distances from it.
    """
    if isinstance(space, Discrete):
        return generator.integers(0, space.n, shape, dtype=np.int32)
    if isinstance(space, MultiDiscrete):
        return generator.integers(0, np.asarray(space.choices, np.int32), shape, dtype=np.int32)
    return _random_box(space, shape, generator).astype(np.float32)


def _random_box(space: Box, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    low, high = (np.asarray(bound) for bound in (space.low, space.high))
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    if has_low.all() and has_high.all():
        return generator.uniform(low, high, shape)
    bounded = has_low.any() or has_high.any()
    distance = generator.exponential(size=shape) if bounded else generator.standard_normal(shape)
    above, below = np.where(has_low, low, 0.0) + distance, np.where(has_high, high, 0.0) - distance
    one_sided = np.where(has_low, above, np.where(has_high, below, distance))
    return np.where(has_low & has_high, np.clip(above, low, high), one_sided)


def random_actions(simulation: Simulation, generator: np.random.Generator) -> dict[str, Array]:
    """Random actions for every world and every action component, as ``Simulation.step`` takes them."""
    actions = {}
    for name, (table, field) in simulation.definition.actions().items():
        assert field.space is not None
        actions[name] = random_action(field.space, simulation.tables[table][field.name].shape, generator)
    return actions
