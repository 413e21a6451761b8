"""FlagrunHarder-v0: four humanoids in one world run to changing targets, collide, fall and stand up."""

from __future__ import annotations

from worldloom.core.registry.definition import Definition
from worldloom.envs.locomotion.task import Task, define

AGENTS = 4


def define_flagrun(id: str, agents: int = AGENTS, spacing: float = 2.0) -> Definition:
    """Register the task under ``id`` with another number of humanoids per world, ``spacing`` metres apart."""
    task = Task(
        model="humanoid.xml",
        keyframe=None,
        alive=2.0,
        min_height=0.8,
        fall_frames=160,
        start_height=0.05,
        target_frames=200,
        agents=agents,
        spacing=spacing,
    )
    return define(id, task, __doc__ or "")


FLAGRUN = define_flagrun("FlagrunHarder-v0")
