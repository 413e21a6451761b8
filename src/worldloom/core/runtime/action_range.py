"""Actions that do not fit the type of their column: the column gets the nearest value, the fault names the action."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.kernels.guards import CAPACITY
from worldloom.core.model.agent_rows import kind_of_rows
from worldloom.core.runtime.column import Column

OutOfRangeActions = dict[tuple[str, int], list[int]]
"""The actions that did not fit, in order, by ``Kind.name`` (with the index of one of several choices) and world."""

INT32_LIMITS = (-(2**31), 2**31 - 1)
"""The values that replace actions that do not fit."""


def fits(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    """Whether integers can be cast to ``dtype``."""
    info = np.iinfo(dtype)
    return not values.size or bool(info.min <= values.min() and values.max() <= info.max)


def narrowed(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    """Signed integers in a narrower signed type; None where it cannot represent all of them.

    They fit if they are the same after a conversion and back. This takes a third of the time of :func:`fits`.
    """
    narrow = values.astype(dtype)
    return narrow if narrow.astype(values.dtype).tobytes() == values.tobytes() else None


def out_of_range_actions(values: Any, column: Column) -> OutOfRangeActions:
    """The ``values``, actions for ``column``, that do not fit its type. Values on a GPU are not examined."""
    if column.dtype.kind not in "iu":
        return {}
    if hasattr(values, "data_ptr"):
        if values.device.type != "cpu" or values.is_floating_point() or values.element_size() <= column.dtype.itemsize:
            return {}
        values = values.detach().numpy()
    if (
        not isinstance(values, np.ndarray)
        or values.dtype.kind not in "iu"
        or values.dtype.itemsize < column.dtype.itemsize
        or values.shape != column.shape
    ):
        return {}
    if values.dtype == column.dtype or fits(values, column.dtype):
        return {}
    actions: OutOfRangeActions = {}
    info = np.iinfo(column.dtype)
    for index in np.argwhere((values < info.min) | (values > info.max))[:CAPACITY].tolist():
        choice = f"[{index[-1]}]" if column.field.value_shape else ""
        actions.setdefault((f"{kind_of_rows(column.table)}.{column.field.name}{choice}", index[0]), []).append(
            int(values[tuple(index)])
        )
    return actions


def reported_value(message: str, world: int, value: int, actions: OutOfRangeActions, on_gpu: bool) -> str:
    """The number in a fault's ``message``: ``value``, or the action that it replaces.

    ``on_gpu`` means that actions may have come from a GPU, so that ``actions`` may lack them.
    """
    if value not in INT32_LIMITS or not message.startswith("action "):
        return str(value)
    numbers = actions.get((message[len("action ") :].partition(" is ")[0], world), [])
    original = next((number for number in numbers if (number > 0) == (value > 0)), None)
    if original is not None:
        numbers.remove(original)
        return str(original)
    return f"{value} or {'more' if value > 0 else 'less'}" if on_gpu else str(value)
