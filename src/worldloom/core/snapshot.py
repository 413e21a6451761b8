"""The whole state of a simulation as tensors by name, taken and put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from worldloom.core.errors import InputError
from worldloom.core.fields import Role
from worldloom.core.table import Column

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


def take(simulation: Simulation) -> dict[str, Any]:
    """A copy of every column, as PyTorch tensors on the simulation's device, by ``Table.name``. It is all that a later step depends on."""
    return {name: column.torch().clone() for name, column in _columns(simulation).items()}


def restore(simulation: Simulation, tensors: Mapping[str, Any]) -> None:
    """Put back what :func:`take` took; steps that follow give the same bits. InputError where it is of another world or size."""
    columns = _columns(simulation)
    if set(tensors) != set(columns):
        odd = ", ".join(sorted(set(tensors) ^ set(columns))[:4])
        raise InputError(f"the saved state is not one of world '{simulation.definition.id}': it differs in the columns {odd}")
    for name, column in columns.items():
        shape = tuple(tensors[name].shape)
        if column.field.role is not Role.CONFIG and (shape != column.shape or tensors[name].dtype != column.torch().dtype):
            raise InputError(f"the saved column {name} has shape {shape}, but this simulation of {simulation.num_worlds} worlds holds {column.shape}")
    for name, column in columns.items():
        if column.field.role is Role.CONFIG:
            simulation.set_config(name.partition(".")[2], tensors[name][0] if len(tensors[name]) == 1 else tensors[name])
        else:
            column.torch().copy_(tensors[name])
    simulation.untouched = False


def _columns(simulation: Simulation) -> dict[str, Column]:
    return {c.name: c for t in simulation.tables.values() for c in t.columns.values()}
