"""Checks of settings by their types, for configs made in Python, which the command line has not checked."""

from __future__ import annotations

import dataclasses
import math
import numbers
import typing
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.runtime.seeds import MAX_SEED
from worldloom.learn.config.json_files import short_repr
from worldloom.learn.config.piecewise_linear import PiecewiseLinear

MAX_VALUES = {"total_steps": 2**62, "seed": MAX_SEED, "eval_every": 2**62, "eval_seed": MAX_SEED}
"""Maximum of the integers that may exceed int32, by name."""


_FIELD_TYPES: dict[Any, dict[str, Any]] = {}


def field_types(settings: Any) -> dict[str, Any]:
    """The type of each field of a dataclass, by name. Evaluated once per class."""
    if settings not in _FIELD_TYPES:
        _FIELD_TYPES[settings] = typing.get_type_hints(settings)
    return _FIELD_TYPES[settings]


def check_fields(settings: Any, schedulable: bool = False) -> None:
    """InputError where a field of the dataclass ``settings`` has a value that its type does not allow.

    With ``schedulable`` a number may be a schedule.
    """
    hints = field_types(type(settings))
    for name in (field.name for field in dataclasses.fields(settings)):
        hint, value = hints[name], getattr(settings, name)
        words = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
        if words and not (isinstance(value, str) and value in words):
            raise InputError(f"{name} must be one of {', '.join(words)}, not {short_repr(value)}")
        if hint is float and not _is_finite_number(value):
            raise InputError(f"{name} must be a finite number, not {short_repr(value)}")
        if hint is float and isinstance(value, PiecewiseLinear) and not schedulable:
            raise InputError(f"{name} cannot change during training: give one number instead of points")
        if hint is int:
            maximum = MAX_VALUES.get(name, 2**31 - 1)
            if not isinstance(value, numbers.Integral) or isinstance(value, bool) or abs(int(value)) > maximum:
                raise InputError(f"{name} must be a whole number of at most {maximum:,}, not {short_repr(value)}")
        if dataclasses.is_dataclass(hint) and not isinstance(value, hint):  # type: ignore[arg-type]
            raise InputError(f"{name} must be a {hint.__name__}, not {short_repr(value)}")  # type: ignore[union-attr]
        if hint in (bool, str) and not isinstance(value, hint):
            raise InputError(f"{name} must be {'True or False' if hint is bool else 'text'}, not {short_repr(value)}")


def require_not_negative(settings: Any, *names: str) -> None:
    """InputError where one of these fields is negative."""
    for name in names:
        if not getattr(settings, name) >= 0:
            raise InputError(f"{name} must be 0 or more, not {short_repr(getattr(settings, name))}")


def _is_finite_number(value: Any) -> bool:
    """Whether ``value`` is an int or float, and neither infinite nor NaN."""
    try:
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False
