"""The configuration of a simulation: reading it, and changing it while the simulation runs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from worldloom.core.base import shards
from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.families import closest_first, family_of
from worldloom.core.model.fields import Role
from worldloom.core.registry.definition import Definition
from worldloom.core.runtime.column import Column, castable
from worldloom.core.runtime.config_values import check_limits, check_range
from worldloom.core.runtime.simulation_part import SimulationPart

if TYPE_CHECKING:
    from worldloom.core.runtime.table import Table

PACKAGE = f"{__name__.partition('.')[0]}."


def _level_of_caller() -> int:
    """The stack level of the first caller outside of this package, for a warning of the function that calls this."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


class ConfigMixin(SimulationPart):
    """The part of a simulation that holds its configuration."""

    definition: Definition
    tables: dict[str, Table]
    config_version: int = 0
    """Number of changes of the configuration. Derived values, and graphs that use its memory, hold for one version."""

    _last_warning: str | None = None

    def get_config(self, name: str) -> Any:
        """The value of a configuration, or an array with one per world where it was set per world."""
        values = self._config(name).numpy()
        return values[0] if len(values) == 1 else values

    def set_config(self, name: str, value: Any) -> None:
        """Change a configuration while the simulation runs: one value, or one per world. Nothing is compiled."""
        self._assign_config(name, value)
        self._warn_of_config([name])

    def _warn_of_config(self, names: Collection[str]) -> None:
        """Warn of what the world says about its configuration once some of it was set, unless it said so before."""
        warning = self.definition.world.config_warning(names, lambda name: self._config(name).numpy())
        if warning is not None and warning != self._last_warning:
            self._last_warning = warning
            warnings.warn(f"world '{self.definition.id}': {warning}", stacklevel=_level_of_caller())

    def _assign_config(self, name: str, value: Any) -> None:
        num_worlds = self._simulation().num_worlds
        column, array = self._config(name), to_numpy(value, f"configuration '{name}'")
        shape = column.field.value_shape
        if not castable(array.dtype.name, column.dtype):
            raise InputError(f"configuration '{name}' holds {column.dtype.name}, not {value!r}")
        per_world = array.shape == (num_worlds, *shape)
        if not per_world and array.shape != shape:
            expected = f"one value of shape {shape}, or {num_worlds} of them"
            raise InputError(f"configuration '{name}' is {expected}, not shape {array.shape}")
        check_limits(self.definition, name, array)
        check_range(column, array)
        self._resize_config(column, num_worlds if per_world and array.ndim > len(shape) else 1)
        column.assign(array.reshape(column.shape))
        self.config_version += 1

    def _config(self, name: str) -> Column:
        if not isinstance(name, str):
            raise InputError(f"a configuration is named by a string such as 'max_steps', not by {name!r}")
        column = self._simulation().world.all_columns.get(name)
        if column is None or column.field.role is not Role.CONFIG:
            raise self._unknown_config(name)
        return column

    def _unknown_config(self, name: str) -> InputError:
        world, family = self.definition.id, family_of(self.definition.id)
        if family is not None and name in family.settings:
            fixed = f"world '{world}', which is made with it and keeps it"
            return InputError(f"'{name}' is a setting of {fixed}: give it with the id, as in id:{name}=value")
        fields = [column.field for column in self.tables[WORLD] if column.field.role is Role.CONFIG]
        # Arrays in the configuration of a family are internal to it.
        names = [field.name for field in fields if family is None or not field.value_shape]
        return InputError(
            f"world '{world}' has no configuration '{name}': it has {', '.join(closest_first(name, names))}"
        )

    def _resize_config(self, column: Column, rows: int) -> None:
        """Let a configuration hold one value, or one per world. Graphs are recorded again where its memory changes."""
        if column.array.shape[0] != rows:
            with shards.WARP_LOCK:
                column.resize(rows)
            executor = getattr(self, "executor", None)
            if executor is not None:
                executor.invalidate()
