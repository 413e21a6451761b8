"""Settings of families of worlds, and their text in ids such as ``Hopper-v5:frame_skip=2,healthy_z_range=0.5..2``.

The settings of a family are a data class whose annotations are types, not text.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, get_args

from worldloom.core.base.errors import InputError

RANGE = ".."
"""Between the two numbers of a range."""


def make_settings(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """The settings of class ``kind`` with ``values``.

    Raises:
        InputError: Where a name is unknown, or a value has the wrong type.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for name in values:
        if name not in fields:
            raise InputError(f"it has no setting '{name}'; its settings are {', '.join(fields) or 'none'}")
    return kind(**{name: _checked(name, fields[name].type, value) for name, value in values.items()})


def parse_settings(kind: type[Any], text: str) -> dict[str, Any]:
    """The values in ``name=value,name=value`` by the types of the settings of class ``kind``."""
    types = {field.name: field.type for field in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals:
            raise InputError(f"'{part}' is no setting: write name=value, separated by commas")
        if name in values:
            raise InputError(f"the setting '{name}' is given twice: give it once")
        values[name] = _parse(types.get(name, str), value)
    return values


def with_settings(id: str, settings: Any) -> str:
    """The id with all settings that differ from their defaults."""
    changed = [
        f"{field.name}={_text(getattr(settings, field.name))}"
        for field in dataclasses.fields(settings)
        if getattr(settings, field.name) != field.default
    ]
    return f"{id}:{','.join(changed)}" if changed else id


def _checked(name: str, kind: Any, value: Any) -> Any:
    """``value`` as a setting of type ``kind``."""
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and _is_integer(value) and value >= 1:
        return int(value)
    if kind is float and _is_number(value):
        return float(value)
    if kind is str and isinstance(value, str):
        return value
    if kind == int | str and (_is_integer(value) or isinstance(value, str)):
        return value
    if get_args(kind) == (float, float) and _is_range(value):
        return float(value[0]), float(value[1])
    raise InputError(f"the setting '{name}' must be {_describe(kind)}, not {value!r}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


def _is_range(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2 and all(map(_is_number, value)) and value[0] <= value[1]


def _describe(kind: Any) -> str:
    names = {bool: "True or False", int: "a whole number of 1 or more", float: "a number", str: "text"}
    if kind == int | str:
        return "a whole number or text"
    return names.get(kind, "two numbers, the lower one first")


def _parse(kind: Any, text: str) -> Any:
    """A value of type ``kind`` from its text; the text itself where it is no such value, which the check refuses."""
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if get_args(kind) == (float, float):
        return tuple(_parse(float, number) for number in text.split(RANGE))
    parse = {int: int, float: float, int | str: int}.get(kind, str)
    try:
        return parse(text)
    except ValueError:
        return text


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return RANGE.join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
