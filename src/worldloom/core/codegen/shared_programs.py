"""Schedules and programs that all simulations of a definition share: making those of a large world takes a second."""

from __future__ import annotations

from dataclasses import replace

from worldloom.core.codegen.program import Program, generate
from worldloom.core.codegen.resets.world_lists import NO_LISTS, list_width
from worldloom.core.codegen.stages import MAX_THREADS_PER_WORLD, uneven_width
from worldloom.core.codegen.tiles.tiled_kernel import SMALL_BATCH_LIMITS, TileLimits, tile_limits
from worldloom.core.registry.definition import Definition
from worldloom.core.schedule.entries import Autoreset, Schedule
from worldloom.core.schedule.schedule import plan


def shared_schedule(
    definition: Definition, autoreset: Autoreset, checks: bool, lasting: frozenset[str] = frozenset()
) -> Schedule:
    """As :func:`plan`, once per definition. The copy has aliases of its own, and shares everything else."""
    key = ("schedule", autoreset, checks, lasting)
    if key not in definition.derived:
        definition.derived[key] = plan(definition, autoreset, checks, lasting)
    schedule: Schedule = definition.derived[key]
    return replace(schedule, aliases={})


def shared_program(
    definition: Definition,
    schedule: Schedule,
    autoreset: Autoreset,
    checks: bool,
    fuse: bool,
    cuda: bool,
    exact: bool,
    num_worlds: int,
    shared_memory: int = 0,
) -> Program:
    """As :func:`generate`, once per definition, settings, columns that share memory, and class of batch size on a GPU.

    ``shared_memory``: bytes that a block of the GPU can have.
    """
    widths: tuple[int, int, TileLimits] = MAX_THREADS_PER_WORLD, NO_LISTS, SMALL_BATCH_LIMITS
    if cuda and fuse:
        widths = uneven_width(num_worlds), list_width(num_worlds), tile_limits(num_worlds, shared_memory)
    shared = frozenset(schedule.aliases.items()), frozenset(schedule.counts.aliased_columns)
    key = ("program", autoreset, checks, fuse, cuda, exact, widths, *shared)
    if key not in definition.derived:
        definition.derived[key] = generate(schedule, fuse, cuda, exact, *widths)
    program: Program = definition.derived[key]
    return program
