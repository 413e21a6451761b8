"""Environments that step on threads: ``recv`` returns the first ``batch_size`` that finish."""

from __future__ import annotations

import queue
import threading
import weakref
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.envpool.state import State
from worldloom.envpool.world_group import Rows, WorldGroup

IDLE, QUEUED, RUNNING = 0, 1, 2
"""What an environment is doing: nothing, its action waits for the rest of its group, or its group runs."""
STOP_TIMEOUT = 60.0  # s


@dataclass(frozen=True)
class Job:
    """A step, or with ``actions`` None a reset, of all worlds of a group or of some rows."""

    group: int
    rows: Rows | None
    actions: Any


class AsyncEngine:
    """Groups of worlds of equal size. A group steps on one thread once all its worlds have an action.

    A group whose worlds do not all have an action steps when ``recv`` would otherwise wait forever; the others of its
    worlds then keep their state, which takes longer.

    Args:
        groups: The worlds; group k holds those with ids from ``k * size`` to ``(k + 1) * size - 1``.
        batch_size: Number of environments that ``recv`` returns.
        num_threads: Number of groups that step at the same time.
    """

    def __init__(self, groups: list[WorldGroup], batch_size: int, num_threads: int) -> None:
        self.groups, self.batch_size, self._size = groups, batch_size, groups[0].size
        self._status = np.full((len(groups), self._size), IDLE, np.int8)
        self._actions: list[dict[str, Any]] = [{} for _ in groups]
        self._ready: deque[State] = deque()
        self._num_ready = 0
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Job, State | Exception]] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(
                target=_run_jobs, args=(groups, self._jobs, self._done), daemon=True, name=f"worldloom-envpool-{k}"
            )
            for k in range(min(num_threads, len(groups)))
        ]
        for thread in self._threads:
            thread.start()
        self._stop = weakref.finalize(self, _stop_threads, self._jobs, self._threads)

    def send(self, actions: Any, ids: Rows | None) -> None:
        """Give all worlds, or those of ``ids``, an action."""
        groups, slots = self._find_idle(ids)
        for group in np.unique(groups).tolist():
            chosen = groups == group
            self._store(group, slots[chosen], actions, chosen)
            if (self._status[group] == QUEUED).all():
                self._run(group)

    def reset(self, ids: Rows | None) -> None:
        """Start new episodes in all worlds, after which no earlier result is received, or in those of ``ids``."""
        if ids is None:
            self._discard()
        groups, slots = self._find_idle(ids)
        for group in np.unique(groups).tolist():
            rows = slots[groups == group]
            self._wait_for(group)
            self._status[group, rows] = RUNNING
            self._jobs.put(Job(group, None if len(rows) == self._size else rows, None))

    def _discard(self) -> None:
        """Forget all actions that wait, and all results that were not received."""
        self._status[self._status == QUEUED] = IDLE
        while (self._status == RUNNING).any():
            self._collect()
        self._ready.clear()
        self._num_ready = 0

    def recv(self) -> State:
        """The states of the next ``batch_size`` worlds, in the order in which their groups finished."""
        self._require_batch()
        while self._num_ready < self.batch_size:
            self._collect()
        return self._take_batch()

    def _collect(self) -> None:
        """Wait for the next group."""
        job, state = self._done.get()
        self._status[job.group, slice(None) if job.rows is None else job.rows] = IDLE
        if isinstance(state, Exception):
            raise state
        self._ready.append(state)
        self._num_ready += len(state["done"])

    def _require_batch(self) -> None:
        """Run incomplete groups if the running ones are too few for a batch."""
        missing = self.batch_size - self._num_ready - int((self._status == RUNNING).sum())
        for group in np.flatnonzero((self._status == QUEUED).any(1)).tolist() if missing > 0 else ():
            if missing > 0:
                self._wait_for(group)
                missing -= int((self._status[group] == QUEUED).sum())
                self._run(group)
        if missing > 0:
            raise InputError(
                f"recv returns {self.batch_size} environments, but only {self.batch_size - missing} are stepping: "
                "call async_reset first, or send more actions"
            )

    def _take_batch(self) -> State:
        if len(self._ready[0]["done"]) == self.batch_size:
            self._num_ready -= self.batch_size
            return self._ready.popleft()
        chunks, count = [], 0
        while count < self.batch_size:
            chunk = self._ready.popleft()
            rows = len(chunk["done"])
            if count + rows > self.batch_size:
                taken = self.batch_size - count
                self._ready.appendleft({key: values[taken:] for key, values in chunk.items()})
                chunk, rows = {key: values[:taken] for key, values in chunk.items()}, taken
            chunks.append(chunk)
            count += rows
        self._num_ready -= count
        return {key: np.concatenate([chunk[key] for chunk in chunks]) for key in chunks[0]}

    def _find_idle(self, ids: Rows | None) -> tuple[Rows, Rows]:
        """Group and index within it of each id. Raises InputError if an environment is not idle."""
        everything = np.arange(len(self.groups) * self._size) if ids is None else ids
        groups, slots = np.divmod(everything, self._size)
        busy = self._status[groups, slots] != IDLE
        if busy.any():
            raise InputError(
                f"environment {int(everything[busy.argmax()])} has its action already: receive it before the next "
                "send or reset"
            )
        return groups, slots

    def _store(self, group: int, slots: Rows, actions: Any, chosen: Rows) -> None:
        self._wait_for(group)
        values = actions if isinstance(actions, Mapping) else {"": actions}
        buffers = self._actions[group]
        for key, array in values.items():
            if key not in buffers:
                buffers[key] = np.zeros((self._size, *array.shape[1:]), array.dtype)
            buffers[key][slots] = array[chosen]
        self._status[group, slots] = QUEUED

    def _wait_for(self, group: int) -> None:
        """Wait for a group of which some worlds are running; it may run without the others after incomplete sends."""
        while (self._status[group] == RUNNING).any():
            self._collect()

    def _run(self, group: int) -> None:
        queued = self._status[group] == QUEUED
        self._status[group, queued] = RUNNING
        rows = None if queued.all() else np.flatnonzero(queued)
        arrays = {key: array if rows is None else array[rows] for key, array in self._actions[group].items()}
        self._jobs.put(Job(group, rows, arrays.get("", arrays)))

    def close(self) -> None:
        """Stop the threads and release the memory."""
        self._stop()
        for group in self.groups:
            group.batch.simulation.close()


def _run_jobs(
    groups: list[WorldGroup],
    jobs: queue.SimpleQueue[Job | None],
    done: queue.SimpleQueue[tuple[Job, State | Exception]],
) -> None:
    while (job := jobs.get()) is not None:
        group = groups[job.group]
        try:
            group.reset(job.rows) if job.actions is None else group.step(job.actions, job.rows)
            done.put((job, group.read(job.rows)))
        except Exception as error:  # recv raises it
            done.put((job, error))


def _stop_threads(jobs: queue.SimpleQueue[Job | None], threads: list[threading.Thread]) -> None:
    for _ in threads:
        jobs.put(None)
    for thread in threads:
        thread.join(STOP_TIMEOUT)
