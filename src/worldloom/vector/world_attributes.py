"""Attributes of the worlds of a batch, as Gymnasium's ``get_attr``, ``set_attr`` and ``call`` address them.

A world has no environment object of its own. Its attributes are its configuration and its components, by name or as
``Table.name``, and the attributes that all environments of a batch share, such as ``render_mode``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.families import closest_first
from worldloom.core.model.fields import Role
from worldloom.core.runtime.column import Column
from worldloom.core.simulation import Simulation
from worldloom.vector.world_batch import WorldBatch


def get_world_values(simulation: Simulation, name: str) -> tuple[Any, ...]:
    """The value of a configuration or component in every world.

    Returns:
        One number per world, or one array of shape (count, ...); there is no axis of entities where there is one.

    Raises:
        AttributeError: If there is none of this name.
    """
    column = _find_column(simulation, name)
    values = column.numpy()
    if column.field.role is Role.CONFIG and len(values) == 1:
        values = np.broadcast_to(values, (simulation.num_worlds, *values.shape[1:]))
    elif column.table != WORLD and column.count == 1:
        values = values[:, 0]
    return tuple(value.copy() if value.ndim else value.item() for value in map(np.asarray, values))


def set_world_values(simulation: Simulation, name: str, values: Any) -> None:
    """Set a configuration or component: a list or tuple holds one value per world, anything else is for all.

    Raises:
        AttributeError: If there is none of this name.
        InputError: If the values do not fit.
    """
    column, count = _find_column(simulation, name), simulation.num_worlds
    per_world = isinstance(values, (list, tuple))
    if per_world and len(values) != count:
        raise InputError(f"set_attr('{name}') needs one value for all worlds or {count}, not {len(values)}")
    if column.field.role is Role.CONFIG:
        simulation.set_config(column.field.name, values)
        return
    array = to_numpy(values, f"the values of '{name}'")
    shape = column.shape if column.table == WORLD or column.count > 1 else (count, *column.shape[2:])
    if array.shape not in (shape, shape[1:]):
        raise InputError(f"'{name}' is one value of shape {shape[1:]}, or {count} of them, not shape {array.shape}")
    column.assign(np.broadcast_to(array, shape).reshape(column.shape))
    simulation.note_external_change()


def _find_column(simulation: Simulation, name: str) -> Column:
    """The column of a component by ``name`` or ``Table.name``; the world's own come first."""
    table, _, component = name.rpartition(".")
    tables = {table: simulation.tables[table]} if table in simulation.tables else {} if table else simulation.tables
    found = [owner.all_columns[component] for owner in tables.values() if component in owner.all_columns]
    if found and found[0].total is not None:
        raise AttributeError(f"the worlds share the rows of '{name}': read it with simulation['{found[0].table}']")
    if len(found) == 1 or (found and found[0].table == WORLD):
        return found[0]
    if found:
        names = ", ".join(column.name for column in found)
        raise AttributeError(f"'{name}' is a component of several tables: name one of {names}")
    known = [column.name for owner in simulation.tables.values() for column in owner]
    raise AttributeError(
        f"the worlds of '{simulation.definition.id}' have no attribute '{name}': "
        f"they have {', '.join(closest_first(name, known))}"
    )


class WorldAttributes:
    """The methods of a Gymnasium vector environment that read and write attributes of its environments."""

    simulation: Simulation
    batch: WorldBatch
    num_envs: int

    def render(self) -> tuple[Any, ...] | None:
        raise NotImplementedError

    def _world_seeds(self) -> tuple[int, ...]:
        raise NotImplementedError

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every world, or read an attribute as :meth:`get_attr` does.

        Worlds have the methods ``render``, ``get_wrapper_attr``, ``has_wrapper_attr`` and ``set_wrapper_attr``.
        """
        if name in ("reset", "step", "close"):
            raise InputError(f"call('{name}') would bypass the batch: use {name}()")
        if name == "render":
            frames = self.render()
            return (None,) * self.num_envs if frames is None else frames
        if name in _WRAPPER_METHODS:
            return _WRAPPER_METHODS[name](self, *args, **kwargs)
        return self.get_attr(name)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of every world: its configuration, a component (``x`` or ``Cart.x``), or one of Gymnasium's.

        Raises:
            AttributeError: If a world has none of this name.
        """
        if name in _SHARED_ATTRIBUTES:
            return (getattr(self, _SHARED_ATTRIBUTES[name]),) * self.num_envs
        if name == "np_random_seed":
            return self._world_seeds()
        self.batch.check_open()
        return get_world_values(self.simulation, name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set a configuration or component of the worlds: a list or tuple holds one value each, else one for all."""
        if name in (*_SHARED_ATTRIBUTES, "np_random_seed"):
            raise InputError(f"'{name}' belongs to all worlds of the batch: pass it to make")
        self.batch.check_open()
        set_world_values(self.simulation, name, values)

    def _has_attr(self, name: str) -> tuple[bool, ...]:
        try:
            self.get_attr(name)
        except AttributeError:
            return (False,) * self.num_envs
        return (True,) * self.num_envs

    def _set_one_attr(self, name: str, value: Any) -> tuple[bool, ...]:
        self.set_attr(name, value)
        return (True,) * self.num_envs


_SHARED_ATTRIBUTES = {
    "action_space": "single_action_space",
    "metadata": "metadata",
    "np_random": "np_random",
    "observation_space": "single_observation_space",
    "render_mode": "render_mode",
    "spec": "spec",
}
"""Attributes of a single environment that all worlds share, with the attribute of the batch."""
_WRAPPER_METHODS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "get_wrapper_attr": WorldAttributes.get_attr,
    "has_wrapper_attr": WorldAttributes._has_attr,
    "set_wrapper_attr": WorldAttributes._set_one_attr,
}
"""Gymnasium's methods of a single environment that read and write its attributes."""
