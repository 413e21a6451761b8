"""Worlds as a vectorised environment of Tianshou."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.schedule.entries import Autoreset
from worldloom.vector.adapters.base import VectorAdapter, stack_actions
from worldloom.vector.adapters.gymnasium import WorldVectorEnv
from worldloom.vector.checks import Backend

try:
    from tianshou.data import Batch
    from tianshou.env import BaseVectorEnv
except ImportError as missing:
    raise InputError("worlds for Tianshou need its package: pip install 'tianshou>=2.0'") from missing

Ids = int | Sequence[int] | np.ndarray[Any, Any] | None
"""The worlds that a call is about; None for all."""


class TianshouVectorEnv(VectorAdapter, BaseVectorEnv):  # type: ignore[misc]
    """A batch of worlds for Tianshou's collectors, which reset worlds themselves: autoreset is disabled.

    ``step(actions, ids)`` and ``reset(ids)`` leave the other worlds as they are. Infos are one dict per world, with
    ``env_id`` and the world's info components. Several observation components form a Batch.

    The attributes of a world are its configuration and components: ``set_env_attr("force", 5.0, id=[0, 1])``.

    Args: As for :class:`worldloom.vector.adapters.base.VectorAdapter`, and ``render_mode``.
    """

    BACKEND: ClassVar[Backend] = "numpy"
    AUTORESET: ClassVar[Autoreset] = "disabled"
    OPTIONS = frozenset({"render_mode"})

    def _connect(self, worlds: WorldVectorEnv, config: Mapping[str, Any]) -> None:
        """Set the attributes of BaseVectorEnv, whose constructor creates one worker per environment."""
        self.env_num = self.wait_num = worlds.num_envs
        self.ready_id = list(range(worlds.num_envs))
        self.waiting_id: list[int] = []
        self.timeout, self.is_async, self.is_closed = None, False, False
        self._ended = np.zeros(worlds.num_envs, np.bool_)

    def reset(self, env_id: Ids = None, **kwargs: Any) -> tuple[Any, np.ndarray[Any, Any]]:
        """Start new episodes in all worlds, or in those of ``env_id``.

        Args:
            env_id: The worlds, in any order.
            kwargs: ``seed`` of Gymnasium's reset.

        Returns:
            Observations and infos of these worlds, in the order of ``env_id``.
        """
        self._assert_is_not_closed()
        ids = self._ids(env_id)
        mask = np.zeros(self.env_num, np.bool_)
        mask[ids] = True
        options = {**(kwargs.pop("options", None) or {}), **({} if env_id is None else {"reset_mask": mask})}
        observations, infos = self.worlds.reset(**kwargs, options=options or None)
        self._ended &= ~mask
        return _rows(observations, ids), self._infos_per_world(infos, ids)

    def step(
        self, action: Any, id: Ids = None
    ) -> tuple[Any, np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Step all worlds, or those of ``id``.

        Args:
            action: One action per world of ``id``, in the same order.
            id: The worlds, in any order.

        Returns:
            Observations, rewards, terminations, truncations and infos, in the order of ``id``.
        """
        self._assert_is_not_closed()
        ids = self._ids(id)
        if self._ended[ids].any():
            raise InputError(f"world {int(ids[self._ended[ids].argmax()])} is over: reset it first, reset(env_id=...)")
        if len(action) != len(ids):
            raise InputError(f"step needs one action for each of {len(ids)} worlds, not {len(action)}")
        self._step_worlds(stack_actions(action), ids)
        observations, rewards, terminations, truncations, infos = self.worlds.batch.step_result()
        self._ended[ids] = (terminations | truncations)[ids]
        return (
            _rows(observations, ids),
            rewards[ids],
            terminations[ids],
            truncations[ids],
            self._infos_per_world(infos, ids),
        )

    def _step_worlds(self, actions: Any, ids: np.ndarray[Any, Any]) -> None:
        """Step all worlds, and restore the earlier state of those that are not in ``ids``."""
        batch, simulation = self.worlds.batch, self.worlds.simulation
        others = np.setdiff1d(np.arange(self.env_num), ids)
        snapshot = simulation.snapshot(others) if others.size else None
        batch.step(self._for_all_worlds(actions, ids))
        if snapshot is not None:
            simulation.restore(snapshot, others)
            batch.discard_copies()

    def _for_all_worlds(self, actions: Any, ids: np.ndarray[Any, Any]) -> Any:
        """The actions of ``ids`` in the rows of their worlds; other worlds get a copy of the first, which is valid."""
        if isinstance(actions, dict):
            return {key: self._for_all_worlds(values, ids) for key, values in actions.items()}
        complete = np.repeat(actions[:1], self.env_num, axis=0)
        complete[ids] = actions
        return complete

    def _ids(self, ids: Ids) -> np.ndarray[Any, Any]:
        """The indices of worlds, shape (n,)."""
        indices: np.ndarray[Any, Any] = np.atleast_1d(np.arange(self.env_num) if ids is None else np.asarray(ids, int))
        if not 0 < len(indices) == len(np.unique(indices)) or indices.min() < 0 or indices.max() >= self.env_num:
            raise InputError(f"ids of worlds are distinct and from 0 to {self.env_num - 1}, not {indices.tolist()}")
        return indices

    def _infos_per_world(self, infos: dict[str, Any], ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """One dict per world of ``ids``, as an array of objects."""
        values = {component.key: infos[component.key] for component in self.worlds.batch.layout.infos}
        rows = np.empty(len(ids), object)
        rows[:] = [{"env_id": i, **{key: value[i] for key, value in values.items()}} for i in ids.tolist()]
        return rows

    def get_env_attr(self, key: str, id: Ids = None) -> list[Any]:
        """An attribute of all worlds, or of those of ``id``: one of Gymnasium's, a configuration or a component."""
        values = self.worlds.get_attr(key)
        return [values[i] for i in self._ids(id)]

    def set_env_attr(self, key: str, value: Any, id: Ids = None) -> None:
        """Set a configuration or component of all worlds, or of those of ``id``, to one value."""
        values = list(self.worlds.get_attr(key))
        for i in self._ids(id):
            values[i] = value
        self.worlds.set_attr(key, values)

    def seed(self, seed: int | Sequence[int] | None = None) -> list[list[int] | None]:
        """Start new episodes: world k with the seed ``seed + k``, or with ``seed[k]``."""
        seeds = range(seed, seed + self.env_num) if isinstance(seed, int) else seed
        self.reset(seed=None if seeds is None else list(seeds))
        return [None] * self.env_num if seeds is None else [[int(value)] for value in seeds]

    def render(self, **kwargs: Any) -> list[Any]:
        """One image per world, or None without ``render_mode``."""
        self._assert_is_not_closed()
        return list(self.worlds.render() or [None] * self.env_num)

    def close(self) -> None:
        """Release the worlds' memory."""
        super().close()
        self.is_closed = True


def _rows(observations: Any, ids: np.ndarray[Any, Any]) -> Any:
    """The observations of ``ids``, shape (len(ids), ...); a Batch of several components."""
    if isinstance(observations, dict):
        return Batch({key: value[ids] for key, value in observations.items()})
    return observations[ids]
