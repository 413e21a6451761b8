"""What the engine says while a person waits: one line on standard error, and only when the wait is long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

NOTICE_DELAY_S = 0.5
"""How long nothing is said."""


MAX_LABEL_LENGTH = 120
"""Letters of what is said to be compiled: the id of many games at once has thousands."""


def shortened(what: str) -> str:
    """Not more than so many letters of ``what``: its beginning and its end."""
    return (
        what
        if len(what) <= MAX_LABEL_LENGTH
        else f"{what[: MAX_LABEL_LENGTH // 2]} ... {what[-MAX_LABEL_LENGTH // 3 :]}"
    )


@contextmanager
def compile_notice(what: str) -> Iterator[None]:
    """Say that ``what`` is being compiled, if it takes long; done once, the result is cached on disk. Long ids are cut short."""
    start = time.perf_counter()
    said = threading.Event()

    def say() -> None:
        said.set()
        print(
            f"worldloom: compiling {shortened(what)} (once; cached afterwards) ...", end="", file=sys.stderr, flush=True
        )

    timer = threading.Timer(NOTICE_DELAY_S, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set():
            print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
