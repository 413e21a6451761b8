"""CPU threads that run slices of the worlds. All simulations of the process share them."""

from __future__ import annotations

import functools
import itertools
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

WARP_LOCK = threading.RLock()
"""Held while memory is allocated and graphs are recorded: Warp records the CPU launches of all threads meanwhile."""

MIN_WORLDS = 1024
"""Smallest number of worlds per slice by default: waking a thread costs about as much as stepping them."""

SLICE_FACTOR, MAX_SLICES_PER_THREAD = 2, 16
"""Slices of slow worlds hold ``SLICE_FACTOR`` times the smallest number of worlds per thread, with an upper bound
per thread."""


def num_cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count(num_worlds: int, threads: int | None, min_worlds: int = MIN_WORLDS) -> int:
    """The number of threads that step ``num_worlds`` worlds.

    ``threads=None`` gives each core at least ``min_worlds`` worlds.
    """
    return min(num_cores(), max(1, num_worlds // min_worlds)) if threads is None else min(threads, num_worlds)


def slices(num_worlds: int, threads: int | None, min_worlds: int = MIN_WORLDS) -> list[tuple[int, int]]:
    """The slices of worlds, as (first, end): one per thread, or several for slow worlds.

    A free thread takes the next slice, so that no thread waits long. The data of a small slice stays in the cache from
    one kernel to the next.
    """
    parts = thread_count(num_worlds, threads, min_worlds)
    if min_worlds < MIN_WORLDS:
        parts = max(parts, min(MAX_SLICES_PER_THREAD * parts, num_worlds // (SLICE_FACTOR * min_worlds)))
    edges = [num_worlds * i // parts for i in range(parts + 1)]
    return list(itertools.pairwise(edges))


@dataclass
class _Job:
    run: Callable[[], None]
    done: threading.Lock = field(default_factory=threading.Lock)
    error: BaseException | None = None


class _Workers:
    """Threads that wait for jobs, created on first use, and again in a forked process."""

    def __init__(self) -> None:
        self.queues: list[queue.SimpleQueue[_Job]] = []
        self.process = os.getpid()
        self.lock = threading.Lock()

    def get(self, index: int) -> queue.SimpleQueue[_Job]:
        if self.process != os.getpid():
            self.__init__()  # type: ignore[misc]
        with self.lock:
            while len(self.queues) <= index:
                jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
                threading.Thread(
                    target=_work, args=(jobs,), name=f"worldloom-{len(self.queues) + 1}", daemon=True
                ).start()
                self.queues.append(jobs)
            return self.queues[index]


def _work(jobs: queue.SimpleQueue[_Job]) -> None:
    while True:
        job = jobs.get()
        try:
            job.run()
        except BaseException as error:
            job.error = error
        job.done.release()
        del job


_WORKERS = _Workers()


def run_all(runs: list[Callable[[], None]], threads: int | None = None) -> None:
    """Run all in this thread and others and wait for them, with ``threads`` threads, or one for each of ``runs``."""
    if threads is not None and threads < len(runs):
        waiting = deque(runs)
        runs = [functools.partial(_drain, waiting)] * threads
    if len(runs) == 1:
        runs[0]()
        return
    jobs = []
    for index, run in enumerate(runs[1:]):
        job = _Job(run)
        job.done.acquire()
        _WORKERS.get(index).put(job)
        jobs.append(job)
    try:
        runs[0]()
    finally:
        for job in jobs:
            job.done.acquire()
    for job in jobs:
        if job.error is not None:
            raise job.error


def _drain(waiting: deque[Callable[[], None]]) -> None:
    while waiting:
        try:
            run = waiting.popleft()
        except IndexError:  # another thread has taken the last one
            return
        run()
