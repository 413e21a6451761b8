"""What the engine says while a person waits: one line on standard error, and only when the wait is long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_S = 0.5
"""How long nothing is said."""


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """Say that ``what`` is being compiled, if it takes long; done once, the result is cached on disk."""
    start = time.perf_counter()
    said = threading.Event()

    def say() -> None:
        said.set()
        print(f"worldloom: compiling {what} (once; cached afterwards) ...", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(PATIENCE_S, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set():
            print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
