"""Schedules and programs that all simulations of a definition share: making those of a large world takes a second."""

from __future__ import annotations

from dataclasses import replace

from worldloom.core.codegen.program import Program, generate
from worldloom.core.registry.definition import Definition
from worldloom.core.schedule.entries import Autoreset, Schedule
from worldloom.core.schedule.schedule import plan


def shared_schedule(definition: Definition, autoreset: Autoreset, checks: bool) -> Schedule:
    """As :func:`plan`, once per definition. The copy has aliases of its own, and shares everything else."""
    key = ("schedule", autoreset, checks)
    if key not in definition.derived:
        definition.derived[key] = plan(definition, autoreset, checks)
    schedule: Schedule = definition.derived[key]
    return replace(schedule, aliases={})


def shared_program(
    definition: Definition, schedule: Schedule, autoreset: Autoreset, checks: bool, fuse: bool, cuda: bool, exact: bool
) -> Program:
    """As :func:`generate`, once per definition, settings and aliases of the schedule."""
    key = ("program", autoreset, checks, fuse, cuda, exact, tuple(sorted(schedule.aliases.items())))
    if key not in definition.derived:
        definition.derived[key] = generate(schedule, fuse, cuda, exact)
    program: Program = definition.derived[key]
    return program
