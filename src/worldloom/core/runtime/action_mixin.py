"""The actions of a simulation: copied from arrays and tensors into the action columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.runtime.action_range import out_of_range_actions
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.fault_mixin import FaultMixin


class ActionMixin(FaultMixin):
    """The part of a simulation that takes actions. Actions out of range are faults."""

    _actions: list[Column]

    def _assign_actions(self, actions: Any) -> None:
        if len(self._actions) == 1 and not isinstance(actions, Mapping):
            column = self._actions[0]
            if hasattr(actions, "data_ptr"):
                tensor = column.torch()
                if actions.dtype == tensor.dtype and actions.shape == tensor.shape:
                    tensor.copy_(actions.detach())
                    return
            self._assign(column, actions)
            return
        world = f"world '{self.definition.id}'"
        columns = self._action_columns()
        if not isinstance(actions, Mapping):
            names = ", ".join(columns) or "nothing"
            raise InputError(f"{world} takes actions for {names}: hand in a mapping with one array for each")
        tables = {column.name: column for column in self._actions}  # for populations of agents, other names
        for key, values in actions.items():
            name = key if isinstance(key, str) else self._action_of(key)
            if name not in columns and name not in tables:
                raise InputError(f"there is no action '{name}': {world} takes {', '.join(columns)}")
            self._assign(columns[name] if name in columns else tables[name], values)

    def _assign(self, column: Column, actions: Any) -> None:
        """Copy actions into their column. Keep those out of range until the faults that they cause are read."""
        values = _with_entity_axis(actions, column.shape)
        if outside := out_of_range_actions(values, column):
            self._read_faults()  # of earlier steps
            self._out_of_range.update(outside)
        column.assign(values)

    def _action_of(self, kind: Any) -> str:
        """The name of the one action of a kind of entity."""
        table = getattr(kind, "__name__", repr(kind))
        names = [name for name in self._action_columns() if name.startswith(f"{table}.")]
        return names[0] if len(names) == 1 else table

    def _action_columns(self) -> dict[str, Column]:
        """The action columns by ``Kind.name``."""
        return dict(zip(self.definition.actions(), self._actions, strict=True))


def _with_entity_axis(values: Any, shape: tuple[int, ...]) -> Any:
    """``values`` with the axis of entities inserted where it is missing and there is one entity."""
    if not hasattr(values, "shape"):
        values = to_numpy(values, "the actions")
    if len(shape) > 1 and shape[1] == 1 and tuple(values.shape) == shape[:1] + shape[2:]:
        return values.reshape(shape)
    return values
