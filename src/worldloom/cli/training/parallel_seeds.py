"""Seeds trained side by side, each in a process of its own; this process shows their progress and stores results."""

from __future__ import annotations

import math
import queue
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from worldloom.learn.experiments.jobs.core_shares import core_shares
from worldloom.learn.experiments.seed_folder import SeedFolder, SeedResult
from worldloom.learn.experiments.worker_process import WorkerProcess
from worldloom.learn.runs.metrics_file import METRICS
from worldloom.learn.runs.metrics_reader import MetricsReader
from worldloom.learn.runs.request_message import request_to_message
from worldloom.learn.training.progress import Progress

WORKER = "worldloom.cli.training.seed_worker"
POLL_S = 0.2
"""Seconds between two looks at a worker and its metrics."""
EXIT_S = 10.0
"""Seconds that a worker may take to exit after its result: trackers may still send what they have."""


def train_side_by_side(
    folder: SeedFolder,
    at_once: int,
    tracking: Mapping[str, Any],
    show: Callable[[Progress], None],
    received: Callable[[], signal.Signals | None],
) -> None:
    """Train the pending seeds of ``folder``, ``at_once`` at a time, and record their results.

    Args:
        folder: The folder.
        at_once: The number of processes. Each gets an equal share of the CPU cores.
        tracking: Arguments of :func:`~worldloom.learn.tracking.make_trackers.make_trackers` in every process.
        show: Called with the progress of all seeds together.
        received: The signal that this process got, or None. It is passed on, and no further seed starts.
    """
    waiting, shares = deque(folder.pending()), core_shares(at_once)
    progress = _CommonProgress(folder, list(waiting))
    free, running, ended, stop = list(range(at_once)), dict[int, tuple[int, WorkerProcess]](), [], None
    try:
        while running or (waiting and stop is None):
            while waiting and free and stop is None:
                seed, slot = waiting.popleft(), free.pop(0)
                running[seed] = slot, _start(folder, seed, tracking, shares[slot])
            if stop is None and (stop := received()) is not None:
                for _, worker in running.values():
                    worker.send_signal(stop)
            for seed, (slot, worker) in list(running.items()):
                if _is_over(folder, seed, worker, aborted=stop is not None):
                    ended.append(worker)
                    del running[seed]
                    free.append(slot)
            if (news := progress.read()) is not None:
                show(news)
    finally:
        if stop is None:  # otherwise they save a checkpoint and exit, also where this process no longer waits for it
            for _, worker in running.values():
                worker.close()
            for worker in ended:
                worker.close(EXIT_S)


def _start(folder: SeedFolder, seed: int, tracking: Mapping[str, Any], cores: Sequence[int]) -> WorkerProcess:
    request = {
        **request_to_message(folder.request_of(seed), folder.run_path(seed)),
        "tracking": dict(tracking),
    }
    log = folder.path / f"seed_{seed}.log"
    return WorkerProcess(WORKER, request, log, cores)


def _is_over(folder: SeedFolder, seed: int, worker: WorkerProcess, aborted: bool) -> bool:
    """Whether the training of a seed has ended; its result is then stored."""
    try:
        message = worker.receive(POLL_S)
    except queue.Empty:
        return False
    if message is None:
        if not aborted:
            folder.record(SeedResult(seed, error=f"{worker.describe_exit()} (see {worker.log})"))
        return True
    folder.record(SeedResult(**message["result"]) if "result" in message else SeedResult(seed, error=message["error"]))
    return True


class _CommonProgress:
    """The progress of several runs as one: steps are sums, metrics are means."""

    def __init__(self, folder: SeedFolder, seeds: Sequence[int]) -> None:
        self._steps = folder.request.config.total_steps
        self._readers = {seed: MetricsReader(folder.run_path(seed) / METRICS, self._steps) for seed in seeds}
        self._latest: dict[int, Progress] = {}

    def read(self) -> Progress | None:
        """The progress, where a run has written metrics since the last call."""
        news = {seed: rows[-1] for seed, reader in self._readers.items() if (rows := reader.new())}
        if not news:
            return None
        self._latest |= news
        latest = list(self._latest.values())
        values: dict[str, list[float]] = {}
        for progress in latest:
            for name, value in progress.metrics.items():
                if math.isfinite(value):
                    values.setdefault(name, []).append(value)
        running = [progress for progress in latest if progress.steps < self._steps]
        return Progress(
            iteration=max((progress.iteration for progress in latest), default=0),
            steps=sum(progress.steps for progress in latest),
            total_steps=self._steps * len(self._readers),
            seconds=max((progress.seconds for progress in latest), default=0.0),
            steps_per_second=sum(progress.steps_per_second for progress in running),
            metrics={name: sum(numbers) / len(numbers) for name, numbers in values.items()},
        )
