"""The state of environments as EnvPool returns it: a dict of arrays, one row per environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldloom.core.model.families import family_of
from worldloom.core.runtime.column import Column
from worldloom.envpool import atari_tasks
from worldloom.vector.env_layout import EnvComponent
from worldloom.vector.world_batch import WorldBatch

State = dict[str, np.ndarray[Any, Any]]
"""Arrays by EnvPool's keys: ``obs`` or ``obs:NAME``, ``reward``, ``done``, ``trunc``, ``elapsed_step``,
``info:env_id``, ``info:players.env_id``, one ``info:NAME`` per info, and for dm_env ``discount`` and ``step_type``."""
OBSERVATION, INFO = "obs:", "info:"
STATE_INFOS = {"Acrobot-v1": {"state": ("Links", "angles")}}
"""Infos of EnvPool that are part of a world's state: the table and the column of each, float32 of shape (2,)."""
FIRST, MID = 0, 1
"""Step types of dm_env; LAST is ``MID + 1``."""


@dataclass(frozen=True)
class StateField:
    """One array of a state that is a copy of a column.

    Attributes:
        key: Its key in the state.
        dtype: Its type.
        shape: The shape of one environment's row.
        read: Returns the column's memory, shape (num_envs, *shape); on a GPU, a copy of it on the host.
    """

    key: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    read: Callable[[], np.ndarray[Any, Any]]


class StateReader:
    """Reads the states of a batch of worlds with next-step autoreset.

    Args:
        batch: The worlds.
        first_id: The id of the first world's environment.
        time_steps: Whether states hold ``discount`` and ``step_type``, which only dm_env needs.
    """

    def __init__(self, batch: WorldBatch, first_id: int, time_steps: bool) -> None:
        self._batch, self._time_steps, definition = batch, time_steps, batch.simulation.definition
        self._ids = np.arange(first_id, first_id + batch.num_envs, dtype=np.int32)
        atari = atari_tasks.is_atari(definition)
        infos, elapsed = (self._atari_infos, atari_tasks.ELAPSED) if atari else (self._world_infos, "step")
        family = family_of(definition.id)
        self._keeps_discount = family is not None and family.name == "DeepMind Control Suite"
        tables = batch.simulation.tables
        self._terminated = self._reader(batch.simulation.terminated, ())
        self._truncated = self._reader(batch.simulation.truncated, ())
        self._step = self._reader(tables["World"]["step"], ())
        self._elapsed = self._reader(tables["Console" if atari else "World"][elapsed], ())
        self._discount = next((self._component(c).read for c in batch.layout.infos if c.key == "discount"), None)
        self._rewards = [self._component(component).read for component in batch.layout.rewards]
        self.observations = [
            self._component(component, key)
            for component, key in zip(batch.layout.observations, self._obs_keys(), strict=True)
        ]
        self.infos = infos()
        self.keys = list(self.read(np.zeros(1, np.int64)))
        """The keys of a state, in their order."""

    def _obs_keys(self) -> list[str]:
        components = self._batch.layout.observations
        return ["obs"] if len(components) == 1 else [OBSERVATION + component.key for component in components]

    def _reader(self, column: Column, shape: tuple[int, ...]) -> Callable[[], np.ndarray[Any, Any]]:
        """A function that returns the column with shape (num_envs, *shape)."""
        full = (self._batch.num_envs, *shape)
        if column.device.is_cuda:
            return lambda: column.numpy().reshape(full)
        view = column.numpy().reshape(full)
        return lambda: view

    def _component(self, component: EnvComponent, key: str = "") -> StateField:
        column = self._batch.simulation.tables[component.table][component.name]
        return StateField(key, column.dtype, component.shape, self._reader(column, component.shape))

    def _world_infos(self) -> list[StateField]:
        components = [component for component in self._batch.layout.infos if component.key != "discount"]
        fields = [self._component(component, INFO + component.key) for component in components]
        for key, (table, name) in STATE_INFOS.get(self._batch.simulation.definition.id, {}).items():
            column = self._batch.simulation.tables[table][name]
            fields.append(StateField(INFO + key, np.dtype(np.float32), (2,), self._reader(column, (2,))))
        return fields

    def _atari_infos(self) -> list[StateField]:
        console, fields = self._batch.simulation.tables["Console"], []
        for key, (name, dtype) in atari_tasks.INFOS.items():
            shape = console[name].shape[2:]
            read = self._reader(console[name], shape)
            if key == "ram":
                shape, read = (128,), lambda machine=read: machine()[:, atari_tasks.RAM_BYTES]  # type: ignore[misc]
            fields.append(StateField(INFO + key, np.dtype(dtype), shape, read))
        return fields

    def read(self, rows: np.ndarray[Any, Any] | None = None) -> State:
        """Copies of the current states: of all worlds, or of ``rows`` in their order."""
        ids, truncated = _copy(self._ids, rows), _copy(self._truncated(), rows)
        done = _select(self._terminated(), rows) | truncated
        state = {
            "info:env_id": ids,
            "info:players.env_id": ids,
            "elapsed_step": _copy(self._elapsed(), rows),
            "done": done,
            "reward": self._read_rewards(rows),
            "trunc": truncated,
        }
        if self._time_steps:
            state["discount"] = self._read_discounts(rows, done)
            step_types = np.where(_select(self._step(), rows) == 0, FIRST, done + np.int32(MID))
            state["step_type"] = step_types.astype(np.int32, copy=False)
        if rows is not None:
            for field in self.observations:
                state[field.key] = field.read()[rows]
        elif len(self.observations) == 1:
            state["obs"] = self._batch.take_observations()
        else:
            state.update({OBSERVATION + key: values for key, values in self._batch.take_observations().items()})
        for field in self.infos:
            state[field.key] = _select(field.read(), rows).astype(field.dtype)
        return state

    def _read_rewards(self, rows: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any]:
        """The reward of every world, float32: the sum over its agents."""
        total = None
        for read in self._rewards:
            values = _select(read(), rows)
            values = values.reshape(len(values), -1).sum(1) if values.ndim > 1 else values
            total = values if total is None else total + values
        if total is None:
            return np.zeros(len(self._ids) if rows is None else len(rows), np.float32)
        return total.astype(np.float32)

    def _read_discounts(self, rows: np.ndarray[Any, Any] | None, done: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """EnvPool's discounts: 0 at every end, at terminations only in the Control Suite, or the world's own."""
        if self._discount is not None:
            return _select(self._discount(), rows).astype(np.float32)
        ended = _select(self._terminated(), rows) if self._keeps_discount else done
        return (~ended).astype(np.float32)


def _select(values: np.ndarray[Any, Any], rows: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any]:
    return values if rows is None else values[rows]


def _copy(values: np.ndarray[Any, Any], rows: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any]:
    return values.copy() if rows is None else values[rows]
