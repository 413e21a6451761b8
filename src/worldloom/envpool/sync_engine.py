"""Environments that step in the calling thread: ``recv`` returns those of the sends before it, in their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.envpool.state import State
from worldloom.envpool.world_group import Rows, WorldGroup


class SyncEngine:
    """One group of worlds; the worlds of all ids keep their order.

    Args:
        group: The worlds.
    """

    def __init__(self, group: WorldGroup) -> None:
        self.groups = [group]
        self._group = group
        self._everything_pending = False
        self._pending: list[Rows] = []

    def send(self, actions: Any, ids: Rows | None) -> None:
        """Step all worlds, or those of ``ids``."""
        self._add(ids)
        self._group.step(actions, ids)

    def reset(self, ids: Rows | None) -> None:
        """Start new episodes in all worlds, after which no earlier result is received, or in those of ``ids``."""
        if ids is None:
            self._everything_pending, self._pending = False, []
        self._add(ids)
        self._group.reset(ids)

    def recv(self) -> State:
        """The states of the worlds that were stepped or reset since the last call."""
        if self._everything_pending:
            self._everything_pending = False
            return self._group.read()
        if not self._pending:
            raise InputError("no environment is stepping: call async_reset or send first")
        rows, self._pending = np.concatenate(self._pending), []
        return self._group.read(rows)

    def _add(self, ids: Rows | None) -> None:
        if self._everything_pending or (self._pending and (ids is None or self._is_pending(ids))):
            raise InputError("an environment has its action already: call recv before the next send or reset")
        if ids is None:
            self._everything_pending = True
        else:
            self._pending.append(ids)

    def _is_pending(self, ids: Rows) -> bool:
        return bool(np.isin(ids, np.concatenate(self._pending)).any())

    def close(self) -> None:
        """Release the memory."""
        self._group.batch.simulation.close()
