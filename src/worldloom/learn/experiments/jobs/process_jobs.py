"""Jobs side by side in worker processes of this machine."""

from __future__ import annotations

import queue
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldloom.learn.experiments.jobs.core_shares import core_shares
from worldloom.learn.experiments.jobs.executor import DIED, MAX_RESTARTS, Answers, Executor
from worldloom.learn.experiments.worker_process import WorkerProcess

POLL_S = 0.05
"""Seconds between two looks at a worker."""
EXIT_S = 10.0
"""Seconds that a worker may take to exit after its answer: trackers may still send what they have."""


@dataclass
class RunningJob:
    """A job under way: its message, the process that runs it, and how often that was killed before.

    Attributes:
        slot: The share of the CPU cores that it uses.
        message, worker: The job, and its process.
        restarts: How many processes of the job were killed.
    """

    slot: int
    message: Mapping[str, Any]
    worker: WorkerProcess
    restarts: int = 0


class Processes(Executor):
    """Runs jobs in processes of their own, each with an equal share of the CPU cores.

    A job whose process is killed by a signal, as where memory runs out, starts again up to
    :data:`~worldloom.learn.experiments.jobs.executor.MAX_RESTARTS` times.

    Args:
        module: The module whose main function answers a job, see
            :mod:`~worldloom.learn.experiments.worker_process`.
        at_once: How many run side by side.
        log: The file for what job ``key`` prints.
        received: The signal that this process got, or None. It is passed on, and no further job starts.
        on_restart: Called with the key of a job that starts again, and how its process ended, in words.
    """

    def __init__(
        self,
        module: str,
        at_once: int,
        log: Callable[[int], Path],
        received: Callable[[], signal.Signals | None] = lambda: None,
        on_restart: Callable[[int, str], None] | None = None,
    ) -> None:
        self._module, self._log, self._received, self._on_restart = module, log, received, on_restart
        self._shares = core_shares(at_once)
        self._free = list(range(at_once))
        self._running: dict[int, RunningJob] = {}
        self._ended: list[WorkerProcess] = []
        self._stop: signal.Signals | None = None

    def is_free(self) -> bool:
        return bool(self._free) and self._stop is None and self._received() is None

    def is_busy(self) -> bool:
        return bool(self._running)

    def start(self, key: int, message: Mapping[str, Any]) -> None:
        slot = self._free.pop(0)
        self._running[key] = RunningJob(slot, message, self._start_worker(key, slot, message))

    def _start_worker(self, key: int, slot: int, message: Mapping[str, Any]) -> WorkerProcess:
        return WorkerProcess(self._module, message, self._log(key), self._shares[slot])

    def wait(self) -> Answers:
        if self._stop is None and (stop := self._received()) is not None:
            self._stop = stop
            for job in self._running.values():
                job.worker.send_signal(stop)
        answers: Answers = []
        for key, job in list(self._running.items()):
            try:
                answer = job.worker.receive(POLL_S)
            except queue.Empty:
                continue
            if answer is None and self._stop is None:
                how = f"{job.worker.describe_exit()} (see {job.worker.log})"
                if job.worker.was_killed() and self._received() is None and job.restarts < MAX_RESTARTS:
                    self._restart(key, job, how)
                    continue
                answer = {DIED: f"{how}, {job.restarts + 1} times" if job.restarts else how}
            if answer is not None:
                answers.append((key, answer))
            self._ended.append(job.worker)
            del self._running[key]
            self._free.append(job.slot)
        return answers

    def _restart(self, key: int, job: RunningJob, how: str) -> None:
        if self._on_restart is not None:
            self._on_restart(key, how)
        job.worker.close()
        job.worker = self._start_worker(key, job.slot, job.message)
        job.restarts += 1

    def close(self) -> None:
        """End the workers. Those that got a signal save a checkpoint and exit by themselves."""
        if self._stop is None:
            for job in self._running.values():
                job.worker.close()
            for worker in self._ended:
                worker.close(EXIT_S)
