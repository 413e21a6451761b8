"""Scratch memory of a pooled population, which the kernels of a compaction share.

It has no meaning between two steps, so it is no part of a simulation's tables and snapshots. Only the columns that the
kernels of the device take are allocated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import warp as wp

from worldloom.core.model.fields import Field, Role
from worldloom.core.model.population import ROW_WORLD, Population

CURSOR, MOVING, ACTIVE, STAGED, ROOM = range(5)
"""The elements of ``state``: staging rows taken, whether a world has changed, whether there is something to compact,
the number of spawned entities, and the number of free rows."""


def _field(name: str, dtype: type = wp.int32) -> Field:
    return Field(name, dtype, role=Role.ENGINE, keep=True, transient=True)


STATE = _field("state")

PER_WORLD = ("kept", "filed", "copied", "before")
"""Columns with a row per world: survivors, spawned entities sorted so far, rows moved; and the sums of survivors, of
spawned entities that fit into their world and of all spawned entities over the worlds before it in its warp."""


def spare(name: str) -> str:
    """The column that holds a component while rows are moved."""
    return f"spare_{name}"


def fields(population: Population, own: Mapping[str, Field]) -> dict[str, Field]:
    """Every column of a population's scratch memory; ``own`` are those of its table."""
    columns = [
        STATE,
        *[_field(n) for n in PER_WORLD[:-1]],
        _field("before", wp.vec3i),
        _field("sums", wp.vec3i),
        _field("order"),
    ]
    columns += [
        replace(f, name=spare(n), role=Role.ENGINE, transient=True)
        for n, f in own.items()
        if n != ROW_WORLD and not f.transient
    ]
    return {f.name: f for f in columns}
