"""Validation of the values of a configuration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.runtime.column import Column


def check_limits(definition: Definition, name: str, values: np.ndarray[Any, Any]) -> None:
    """Raise InputError where a value is outside the limits that the world declares for a configuration."""
    limits = definition.limits.get(name, definition.world.config_limits.get(name))
    if limits is None:
        return
    low, high = limits
    wrong = values[~((low <= values) & (values <= high))]
    if wrong.size:
        allowed = f"{low:g} or more" if high == math.inf else f"between {low:g} and {high:g}"
        raise InputError(f"configuration '{name}' of world '{definition.id}' must be {allowed}, not {wrong.flat[0]:g}")


def check_range(column: Column, values: np.ndarray[Any, Any]) -> None:
    """InputError where a value does not fit its type, or is not finite although the default is finite."""
    name, kind = column.field.name, column.dtype
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            fits = np.isfinite(values.astype(kind, copy=False))
        if not fits.all() and np.isfinite(column.field.default).all():
            raise InputError(f"configuration '{name}' is a finite {kind.name}, not {values[~fits].flat[0]}")
    elif kind.kind in "iu" and values.size:
        info = np.iinfo(kind)
        low, high = 0 if name == "max_steps" else int(info.min), int(info.max)
        wrong = next((bound for bound in (int(values.min()), int(values.max())) if not low <= bound <= high), None)
        if wrong is not None:
            raise InputError(f"configuration '{name}' is a whole number from {low:,} to {high:,}, not {wrong}")
