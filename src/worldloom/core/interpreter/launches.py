"""Launches on the interpreter: started for all worlds at once, and held to the columns and the worlds that they may change."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.launch import LaunchNode
from worldloom.core.runtime.table import Column, Table


def start(node: LaunchNode, simulation: Any) -> None:
    """Start the kernels of ``node``; InputError where they change a column that it does not name, or a world that its mask leaves out."""
    tables: dict[str, Table] = simulation.tables
    watched = [] if node.engine else [column for table in tables.values() for column in table.columns.values()]
    before = [np.array(column.values) for column in watched]
    node.start(simulation.prepared, tables, (0, simulation.num_worlds), simulation.device, None)
    for column, kept in zip(watched, before, strict=True):
        changed = column.values.reshape(len(kept), -1).view(np.uint8) != kept.reshape(len(kept), -1).view(np.uint8)
        if changed.any():
            _check(node, column, changed.any(axis=1), tables[WORLD])


def _check(node: LaunchNode, column: Column, changed: Any, world: Table) -> None:
    """Hold ``node`` to what it says, given the rows of a column that it changed, shape (rows,)."""
    if (column.table, column.field.name) not in node.writes:
        raise InputError(
            f"{node.label} changes {column.name}, which it does not say: name '{column.field.name}' in its 'writes'"
        )
    if node.mask is None or column.total is not None:
        return
    left_out = world[node.mask[0]].values != node.mask[1]
    wrong = np.flatnonzero(changed.reshape(len(left_out), -1).any(axis=1) & left_out)
    if wrong.size:
        fix = "let its kernels leave worlds alone where shard.mask differs from shard.value"
        raise InputError(f"{node.label} changes {column.name} of world {wrong[0]}, which it is not launched for: {fix}")
