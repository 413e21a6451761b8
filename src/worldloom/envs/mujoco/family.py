"""Ids of Gymnasium's MuJoCo tasks, such as ``Ant-v5``, and their resolution to definitions."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition

TASKS = {
    "Ant": "ant",
}
"""The module of each task, by the name in its id."""
VERSIONS = ("v5",)
_ID = re.compile(rf"(?P<task>{'|'.join(TASKS)})-(?P<version>v\d+)")


class MujocoFamily:
    """The family of Gymnasium's MuJoCo tasks. Its settings are the arguments of Gymnasium's environments."""

    name = "MuJoCo"
    per_world_settings: Mapping[str, str] = {}

    @functools.cached_property
    def settings(self) -> frozenset[str]:
        """The names of the settings of all tasks."""
        fields = (dataclasses.fields(_settings(_module(task), version)) for task in TASKS for version in VERSIONS)
        return frozenset(field.name for task in fields for field in task)

    def ids(self) -> Sequence[str]:
        return [f"{task}-{version}" for task in TASKS for version in VERSIONS]

    def owns(self, id: str) -> bool:
        return _ID.fullmatch(id) is not None

    def given(self, id: str) -> Sequence[str]:
        return []

    def make(self, id: str, settings: Mapping[str, Any]) -> Definition:
        match = _ID.fullmatch(id)
        assert match is not None
        task, version = match["task"], match["version"]
        if version not in VERSIONS:
            raise InputError(f"{version} is of an old engine, as in Gymnasium: use {task}-v5")
        module = _module(task)
        kind = _settings(module, version)
        known = [field.name for field in dataclasses.fields(kind)]
        for name in settings:
            if name not in known:
                raise InputError(f"it has no setting '{name}'; its settings are {', '.join(known)}")
        return _define(module, id, kind(**{name: _hashable(value) for name, value in settings.items()}))


def _module(task: str) -> ModuleType:
    return importlib.import_module(f"worldloom.envs.mujoco.{TASKS[task]}")


def _settings(module: ModuleType, version: str) -> type[Any]:
    """The settings of a task: the class ``Settings``, or ``SettingsV4`` for ``v4`` where they differ."""
    name = f"Settings{version.upper()}"
    settings: type[Any] = getattr(module, name, None) or module.Settings
    return settings


@functools.lru_cache(maxsize=64)
def _define(module: ModuleType, id: str, settings: Any) -> Definition:
    definition: Definition = module.define(id, settings)
    return definition


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
