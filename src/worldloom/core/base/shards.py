"""CPU threads: each runs slices of the worlds. They are shared by all simulations of the process and sleep in between."""

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
"""Held while memory is laid out and graphs are recorded: Warp records whatever any thread launches on the CPU meanwhile."""

MIN_WORLDS = 1024
"""Slices are no smaller than this many worlds, unless these are said to be heavy: waking a thread costs about as much as stepping them."""


SLICE_FACTOR, MAX_SLICES_PER_THREAD = 2, 16
"""Heavy worlds are dealt out in slices of so many times the least number that is worth a thread, but in no more of them per thread than this."""


def thread_count(num_worlds: int, threads: int | None, least: int = MIN_WORLDS) -> int:
    """How many threads step so many worlds. ``threads=None`` takes every core that has ``least`` worlds or more to step."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, max(1, num_worlds // least)) if threads is None else min(threads, num_worlds)


def slices(num_worlds: int, threads: int | None, least: int = MIN_WORLDS) -> list[tuple[int, int]]:
    """The worlds that are stepped together, as (first, end): one slice per thread, or several of heavy worlds.

    Whichever thread is free takes the next slice, so that none waits long for another, and what one kernel leaves is still near when the next one comes.
    """
    parts = thread_count(num_worlds, threads, least)
    if least < MIN_WORLDS:
        parts = max(parts, min(MAX_SLICES_PER_THREAD * parts, num_worlds // (SLICE_FACTOR * least)))
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
    """Run all in this thread and others, ``threads`` together or one for each, and wait for them; where there are more runs than threads, they take turns."""
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
        except IndexError:  # another thread has taken the last
            return
        run()
