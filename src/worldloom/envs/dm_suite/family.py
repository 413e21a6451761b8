"""Ids of the DeepMind Control Suite's tasks, such as ``CheetahRun-v1``, and their resolution to definitions."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition

DOMAINS: dict[str, tuple[str, ...]] = {
    "acrobot": ("swingup", "swingup_sparse"),
    "ball_in_cup": ("catch",),
    "cartpole": ("balance", "balance_sparse", "swingup", "swingup_sparse", "two_poles", "three_poles"),
    "cheetah": ("run",),
    "dog": ("stand", "walk", "trot", "run", "fetch"),
    "finger": ("spin", "turn_easy", "turn_hard"),
    "fish": ("upright", "swim"),
    "hopper": ("stand", "hop"),
    "humanoid": ("stand", "walk", "run", "run_pure_state"),
    "humanoid_CMU": ("stand", "walk", "run"),
    "lqr": ("lqr_2_1", "lqr_6_2"),
    "manipulator": ("bring_ball", "bring_peg", "insert_ball", "insert_peg"),
    "pendulum": ("swingup",),
    "point_mass": ("easy", "hard"),
    "quadruped": ("walk", "run", "escape", "fetch"),
    "reacher": ("easy", "hard"),
    "stacker": ("stack_2", "stack_4"),
    "swimmer": ("swimmer6", "swimmer15"),
    "walker": ("stand", "walk", "run"),
}
"""The tasks of each domain, by dm_control's names."""
MODULES = {
    "dog": "dog.tasks",
    "manipulator": "arms.manipulator",
    "quadruped": "quadruped.tasks",
    "stacker": "arms.stacker",
}
"""The modules of domains with a folder of their own."""


def id_of(domain: str, task: str) -> str:
    """The id of a task, formed as EnvPool forms it: ``ball_in_cup`` and ``catch`` give ``BallInCupCatch-v1``."""
    words = [word for name in (domain, task) for word in name.split("_")]
    return "".join(word[:1].upper() + word[1:] for word in words) + "-v1"


TASKS = {id_of(domain, task): (domain, task) for domain, tasks in DOMAINS.items() for task in tasks}
"""Domain and task by id."""


def suite_summary() -> str:
    """One sentence about the tasks."""
    return f"DeepMind Control Suite: {len(TASKS)} tasks, such as CheetahRun-v1: {', '.join(DOMAINS)}."


class SuiteFamily:
    """The family of the DeepMind Control Suite's tasks."""

    name = "DeepMind Control Suite"
    per_world_settings: Mapping[str, str] = {}
    settings = frozenset({"model_file"})

    def ids(self) -> Sequence[str]:
        return list(TASKS)

    def owns(self, id: str) -> bool:
        return id in TASKS

    def given(self, id: str) -> Sequence[str]:
        return []

    def make(self, id: str, settings: Mapping[str, Any]) -> Definition:
        for name in settings:
            if name not in self.settings:
                raise InputError(f"it has no setting '{name}'; its settings are {', '.join(sorted(self.settings))}")
        return _define(id, str(settings.get("model_file", "")))


@functools.lru_cache(maxsize=64)
def _define(id: str, model_file: str) -> Definition:
    domain, task = TASKS[id]
    path = MODULES.get(domain, f"domains.{domain.lower()}")
    module = importlib.import_module(f"worldloom.envs.dm_suite.{path}")
    definition: Definition = module.define(id, task, model_file)
    return definition
