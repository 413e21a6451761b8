"""LocomotionHumanoid-v0: a humanoid with 21 motors runs forward."""

from __future__ import annotations

from worldloom.envs.locomotion.task import Task, define

HUMANOID = define(
    "LocomotionHumanoid-v0",
    Task(model="humanoid.xml", keyframe=None, alive=2.0, min_height=0.8, start_height=0.05),
    __doc__ or "",
)
