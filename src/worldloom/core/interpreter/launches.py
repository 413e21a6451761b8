"""Launches on the interpreter: run for all worlds at once, with a check of the columns and worlds that they change."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.launch import LaunchNode
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.table import Table


def start(node: LaunchNode, simulation: Any) -> None:
    """Start the kernels of ``node``.

    InputError where they change a column that it does not name, or a world that its mask excludes.
    """
    tables: dict[str, Table] = simulation.tables
    checked = [] if node.engine else [column for table in tables.values() for column in table.all_columns.values()]
    before = [np.array(column.values) for column in checked]
    node.start(simulation.prepared, tables, (0, simulation.num_worlds), simulation.device, None)
    for column, old in zip(checked, before, strict=True):
        changed = column.values.reshape(len(old), -1).view(np.uint8) != old.reshape(len(old), -1).view(np.uint8)
        if changed.any():
            _check(node, column, changed.any(axis=1), tables[WORLD])


def _check(node: LaunchNode, column: Column, changed: Any, world: Table) -> None:
    """Check the rows of a column that ``node`` changed, shape (rows,), against its declaration."""
    if (column.table, column.field.name) not in node.writes:
        raise InputError(
            f"{node.label} changes {column.name}, which it does not say: name '{column.field.name}' in its 'writes'"
        )
    if node.mask is None or column.total is not None:
        return
    excluded = world[node.mask[0]].values != node.mask[1]
    wrong = np.flatnonzero(changed.reshape(len(excluded), -1).any(axis=1) & excluded)
    if wrong.size:
        fix = "let its kernels leave worlds alone where shard.mask differs from shard.value"
        raise InputError(f"{node.label} changes {column.name} of world {wrong[0]}, which it is not launched for: {fix}")
