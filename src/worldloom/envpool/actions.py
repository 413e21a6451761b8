"""Actions of clients in the form of the worlds' columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from worldloom.core.base.arrays import to_numpy
from worldloom.core.runtime.action_range import fits, narrowed
from worldloom.envpool.errors import UseError
from worldloom.vector.checks import NUMERIC_KINDS, check_action_keys
from worldloom.vector.world_batch import WorldBatch

SINGLE_ACTION = "action"
"""EnvPool's name of the action of a task with one."""
ID_KEYS = ("env_id", "players.env_id")


class ActionConverter:
    """Checks and converts the actions of a pool.

    Args:
        batch: A batch of its worlds.
    """

    def __init__(self, batch: WorldBatch) -> None:
        tables = batch.simulation.tables
        self.columns = {
            component.key: (tables[component.table][component.name].dtype, component.shape)
            for component in batch.layout.actions
        }
        """The type of each action's column, and the shape of one environment's action."""
        self._single = next(iter(self.columns.values())) if len(self.columns) == 1 else None

    def split_ids(self, actions: Any, env_id: Any) -> tuple[Any, Any]:
        """``actions`` and ``env_id``; EnvPool also takes a dict that holds both."""
        if not isinstance(actions, Mapping):
            return actions, env_id
        values = {key: value for key, value in actions.items() if key not in ID_KEYS and key != "players"}
        ids = actions.get("env_id", env_id) if env_id is None else env_id
        return (values[SINGLE_ACTION], ids) if self._single is not None and SINGLE_ACTION in values else (values, ids)

    def convert(self, actions: Any, count: int) -> Any:
        """``actions`` with one row per environment: an array, or a mapping for worlds with several actions.

        Like EnvPool, converts numbers to the type of the action, fractions to whole numbers too.
        """
        if self._single is not None and not isinstance(actions, Mapping):
            dtype, shape = self._single
            if type(actions) is np.ndarray and actions.shape == (count, *shape):
                if actions.dtype == dtype:
                    return actions
                if actions.dtype.kind == dtype.kind == "f":
                    return actions.astype(dtype)
                if actions.dtype.kind == dtype.kind == "i" and (narrow := narrowed(actions, dtype)) is not None:
                    return narrow
            return self._convert_one(SINGLE_ACTION, actions, dtype, (count, *shape))
        check_action_keys(actions, self.columns)
        return {
            key: self._convert_one(key, actions[key], dtype, (count, *shape))
            for key, (dtype, shape) in self.columns.items()
        }

    def _convert_one(
        self, key: str, actions: Any, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> np.ndarray[Any, Any]:
        values = to_numpy(actions, "the actions")
        if values.dtype.kind not in NUMERIC_KINDS or values.shape[:1] != shape[:1] or values.size != math.prod(shape):
            raise UseError(
                f"action '{key}' takes {dtype.name} of shape {shape}, not {values.dtype.name} of shape {values.shape}"
            )
        if dtype.kind == "i" and values.dtype.kind in "iu" and not fits(values, dtype):
            raise UseError(f"action '{key}' holds numbers that {dtype.name} cannot represent")
        return values.astype(dtype, copy=False).reshape(shape)
