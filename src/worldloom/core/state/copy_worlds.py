"""Copies of worlds onto other worlds of the same simulation, for tree search and curricula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldloom.core.base.errors import InputError
from worldloom.core.runtime.pooled_table import PooledTable
from worldloom.core.state import columns

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


def copy_worlds(simulation: Simulation, sources: Any, targets: Any) -> None:
    """Make the worlds ``targets`` copies of ``sources``; see ``Simulation.copy_worlds``."""
    import torch

    pooled = [table for table in simulation.tables.values() if isinstance(table, PooledTable)]
    pooled_columns = {column.name for table in pooled for column in table.copied_columns}
    columns.require_rows_per_world(simulation, but=pooled_columns)
    target_ids = columns.world_ids(simulation, targets, "the targets", distinct=True)
    source_ids = columns.world_ids(simulation, sources, "the sources")
    if len(source_ids) not in (1, len(target_ids)):
        counts = f"{len(source_ids)} sources cannot be copied onto {len(target_ids)} targets"
        raise InputError(f"{counts}: give one source, or one for each target")
    source_of = torch.arange(simulation.num_worlds, device=target_ids.device)
    source_of.index_copy_(0, target_ids, source_ids.expand(len(target_ids)))
    for table in pooled:
        table.require_capacity(source_of)
    for name, column in columns.state_columns(simulation).items():
        tensor = column.torch()
        shared = name in pooled_columns or (columns.is_config(column) and len(tensor) == 1)
        if not shared and column.owns_memory and not column.field.transient:
            columns.scatter_rows(tensor, target_ids, columns.gather_rows(tensor, source_ids))
    for table in pooled:
        table.copy_worlds(source_of)
    simulation.note_external_change()
