"""Scratch memory of a population whose rows are those of the whole batch: what the kernels of a settlement tell one another.

It means nothing between two steps, so that it is no part of a simulation's tables and of its snapshots, and only the columns that
some kernel of the device takes are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import warp as wp

from worldloom.core.model.fields import Field, Role
from worldloom.core.model.population import DESPAWNED, ROW_WORLD, Population

CURSOR, MOVING, ACTIVE, STAGED, ROOM = range(5)
"""What the elements of ``state`` are: places taken among the new ones, whether some world has changed, whether the settlement has
anything to do, how many new ones there are, and how many of them there is room for."""


def _field(name: str, dtype: type = wp.int32) -> Field:
    return Field(name, dtype, role=Role.ENGINE, keep=True, transient=True)


STATE = _field("state")

PER_WORLD = ("kept", "filed", "copied", "before")
"""How many stay, how many new ones have been put in order, how many have moved; and how many stay, want in and were born in the
worlds before it, of the 32 that a warp scans."""


def spare(name: str) -> str:
    """Where a component waits while the rows are in motion."""
    return f"spare_{name}"


def fields(population: Population, own: Mapping[str, Field]) -> dict[str, Field]:
    """Every column of a population's scratch memory; ``own`` are those of its table."""
    made = [
        STATE,
        *[_field(n) for n in PER_WORLD[:-1]],
        _field("before", wp.vec3i),
        _field("sums", wp.vec3i),
        _field("order"),
    ]
    made += [
        replace(f, name=spare(n), role=Role.ENGINE, transient=True)
        for n, f in own.items()
        if n not in (DESPAWNED, ROW_WORLD)
    ]
    return {f.name: f for f in made}
