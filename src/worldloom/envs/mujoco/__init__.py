"""Gymnasium's MuJoCo tasks on :mod:`worldloom.robots`: one module per task, and the family of their ids."""

from __future__ import annotations

from worldloom.core.model.families import add_family
from worldloom.envs.mujoco.family import MujocoFamily


def register_family() -> None:
    """Make the ids of all tasks known. A task's module is imported when its id is first used."""
    add_family(MujocoFamily())
