"""Batched infos in the layout of Gymnasium's vector environments: one array per key, and a mask of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np


def add_info(batch: dict[str, Any], info: dict[str, Any], row: int, size: int) -> None:
    """Add the info of one environment to those of a batch.

    Args:
        batch: The infos so far: ``key`` is an array (size, ...) and ``_key`` a mask (size,).
        info: The info of the environment.
        row: Its row in the batch.
        size: Environments in the batch.
    """
    for key, value in info.items():
        if isinstance(value, dict) and key != "final_obs":
            add_info(batch.setdefault(key, {}), value, row, size)
        else:
            if key not in batch:
                batch[key] = _empty_column(None if key == "final_obs" else value, size)
            batch[key][row] = value
        batch.setdefault(f"_{key}", np.zeros(size, np.bool_))[row] = True


def _empty_column(value: Any, size: int) -> np.ndarray:
    """An empty array for values like ``value``: dense for numbers and arrays, of objects otherwise."""
    if type(value) in (int, float, bool) or isinstance(value, np.number):
        return np.zeros(size, type(value))
    if isinstance(value, np.ndarray):
        return np.zeros((size, *value.shape), value.dtype)
    return np.full(size, None, object)
