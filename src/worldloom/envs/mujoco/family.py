"""Ids of Gymnasium's MuJoCo tasks, such as ``Ant-v5`` or ``Ant-v5:frame_skip=2``, and their definitions."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.envs.id_settings import make_settings, parse_settings, with_settings

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
_ID = re.compile(rf"(?P<name>(?P<task>{'|'.join(TASKS)})-(?P<version>v[2-5]))(:(?P<settings>.*))?")


def tasks_summary() -> str:
    """One sentence for the list of all worlds."""
    return f"MuJoCo: {', '.join(TASKS)}, each as v5 and v4, such as Ant-v5; Pusher as v5 alone."


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
        name, written = _split(id)
        return list(parse_settings(settings_class(name), written)) if written and name in IDS else []

    def make(self, id: str, settings: Mapping[str, Any]) -> Definition:
        name, written = _split(id)
        if name not in IDS:
            raise InputError(_why_refused(name))
        kind = settings_class(name)
        parsed = parse_settings(kind, written) if written else {}
        for given in parsed.keys() & settings.keys():
            raise InputError(f"the setting '{given}' is both in the id and an argument: give it once")
        resolved = make_settings(kind, {**parsed, **settings})
        return _define(name, resolved, _modified(getattr(resolved, "xml_file", "")))


def _split(id: str) -> tuple[str, str]:
    """An id without its settings, and the text of the settings."""
    match = _ID.fullmatch(id)
    assert match is not None
    return match["name"], match["settings"] or ""


def _why_refused(id: str) -> str:
    """The reason why there is no world of this version."""
    task, _, version = id.rpartition("-")
    if version == "v4":
        return f"{id} needs MuJoCo 2 and worldloom needs MuJoCo 3: use {task}-v5"
    return f"{version} needs mujoco-py, which neither worldloom nor Gymnasium supports: use {task}-v5"


def _module(id: str) -> ModuleType:
    return importlib.import_module(f"worldloom.envs.mujoco.{TASKS[id.rpartition('-')[0]]}")


def settings_class(id: str) -> type[Any]:
    """The class of the settings of a world."""
    settings: type[Any] = getattr(_module(id), "SettingsV4" if id.endswith("-v4") else "Settings")
    return settings


def _modified(file: str) -> int:
    """Time of modification of a file in ns; 0 where there is none, as for the models of Gymnasium."""
    path = Path(file).expanduser()
    return path.stat().st_mtime_ns if path.is_file() else 0


@functools.lru_cache(maxsize=64)
def _define(id: str, settings: Any, modified: int) -> Definition:
    """The definition of a world; the same as long as its model file has the same time of modification."""
    version = int(id[-1])
    full = settings.resolved() if version == 4 else settings
    definition: Definition = _module(id).define(with_settings(id, settings), full, version)
    return definition
