"""Specs of observations from the declarations of a world."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.model.fields import Field
from worldloom.core.model.spaces import Discrete, MultiDiscrete
from worldloom.learn.agents.specs import BYTE_MAX, ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig


def network_dtype(dtype: torch.dtype, config: PolicyConfig) -> torch.dtype:
    """The type in which a policy gets a column of type ``dtype``: float32 for float64, else the same.

    Networks compute in float32. The rules of version 0.1 keep float64, so that its runs resume bit for bit.
    """
    return torch.float32 if dtype == torch.float64 and config.input_rules != "0.1" else dtype


def observation_spec(table: str, field: Field, dtype: torch.dtype, rows: int) -> ObservationSpec:
    """The spec of component ``field`` of ``table``.

    Args:
        table: Name of the component's class, for error messages.
        field: The component.
        dtype: Its element type.
        rows: Number of entities whose values the agent observes together; 0 where it observes one value.
    """
    layout = field.layout
    leading = (rows,) if rows > 1 or (rows and layout.entities) else ()
    shape = leading + field.value_shape
    if layout.entities and not rows and len(shape) != 2:
        raise InputError(
            f"{table}.{field.name} is declared as a set of entities and has the shape {shape}: "
            "give it two sizes, as in wl.Observation(16, 5, entities=True) for 16 entities with 5 numbers each"
        )
    choices: tuple[int, ...] = ()
    if isinstance(field.space, Discrete):
        choices = (field.space.n,) * math.prod(shape)
    elif isinstance(field.space, MultiDiscrete):
        choices = tuple(field.space.choices) * math.prod(leading)
    return ObservationSpec(
        shape,
        dtype,
        choices,
        _byte_bound(field, math.prod(leading)),
        layout.channels,
        layout.entities,
        layout.mask,
        layout.critic,
    )


def link_masks(
    specs: Mapping[str, ObservationSpec], columns: Mapping[str, tuple[str, str]]
) -> dict[str, ObservationSpec]:
    """``specs`` by key, where each mask is named by its key; InputError for a mask that does not exist or fit.

    Args:
        specs: The observations by key, whose ``mask`` is the name of a component of the same class.
        columns: Class and component of each key.
    """
    keys = {column: key for key, column in columns.items()}
    linked = dict(specs)
    for key, spec in specs.items():
        if spec.mask:
            table, name = columns[key]
            mask = keys.get((table, spec.mask))
            if mask is None:
                raise InputError(
                    f"the mask of {table}.{name} is '{spec.mask}', which is no observation of {table}: "
                    f"declare it, as in {spec.mask}: wl.Observation({spec.shape[0]}, dtype=bool)"
                )
            if specs[mask].shape != spec.shape[:1]:
                raise InputError(
                    f"the mask {table}.{spec.mask} has the shape {specs[mask].shape}, and {table}.{name} "
                    f"has {spec.shape[0]} entities: make it ({spec.shape[0]},)"
                )
            linked[key] = replace(spec, mask=mask)
    return linked


def _byte_bound(field: Field, repeats: int) -> float | tuple[float, ...]:
    """The declared upper bound of a byte observation; that of the type where there is none."""
    if isinstance(field.high, tuple):
        return tuple(_finite_bound(bound) for bound in field.high) * repeats
    return _finite_bound(field.high)


def _finite_bound(bound: float) -> float:
    return float(bound) if 0.0 < bound <= BYTE_MAX else BYTE_MAX
