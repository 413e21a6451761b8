"""A batch of worlds that step and reset all together, or some of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from worldloom.envpool.frame_stack import FrameStack, is_observation
from worldloom.envpool.state import State, StateReader
from worldloom.vector.world_batch import WorldBatch

Rows = np.ndarray[Any, Any]


class WorldGroup:
    """Environments of consecutive ids.

    As in EnvPool, the first step of an environment that was never reset is its first reset.

    Args:
        batch: The worlds, with next-step autoreset.
        first_id: The id of the first environment.
        time_steps: As for :class:`StateReader`.
        frame_stack: Number of observations that one holds.
    """

    def __init__(self, batch: WorldBatch, first_id: int, time_steps: bool, frame_stack: int = 1) -> None:
        self.batch, self.reader = batch, StateReader(batch, first_id, time_steps)
        self.size = batch.num_envs
        self._stack = FrameStack(frame_stack, self.size) if frame_stack > 1 else None
        self._unstarted: Rows | None = np.ones(self.size, np.bool_)
        """Worlds still at the start that the seed of the constructor gave them; None once there are none."""

    def read(self, rows: Rows | None = None) -> State:
        """Copies of the states of all worlds, or of ``rows`` in their order; once after each of their steps."""
        state = self.reader.read(rows)
        if self._stack is not None:
            self._stack.push(state, rows)
        return state

    def row_forms(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The type, and the shape of one environment's row, of every array of a state."""
        stack = () if self._stack is None else (self._stack.count,)
        state = self.reader.read(np.zeros(1, np.int64))
        return {
            key: (values.dtype, (*stack, *values.shape[1:]) if is_observation(key) else values.shape[1:])
            for key, values in state.items()
        }

    def reset(self, rows: Rows | None) -> None:
        """Start new episodes in all worlds, or in ``rows``; unstarted worlds keep the episode they have."""
        self.batch.discard_copies()
        if rows is None and self._unstarted is None:
            self.batch.simulation.reset()
            return
        resetting = self._mask(rows)
        started = self._take_started(resetting)
        if started.any():
            self.batch.simulation.reset(started)

    def step(self, actions: Any, rows: Rows | None) -> None:
        """Step all worlds, or ``rows``.

        Args:
            actions: An array whose rows are those of ``rows``, or a mapping of such arrays.
            rows: Indices of worlds in any order, each once; None for all worlds in their order.
        """
        if rows is None and self._unstarted is None:
            self.batch.step(actions)
            return
        self._step_some(self._all_actions(actions, rows), self._take_started(self._mask(rows)))

    def _step_some(self, actions: Any, stepping: Rows) -> None:
        """Step all worlds, then give those that are not ``stepping`` their earlier state again."""
        simulation, others = self.batch.simulation, np.flatnonzero(~stepping)
        if not stepping.any():
            return
        if not others.size:
            self.batch.step(actions)
            return
        snapshot = simulation.snapshot(others)
        self.batch.step(actions)
        simulation.restore(snapshot, others)
        self.batch.discard_copies()

    def _all_actions(self, actions: Any, rows: Rows | None) -> Any:
        """``actions`` for ``rows`` as actions for all worlds; the other worlds repeat their last action."""
        if rows is None:
            return actions
        layout, tables = self.batch.layout.actions, self.batch.simulation.tables
        values = actions if isinstance(actions, Mapping) else {layout[0].key: actions}
        complete = {}
        for component in layout:
            column = tables[component.table][component.name].numpy()
            complete[component.key] = column.reshape(self.size, *component.shape).copy()
            complete[component.key][rows] = values[component.key]
        return complete if isinstance(actions, Mapping) else complete[layout[0].key]

    def _mask(self, rows: Rows | None) -> Rows:
        mask = np.zeros(self.size, np.bool_)
        mask[slice(None) if rows is None else rows] = True
        return mask

    def _take_started(self, mask: Rows) -> Rows:
        """Those worlds of ``mask`` that are started already; the others of ``mask`` become started."""
        if self._unstarted is None:
            return mask
        started = mask & ~self._unstarted
        self._unstarted &= ~mask
        if not self._unstarted.any():
            self._unstarted = None
            self.batch.simulation.pristine = False
        return started
