"""CPU threads: each runs one slice of the worlds. They are shared by all simulations of the process and sleep in between."""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

WARP = threading.RLock()
"""Held while memory is laid out and graphs are recorded: Warp records whatever any thread launches on the CPU meanwhile."""

MIN_WORLDS = 1024
"""Slices are no smaller than this many worlds, unless these are said to be heavy: waking a thread costs about as much as stepping them."""


def slices(num_worlds: int, threads: int | None, least: int = MIN_WORLDS) -> list[tuple[int, int]]:
    """The worlds of each thread, as (first, end). ``threads=None`` takes every core that has ``least`` worlds or more to step."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parts = min(cores, max(1, num_worlds // least)) if threads is None else min(threads, num_worlds)
    edges = [num_worlds * i // parts for i in range(parts + 1)]
    return list(itertools.pairwise(edges))


@dataclass
class _Job:
    run: Callable[[], None]
    done: threading.Lock = field(default_factory=threading.Lock)
    error: BaseException | None = None


class _Workers:
    """Threads that wait for jobs; made when first needed, and anew in a forked process."""

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
                threading.Thread(target=_work, args=(jobs,), name=f"worldloom-{len(self.queues) + 1}", daemon=True).start()
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


def run_all(runs: list[Callable[[], None]]) -> None:
    """Run the first in this thread and the others in threads of their own, and wait for all of them."""
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
