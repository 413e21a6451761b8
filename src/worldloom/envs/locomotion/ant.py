"""LocomotionAnt-v0: a robot with four legs runs forward."""

from __future__ import annotations

from worldloom.envs.locomotion.task import Task, define

ANT = define("LocomotionAnt-v0", Task(model="ant.xml", keyframe="start", alive=0.5, min_height=0.31), __doc__ or "")
