"""Humanoid of the CMU motion capture database: a robot with 56 joints stands, walks or runs."""

from __future__ import annotations

from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import ZY
from worldloom.envs.dm_suite.domains.humanoid import SPEEDS, Anatomy, define_humanoid
from worldloom.envs.dm_suite.task import default_model

ANATOMY = Anatomy("thorax", ZY, "thorax_subtreelinvel", ("lhand", "lfoot", "rhand", "rfoot"), 0.02)


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    return define_humanoid(id, default_model(model_file, "humanoid_CMU"), ANATOMY, SPEEDS[task], __doc__)
