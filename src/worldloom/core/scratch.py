"""Scratch memory of a population whose rows are those of the whole batch: what the kernels of a settlement tell one another.

It means nothing between two steps, so that it is no part of a simulation's tables and of its snapshots, and only the columns that
some kernel of the device takes are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import warp as wp

from worldloom.core.fields import Field, Role
from worldloom.core.population import DEAD, HOME, Population
from worldloom.core.population_kernels import LANES
from worldloom.core.table import Column, Table

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
    made = [STATE, *[_field(n) for n in PER_WORLD[:-1]], _field("before", wp.vec3i), _field("sums", wp.vec3i), _field("order")]
    made += [replace(f, name=spare(n), role=Role.ENGINE, transient=True) for n, f in own.items() if n not in (DEAD, HOME)]
    return {f.name: f for f in made}


def rows(population: Population, name: str, num_worlds: int) -> int:
    """How many rows one of the columns has."""
    if name == STATE.name:
        return 5
    if name in PER_WORLD:
        return num_worlds
    return (num_worlds + LANES - 1) // LANES if name == "sums" else int(population.limit.batch or 0)


def allocate(
    populations: Iterable[Population], known: Mapping[str, Mapping[str, Field]], used: set[tuple[str, str]], num_worlds: int, device: wp.Device
) -> dict[str, Table]:
    """The scratch tables by name, with those of the ``known`` fields that kernels use."""
    found: dict[str, Table] = {}
    for population in populations:
        name = population.scratch_table
        columns = {
            n: Column(name, f, num_worlds, 1, device, total=rows(population, n, num_worlds)) for n, f in known.get(name, {}).items() if (name, n) in used
        }
        if columns:
            found[name] = Table(name, columns, 1)
    return found
