"""Actions that do not fit into their column: the column gets the nearest number that does, and the fault names the one that was given."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.kernels.guards import CAPACITY
from worldloom.core.runtime.table import Column

OutOfRangeActions = dict[tuple[str, int], list[int]]
"""The numbers that did not fit, in order, by ``Table.name`` (with the index of one of several choices) and world."""

INT32_LIMITS = (-(2**31), 2**31 - 1)
"""What actions that do not fit become."""


def fits(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    """Whether whole numbers can be cast to ``dtype``."""
    info = np.iinfo(dtype)
    return not values.size or bool(info.min <= values.min() and values.max() <= info.max)


def out_of_range_actions(values: Any, column: Column) -> OutOfRangeActions:
    """What of ``values``, actions for ``column``, does not fit; nothing is said of values on a GPU, since that would mean waiting for it."""
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
    found: OutOfRangeActions = {}
    info = np.iinfo(column.dtype)
    for place in np.argwhere((values < info.min) | (values > info.max))[:CAPACITY].tolist():
        several = f"[{place[-1]}]" if column.field.value_shape else ""
        found.setdefault((f"{column.name}{several}", place[0]), []).append(int(values[tuple(place)]))
    return found


def reported_value(message: str, world: int, value: int, given: OutOfRangeActions, unseen: bool) -> str:
    """The number to put into a fault's ``message``: ``value``, or the action that became so. ``unseen``: actions may have come from a GPU."""
    if value not in INT32_LIMITS or not message.startswith("action "):
        return str(value)
    numbers = given.get((message[len("action ") :].partition(" is ")[0], world), [])
    same_side = next((number for number in numbers if (number > 0) == (value > 0)), None)
    if same_side is not None:
        numbers.remove(same_side)
        return str(same_side)
    return f"{value} or {'more' if value > 0 else 'less'}" if unseen else str(value)
