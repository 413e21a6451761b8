"""Jobs side by side in worker processes of this machine."""

from __future__ import annotations

import queue
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.jobs.core_shares import core_shares
from worldloom.learn.experiments.jobs.executor import DIED, Answers, Executor
from worldloom.learn.experiments.worker_process import WorkerProcess

POLL_S = 0.05
"""Seconds between two looks at a worker."""
EXIT_S = 10.0
"""Seconds that a worker may take to exit after its answer: trackers may still send what they have."""


class Processes(Executor):
    """Runs jobs in processes of their own, each with an equal share of the CPU cores.

    Args:
        module: The module whose main function answers a job, see
            :mod:`~worldloom.learn.experiments.worker_process`.
        at_once: How many run side by side.
        log: The file for what job ``key`` prints.
        received: The signal that this process got, or None. It is passed on, and no further job starts.
    """

    def __init__(
        self,
        module: str,
        at_once: int,
        log: Callable[[int], Path],
        received: Callable[[], signal.Signals | None] = lambda: None,
    ) -> None:
        self._module, self._log, self._received = module, log, received
        self._shares = core_shares(at_once)
        self._free = list(range(at_once))
        self._running: dict[int, tuple[int, WorkerProcess]] = {}
        self._ended: list[WorkerProcess] = []
        self._stop: signal.Signals | None = None

    def is_free(self) -> bool:
        return bool(self._free) and self._stop is None and self._received() is None

    def is_busy(self) -> bool:
        return bool(self._running)

    def start(self, key: int, message: Mapping[str, Any]) -> None:
        slot = self._free.pop(0)
        try:
            worker = WorkerProcess(self._module, message, self._log(key), self._shares[slot])
        except OSError as error:
            raise InputError(f"a process for training cannot be started: {error}") from None
        self._running[key] = slot, worker

    def wait(self) -> Answers:
        if self._stop is None and (stop := self._received()) is not None:
            self._stop = stop
            for _, worker in self._running.values():
                worker.send_signal(stop)
        answers: Answers = []
        for key, (slot, worker) in list(self._running.items()):
            try:
                answer = worker.receive(POLL_S)
            except queue.Empty:
                continue
            if answer is None and self._stop is None:
                answer = {DIED: f"{worker.describe_exit()} (see {worker.log})"}
            if answer is not None:
                answers.append((key, answer))
            self._ended.append(worker)
            del self._running[key]
            self._free.append(slot)
        return answers

    def close(self) -> None:
        """End the workers. Those that got a signal save a checkpoint and exit by themselves."""
        if self._stop is None:
            for _, worker in self._running.values():
                worker.close()
            for worker in self._ended:
                worker.close(EXIT_S)
