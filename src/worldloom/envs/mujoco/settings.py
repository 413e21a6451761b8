# Annotations are evaluated: the types of the fields are those of the values.
"""Settings of tasks: their base classes, and those of older versions."""

import dataclasses
import inspect
from typing import Any, dataclass_transform


@dataclass_transform(frozen_default=True)
@dataclasses.dataclass(frozen=True)
class TaskSettings:
    """The settings of a task, the arguments of Gymnasium's environment. Subclasses are frozen data classes.

    The defaults of the first two settings are arguments of the class statement.
    """

    xml_file: str
    frame_skip: int

    def __init_subclass__(cls, xml_file: str = "", frame_skip: int = 0) -> None:
        if xml_file:
            cls.__annotations__ = {"xml_file": str, "frame_skip": int, **inspect.get_annotations(cls)}
            cls.xml_file, cls.frame_skip = xml_file, frame_skip
        dataclasses.dataclass(frozen=True)(cls)


class ForwardSettings(TaskSettings):
    """The first settings of the tasks that reward forward velocity."""

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 0.1


def fixed(kind: type[Any], *defaults: str, **values: Any) -> type[Any]:
    """The class of the settings of an older version of a task: those of class ``kind`` but some, which are fixed.

    Its method ``resolved`` returns all settings, as one of class ``kind``.

    Args:
        kind: The settings of the newest version.
        defaults: Names of the settings that are fixed at their defaults.
        values: Other values of fixed settings, by name.
    """
    fields = [
        (field.name, field.type, field.default)
        for field in dataclasses.fields(kind)
        if field.name not in defaults and field.name not in values
    ]

    def resolved(self: Any) -> Any:
        return kind(**values, **vars(self))

    return dataclasses.make_dataclass("SettingsV4", fields, frozen=True, namespace={"resolved": resolved})
