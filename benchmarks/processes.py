"""Worker processes that share the cores of a machine: each runs its part on request, and the caller waits for all."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any


def split(total: int, parts: int) -> list[int]:
    """``total`` as ``parts`` numbers that differ by one at most; none is 0."""
    return [total * (i + 1) // parts - total * i // parts for i in range(min(total, parts))]


ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
"""Environment of a worker process: one core and no GPU."""


def _begin(pipe: Connection, function: Callable[..., None]) -> None:
    function(pipe, *pipe.recv())


@contextmanager
def workers(function: Callable[..., None], arguments: Sequence[tuple[Any, ...]]) -> Iterator[list[Connection]]:
    """Start ``function(pipe, *argument)`` in a process per argument; yield our ends after a first message."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    before = dict(os.environ)
    os.environ.update(ALONE)
    for _ in arguments:
        ours, theirs = context.Pipe()
        process = context.Process(target=_begin, args=(theirs, function), daemon=True)
        process.start()
        theirs.close()  # so that the end of the process is seen here
        pipes.append(ours)
        processes.append(process)
    os.environ.clear()
    os.environ.update(before)
    try:
        for pipe, given in zip(
            pipes, arguments, strict=True
        ):  # when all have begun: a large message waits until its reader has imported everything
            pipe.send(given)
        for pipe in pipes:
            pipe.recv()
        yield pipes
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.terminate()
            process.join()
