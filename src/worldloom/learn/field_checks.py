"""Checks that follow from the types of settings alone, for settings that were made in Python and went past the command line's own."""

from __future__ import annotations

import math
import numbers
import typing
from typing import Any

from worldloom.core.errors import InputError


def check_fields(settings: Any) -> None:
    """InputError where a field of the dataclass ``settings`` is none of the words it may be, or a real number that is not finite."""
    for name, hint in typing.get_type_hints(type(settings)).items():
        value = getattr(settings, name)
        words = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
        if words and not (isinstance(value, str) and value in words):
            raise InputError(f"{name} must be one of {', '.join(words)}, not {value!r}")
        if hint is float and not _is_finite_number(value):
            raise InputError(f"{name} must be a finite number, not {value!r}")


def _is_finite_number(value: Any) -> bool:
    """Whether ``value`` is a number, maybe a whole one, and neither infinite nor NaN."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
