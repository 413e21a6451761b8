"""Jobs side by side on a Ray cluster, each in a task with a GPU or a CPU core of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import open_regular
from worldloom.learn.experiments.jobs.executor import DIED, MAX_RESTARTS, Answers, Executor, Work
from worldloom.learn.runs.ray_training import STOP, StopFile

POLL_S = 0.2
"""Seconds between two looks at the tasks."""


class RayJobs(Executor):
    """Runs jobs as Ray tasks. This process and all machines must see the folder under the same path.

    Args:
        ray: Ray, connected to a cluster, as by :func:`~worldloom.learn.runs.ray_training.ray_cluster`.
        work: The job, a function of a module.
        at_once: How many run side by side.
        device: The device of the trainings, as in their settings.
        folder: The folder of the experiment, in which a file stops the jobs.
        is_stopped: Whether the jobs are to stop, and no further one to start.

    Attributes:
        device: ``cuda:0`` where every job gets a GPU, else ``cpu``.
    """

    def __init__(
        self, ray: Any, work: Work, at_once: int, device: str, folder: Path, is_stopped: Callable[[], bool]
    ) -> None:
        gpus = ray.cluster_resources().get("GPU", 0.0)
        if device.startswith("cuda") and gpus < 1.0:
            raise InputError("the cluster has no GPU: use --device cpu")
        self.device = "cuda:0" if device != "cpu" and gpus >= 1.0 else "cpu"
        self._ray, self._at_once, self._is_stopped = ray, at_once, is_stopped
        self._stop = folder.absolute() / STOP
        self._stop.unlink(missing_ok=True)
        options = {"num_cpus": 1, "num_gpus": 1 if self.device != "cpu" else 0, "max_retries": MAX_RESTARTS}
        self._task = ray.remote(**options)(_run)
        self._work, self._running = work, dict[Any, int]()

    def is_free(self) -> bool:
        return len(self._running) < self._at_once and not self._is_stopped()

    def is_busy(self) -> bool:
        return bool(self._running)

    def start(self, key: int, message: Mapping[str, Any]) -> None:
        self._running[self._task.remote(self._work, dict(message), str(self._stop))] = key

    def wait(self) -> Answers:
        if not self._running:
            return []
        if self._is_stopped():
            os.close(open_regular(self._stop, os.O_WRONLY | os.O_CREAT))
        ended, _ = self._ray.wait(list(self._running), num_returns=1, timeout=POLL_S)
        answers: Answers = []
        for task in ended:
            try:
                answer = self._ray.get(task)
            except self._ray.exceptions.RayError as error:
                answer = {DIED: f"its Ray task failed: {str(error).strip().splitlines()[-1]}"}
            answers.append((self._running.pop(task), answer))
        return answers

    def close(self) -> None:
        self._stop.unlink(missing_ok=True)


def _run(work: Work, message: Mapping[str, Any], stop: str) -> dict[str, Any]:
    """The work of one task."""
    return work(message, [StopFile(Path(stop))])
