"""Declarations: from an annotation and a default value in a user's class to a field."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from worldloom.core.model.dtypes import SCALARS, canonical, is_composite, scalar_of, shape_of, type_name
from worldloom.core.model.fields import ComponentSpec, Config, Field, Reward, Role


def declare(name: str, annotation: Any, default: Any, has_default: bool) -> Field:
    """The field that ``name: annotation = default`` declares.

    Raises TypeError or ValueError, with one sentence, if the type or the default is wrong.
    """
    component = _annotated(name, annotation, default, has_default)
    if component.ref is not None:
        if has_default and default is not None:
            raise ValueError(f"reference '{name}' starts empty and takes no default but None")
        has_default = False
    value = default if has_default else (0 if component.default is None else component.default)
    _check_default(name, component, value, has_default)
    is_config_array = component.role is Role.CONFIG and bool(component.shape)
    return Field(
        name,
        component.dtype,
        component.shape,
        component.role,
        default.copy() if is_config_array else check_value(name, component.dtype, value),
        component.space,
        component.finite,
        component.keep,
        component.transient,
        component.ref,
        component.low,
        component.high,
        valid_range=component.valid_range,
        check=component.check,
        layout=component.layout,
        metric=component.metric,
        workload=component.workload,
    )


def _annotated(name: str, annotation: Any, default: Any, has_default: bool) -> ComponentSpec:
    """The component that an annotation stands for."""
    if annotation is Reward:
        return Reward(wp.float32)
    if annotation is Config:
        if not has_default:
            raise ValueError(f"configuration '{name}' needs a default value, such as '{name}: wl.Config = 1.0'")
        return _declare_config(name, default)
    if isinstance(annotation, ComponentSpec):
        return annotation
    dtype = canonical(annotation)
    if dtype is None:
        raise TypeError(f"component '{name}' has the annotation {annotation!r}, which is no component type")
    return ComponentSpec(dtype)


def _declare_config(name: str, default: Any) -> ComponentSpec:
    """The configuration that ``name: wl.Config = default`` declares."""
    dtype = canonical(type(default))
    if dtype is not None:
        return ComponentSpec(dtype, role=Role.CONFIG)
    if not isinstance(default, np.ndarray):
        raise TypeError(
            f"configuration '{name}' has a default of type {type(default).__name__}, which no component can hold"
        )
    element = next((scalar for scalar, numpy_type in SCALARS.items() if default.dtype == numpy_type), None)
    if element is None:
        raise TypeError(f"configuration '{name}' is an array of {default.dtype.name}, which no component can hold")
    if not 1 <= default.ndim <= 3 or default.size == 0:
        raise ValueError(
            f"configuration '{name}' is an array of shape {default.shape}: "
            "it takes one to three dimensions of 1 or more"
        )
    return ComponentSpec(element, default.shape, Role.CONFIG)


def _check_default(name: str, component: ComponentSpec, value: Any, has_default: bool) -> None:
    if component.finite and has_default and not np.all(np.isfinite(np.asarray(value, dtype=float))):
        raise ValueError(f"component '{name}' must stay finite, but its default is {value!r}")
    if component.valid_range is not None:
        low, high = component.valid_range
        if not np.all((np.asarray(value) >= low) & (np.asarray(value) <= high)):
            raise ValueError(f"component '{name}' must be between {low:g} and {high:g}, but its default is {value!r}")
    if has_default and component.role in (Role.ACTION, Role.OBSERVATION, Role.REWARD):
        raise ValueError(f"component '{name}' is an {component.role.value}, which takes no default")


def check_value(name: str, dtype: Any, value: Any) -> Any:
    """``value`` converted to what a field of ``dtype`` holds. Raises ValueError if it cannot be converted."""
    scalar = SCALARS[scalar_of(dtype)]
    try:
        numbers = [getattr(n, "value", n) for n in value] if is_composite(type(value)) else value
        array = np.asarray(value.value if type(value) in SCALARS else numbers)
        kinds = "b" if scalar is np.bool_ else "biu" if np.issubdtype(scalar, np.integer) else "biuf"
        if not is_composite(dtype) and array.shape != ():
            raise ValueError
        if array.dtype.kind not in kinds and not (array.shape == () and array == 0):
            raise ValueError
        np.broadcast_to(array.astype(scalar), shape_of(dtype))
        if kinds != "biuf" and not np.array_equal(array.astype(scalar).astype(np.int64), array.astype(np.int64)):
            raise ValueError
    except (ValueError, TypeError):
        raise ValueError(f"'{name}' is of type {type_name(dtype)}, which cannot hold {value!r}") from None
    return array.astype(scalar) if array.shape else scalar(array)
