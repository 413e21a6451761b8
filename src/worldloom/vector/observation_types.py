"""Observations in the types that Gymnasium's spaces declare, where the columns of a world hold others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from worldloom.core.runtime.column import Column
from worldloom.vector.env_layout import EnvComponent

Conversion = Callable[[Any], Any]
"""From a view of a column, shape (num_envs, ...), to new arrays of the space's type."""


def make_conversion(
    component: EnvComponent, column: Column, backend: Literal["numpy", "torch"], of_tensors: bool
) -> Conversion | None:
    """The conversion of an observation to the type of its Gymnasium space; None where its column has that type.

    Discrete values become int64, as arrays and as tensors; a component with a Tuple space becomes a tuple of them.
    Truth values become int8 as arrays and stay bool as tensors, which masks of PyTorch need.

    Args:
        component, column: The observation and its column.
        backend: What clients receive.
        of_tensors: Whether the conversion takes and returns tensors, or else arrays.
    """
    if isinstance(component.gymnasium_space, spaces.Tuple):
        return _split_torch if of_tensors else _split_numpy
    discrete = isinstance(component.gymnasium_space, (spaces.Discrete, spaces.MultiDiscrete))
    if discrete and column.dtype != np.int64:
        return _widen_torch if of_tensors else _widen_numpy
    if isinstance(component.gymnasium_space, spaces.MultiBinary) and backend == "numpy":
        return _bits_numpy
    return None


def is_widening(convert: Conversion | None) -> bool:
    """Whether a conversion only changes the type to int64."""
    return convert in (_widen_numpy, _widen_torch)


def _widen_numpy(values: Any) -> Any:
    return values.astype(np.int64)


def _widen_torch(values: Any) -> Any:
    return values.long()


def _bits_numpy(values: Any) -> Any:
    return values.astype(np.int8)


def _split_numpy(values: Any) -> tuple[Any, ...]:
    return tuple(values[:, k].astype(np.int64) for k in range(values.shape[1]))


def _split_torch(values: Any) -> tuple[Any, ...]:
    return tuple(part.long() for part in values.clone().unbind(1))
