"""Allocation of the tables of a simulation."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.fields import Role
from worldloom.core.registry.definition import Definition
from worldloom.core.runtime import memory
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.pooled_table import PooledTable
from worldloom.core.runtime.table import PopulationTable, Table
from worldloom.core.schedule.aliasing import aliased_components
from worldloom.core.schedule.entries import Schedule
from worldloom.core.schedule.table_views import TableView

_NOT_EXTERNAL = (Role.ENGINE, Role.CONFIG)


def set_aliases(schedule: Schedule, definition: Definition, external: Mapping[str, Any]) -> None:
    """Let observations that only repeat components share their memory, but for columns with external memory."""
    external_columns = {tuple(name.split(".", 1)) for name in external}
    aliases = aliased_components(definition).items()
    excluded = {whole for part, (whole, _) in aliases if part in external_columns or whole in external_columns}
    schedule.aliases = {part: target for part, target in aliases if target[0] not in excluded}


def check_size(schedule: Schedule, world: str, num_worlds: int, device: wp.Device, external: Mapping[str, Any]) -> None:
    """InputError where a table has too many rows, or where the device has too little memory."""
    counts = schedule.counts
    if max(counts.pooled(table) or num_worlds * counts[table] for table in schedule.tables) >= 2**31:
        raise InputError(f"{num_worlds} worlds make more than 2^31 rows in one table: use fewer worlds per simulation")
    size = memory.bytes_needed(schedule, num_worlds, external)
    memory.require_bytes(size, device, f"{num_worlds:,} worlds of '{world}'")


def allocate_tables(
    schedule: Schedule, num_worlds: int, device: wp.Device, external: Mapping[str, Any]
) -> dict[str, Table]:
    """The tables by name. ``external`` is the caller's memory for columns, by ``Table.name``."""
    tables: dict[str, Table] = {}
    unused = dict(external)
    for name, view in schedule.tables.items():
        columns = _allocate_columns(schedule, name, view, num_worlds, device, unused, tables)
        population = schedule.counts.populations.get(name)
        if population is None:
            tables[name] = Table(name, columns, schedule.counts[name])
        else:
            kind = PooledTable if population.pooled else PopulationTable
            tables[name] = kind(population, columns, tables[WORLD].all_columns)
    for population in schedule.counts.populations.values():
        if population.agents:
            tables[population.table].__dict__["rows_of_agents"] = tables[population.agent_table]
    if unused:
        known = ", ".join(c.name for t in tables.values() for c in t if c.field.role not in _NOT_EXTERNAL)
        raise InputError(f"there is no column '{next(iter(unused))}' to be external: there are {known}")
    _refuse_overlaps([column for table in tables.values() for column in table if column.name in external])
    return tables


def _refuse_overlaps(columns: list[Column]) -> None:
    """Raise InputError where two columns have memory in common: kernels assume that a store changes one column."""
    ordered = sorted((column for column in columns if column.nbytes), key=lambda column: int(column.array.ptr))
    for one, other in itertools.pairwise(ordered):
        if int(other.array.ptr) < int(one.array.ptr) + one.nbytes:
            raise InputError(
                f"the external columns {one.name} and {other.name} have memory in common: give each its own"
            )


def _allocate_columns(
    schedule: Schedule,
    table: str,
    view: TableView,
    num_worlds: int,
    device: wp.Device,
    external: dict[str, Any],
    tables: Mapping[str, Table],
) -> dict[str, Column]:
    """The columns of one table. Takes the memory that it uses out of ``external``. ``tables`` come before it."""
    count, total = schedule.counts[table], schedule.counts.pooled(table)
    population = schedule.counts.populations.get(table)
    # In a pooled table, a stale reference of an empty world leads to a hidden row.
    hidden_rows = 1 if population is not None and population.pooled else 0
    columns: dict[str, Column] = {}
    shared = schedule.counts.aliased_columns
    # Aliases come last, since they are views of other columns.
    for field in sorted(view.fields.values(), key=lambda field: (table, field.name) in schedule.aliases):
        buffer = external.pop(f"{table}.{field.name}", None) if field.role not in _NOT_EXTERNAL else None
        whole, element = schedule.aliases.get((table, field.name), (None, 0))
        view_of = None if whole is None else (columns[whole[1]], element)
        twin = shared.get((table, field.name))
        same_as = None if twin is None else tables[twin[0]][twin[1]]
        columns[field.name] = Column(
            table, field, num_worlds, count, device, buffer, total, view_of, hidden_rows, same_as
        )
    return {name: columns[name] for name in (field.name for field in view.fields.values())}
