"""Forks: worlds copied onto other worlds of the same simulation, for search and for curricula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldloom.core.base.errors import InputError
from worldloom.core.runtime.pooled_table import PooledTable
from worldloom.core.state.columns import (
    gather_rows,
    is_config,
    require_rows_per_world,
    scatter_rows,
    state_columns,
    world_ids,
)

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


def copy_worlds(simulation: Simulation, sources: Any, targets: Any) -> None:
    """Make the worlds ``targets`` copies of ``sources``, as if all were copied at once; see ``Simulation.copy_worlds``."""
    import torch

    shared = [table for table in simulation.tables.values() if isinstance(table, PooledTable)]
    moved = {column.name for table in shared for column in table.copied_columns}
    require_rows_per_world(simulation, but=moved)
    into = world_ids(simulation, targets, "the targets", distinct=True)
    out_of = world_ids(simulation, sources, "the sources")
    if len(out_of) not in (1, len(into)):
        raise InputError(
            f"{len(out_of)} sources cannot be copied onto {len(into)} targets: give one source, or one for each target"
        )
    chosen = torch.arange(simulation.num_worlds, device=into.device).index_copy_(0, into, out_of.expand(len(into)))
    for table in shared:
        table.require_capacity(chosen)
    for name, column in state_columns(simulation).items():
        tensor = column.torch()
        if name not in moved and not column.field.transient and not (is_config(column) and len(tensor) == 1):
            scatter_rows(tensor, into, gather_rows(tensor, out_of))
    for table in shared:
        table.copy_worlds(chosen)
    simulation.note_external_change()
