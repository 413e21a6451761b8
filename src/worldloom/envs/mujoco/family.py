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
    "HalfCheetah": "half_cheetah",
    "Hopper": "hopper",
    "Humanoid": "humanoid",
    "HumanoidStandup": "humanoid_standup",
    "InvertedDoublePendulum": "inverted_double_pendulum",
    "InvertedPendulum": "inverted_pendulum",
    "Pusher": "pusher",
    "Reacher": "reacher",
    "Swimmer": "swimmer",
    "Walker2d": "walker2d",
}
"""The module of each task, by the name in its id."""
IDS = (*(f"{task}-v5" for task in TASKS), *(f"{task}-v4" for task in TASKS if task != "Pusher"))
"""The ids of all worlds. Pusher-v4 needs MuJoCo 2."""
_ID = re.compile(rf"(?P<task>{'|'.join(TASKS)})-(?P<version>v[2-5])")


class MujocoFamily:
    """The family of Gymnasium's MuJoCo tasks. Its settings are the arguments of Gymnasium's environments."""

    name = "MuJoCo"

    @functools.cached_property
    def settings(self) -> frozenset[str]:
        """The names of the settings of all tasks."""
        return frozenset(field.name for id in IDS for field in dataclasses.fields(settings_class(id)))

    @functools.cached_property
    def per_world_settings(self) -> Mapping[str, str]:
        """The settings that are real numbers. They are configuration of the world under the same name."""
        fields = (field for id in IDS for field in dataclasses.fields(settings_class(id)))
        return {field.name: field.name for field in fields if field.type is float}

    def ids(self) -> Sequence[str]:
        return IDS

    def owns(self, id: str) -> bool:
        return _ID.fullmatch(id) is not None

    def given(self, id: str) -> Sequence[str]:
        return []

    def make(self, id: str, settings: Mapping[str, Any]) -> Definition:
        _refuse_old(id)
        kind = settings_class(id)
        known = [field.name for field in dataclasses.fields(kind)]
        for name in settings:
            if name not in known:
                raise InputError(f"it has no setting '{name}'; its settings are {', '.join(known) or 'none'}")
        return _define(id, kind(**{name: _hashable(value) for name, value in settings.items()}))


def _refuse_old(id: str) -> None:
    """InputError for versions that need an older MuJoCo."""
    if id in IDS:
        return
    task, _, version = id.rpartition("-")
    if version == "v4":
        raise InputError(f"{id} needs MuJoCo 2 and worldloom needs MuJoCo 3: use {task}-v5")
    raise InputError(f"{version} needs mujoco-py, which neither worldloom nor Gymnasium supports: use {task}-v5")


def _module(id: str) -> ModuleType:
    return importlib.import_module(f"worldloom.envs.mujoco.{TASKS[id.rpartition('-')[0]]}")


def settings_class(id: str) -> type[Any]:
    """The class of the settings of a world."""
    settings: type[Any] = getattr(_module(id), "SettingsV4" if id.endswith("-v4") else "Settings")
    return settings


@functools.lru_cache(maxsize=64)
def _define(id: str, settings: Any) -> Definition:
    module = _module(id)
    definition: Definition = (module.define_v4 if id.endswith("-v4") else module.define)(id, settings)
    return definition


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
