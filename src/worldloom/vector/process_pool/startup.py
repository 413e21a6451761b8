"""The start of workers: their messages until they serve, and the time limits of imports, construction and resets."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Sequence
from multiprocessing import connection
from typing import Any

from worldloom.vector.process_pool.faults import Fault, WorkerError, exited_fault, hung_fault, raised_fault
from worldloom.vector.process_pool.workers import WorkerHandle

GRACE_S = 1.0
"""Seconds in which other workers report their faults after a first one. The fault of the first worker is raised."""


def await_startup(
    workers: Sequence[WorkerHandle],
    env_ids: Sequence[tuple[int, ...]],
    expected: str,
    timeout: float,
    start_timeout: float,
) -> list[Any]:
    """The message ``expected`` of each worker that is starting.

    A worker has ``start_timeout + timeout`` seconds. After these each environment that it makes has ``timeout``
    seconds; each environment that it resets always has ``timeout`` seconds.

    Args:
        workers: The workers.
        env_ids: The environments of every worker of the pool, by the worker's number.
        expected: ``made`` or ``ready``.
        timeout: The limit for one environment in seconds.
        start_timeout: The additional limit for the start in seconds.

    Returns:
        The contents of the messages, one list per worker.

    Raises:
        WorkerError: If a worker does not start.
    """
    limit = start_timeout + timeout
    deadlines = {worker.index: (time.monotonic() + limit, limit) for worker in workers}
    doing: dict[int, tuple[int, str]] = {}
    details: dict[int, Any] = {}
    faults: dict[int, Fault] = {}
    first_fault = math.inf
    missing = {worker.control: worker for worker in workers}
    while missing and time.monotonic() < first_fault + GRACE_S:
        first = min(missing.values(), key=lambda worker: deadlines[worker.index])
        deadline, limit = deadlines[first.index]
        ready = connection.wait(list(missing), max(min(deadline, first_fault + GRACE_S) - time.monotonic(), 0.0))
        if time.monotonic() >= deadline and first.control not in ready:
            faults[first.index] = _hung(env_ids[first.index], limit, doing.get(first.index))
            del missing[first.control]
        for worker in [missing[control] for control in ready]:  # type: ignore[index]
            message = _receive(worker, env_ids[worker.index])
            if isinstance(message, Fault):
                faults[worker.index] = message
            elif message[0] == "begun":
                _, env_id, operation = message
                doing[worker.index] = env_id, f" when it {operation}"
                begun = time.monotonic() + timeout, timeout
                made = operation == "was made"
                deadlines[worker.index] = max(begun, deadlines[worker.index]) if made else begun
                continue
            else:
                assert message[0] == expected
                details[worker.index] = message[1:]
            del missing[worker.control]
        if faults:
            first_fault = min(first_fault, time.monotonic())
    if faults:
        raise WorkerError([faults[min(faults)]], "the pool is closed")
    return [details[worker.index] for worker in workers]


def _hung(env_ids: tuple[int, ...], limit: float, doing: tuple[int, str] | None) -> Fault:
    """The fault of a worker that does not start, given its environment and operation, if it has begun any."""
    env_id, when = doing or (None, " while it started")
    return hung_fault(env_ids, env_id, limit, when)


def _receive(worker: WorkerHandle, env_ids: tuple[int, ...]) -> Any:
    """The next message of a worker that is starting, or its fault."""
    try:
        message = pickle.loads(worker.control.recv_bytes())  # noqa: S301 - from our own worker
    except (EOFError, OSError):
        return exited_fault(env_ids, None, worker.describe_exit(), " while it started")
    return raised_fault(env_ids, *message[1:]) if message[0] == "raised" else message
