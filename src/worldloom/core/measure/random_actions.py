"""Random actions for a simulation, within the spaces of its agents."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.model.action_masks import MaskRange, mask_range
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete, Space

if TYPE_CHECKING:
    from worldloom.core.runtime.table import Table
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
    """Random actions for every world and every action component, as ``Simulation.step`` takes them.

    A choice that a mask forbids in the current state is replaced by one that it allows.
    """
    actions = {}
    for name, (table, field) in simulation.definition.actions().items():
        assert field.space is not None
        columns = simulation.tables[table]
        action = random_action(field.space, columns[field.name].shape, generator)
        mask = find_mask(columns, field.name)
        if mask is not None:
            allowed = allowed_choices(columns, mask)
            flat, ends = action.reshape(len(allowed), -1), np.cumsum(mask.sizes)
            for element, (size, end) in enumerate(zip(mask.sizes, ends, strict=True)):
                flat[:, element] = _allowed(flat[:, element], allowed[:, end - size : end])
        actions[name] = action
    return actions


def find_mask(columns: Table, action: str) -> MaskRange | None:
    """The mask of an action component among the columns of its table."""
    return mask_range({name: column.field for name, column in columns.all_columns.items()}, action)


def allowed_choices(columns: Table, mask: MaskRange) -> Array:
    """Whether the current states allow each choice of an action, bool of shape (rows, choices)."""
    column = columns[mask.name]
    values = column.numpy().reshape(-1, math.prod(column.field.value_shape))
    return np.asarray(values[:, mask.start : mask.start + sum(mask.sizes)] != 0)


def _allowed(action: Array, mask: Array) -> Array:
    """``action`` with every choice c that is not allowed replaced by allowed choice c modulo their number."""
    count = mask.sum(axis=-1, dtype=np.int32)
    rank = action % np.maximum(count, 1)
    replacement = (mask.cumsum(axis=-1) > rank[..., None]).argmax(axis=-1)
    forbidden = ~np.take_along_axis(mask, action[..., None], axis=-1)[..., 0] & (count > 0)
    return np.where(forbidden, replacement, action).astype(action.dtype)
