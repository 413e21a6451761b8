"""FlagrunHarder-v0: four humanoids in one world run to changing targets, collide, fall and stand up."""

from __future__ import annotations

from worldloom.core.registry.definition import Definition
from worldloom.envs.locomotion.task import Task, define
from worldloom.envs.locomotion.terrain import Terrain

AGENTS = 4


def define_flagrun(
    id: str, agents: int = AGENTS, spacing: float = 2.0, target_distance: float = 100.0, terrain: Terrain | None = None
) -> Definition:
    """Register the task under ``id``.

    Args:
        id: The id.
        agents: Humanoids per world; they can collide.
        spacing: Distance between their starts, in metres.
        target_distance: Distance of a target, at most, in metres.
        terrain: Obstacles; None for flat ground.
    """
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
        target_distance=target_distance,
        terrain=terrain,
    )
    return define(id, task, __doc__ or "")


FLAGRUN = define_flagrun("FlagrunHarder-v0")
