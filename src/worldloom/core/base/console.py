"""A notice on standard error while kernels are compiled, if the compilation takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

NOTICE_DELAY_S = 0.5
"""Seconds before the notice is printed."""

_enabled = True
"""Whether notices are printed."""

MAX_LABEL_LENGTH = 120
"""Characters of the name in the notice: the id of a selection of games can have thousands."""


def shortened(what: str) -> str:
    """``what``, or its beginning and its end if it is longer than :data:`MAX_LABEL_LENGTH`."""
    if len(what) <= MAX_LABEL_LENGTH:
        return what
    return f"{what[: MAX_LABEL_LENGTH // 2]} ... {what[-MAX_LABEL_LENGTH // 3 :]}"


@contextmanager
def without_notices(silent: bool = True) -> Iterator[None]:
    """Print no notices inside the block, in any thread; with ``silent=False`` nothing changes."""
    global _enabled
    before, _enabled = _enabled, _enabled and not silent
    try:
        yield
    finally:
        _enabled = before


@contextmanager
def compile_notice(what: str) -> Iterator[None]:
    """Print that ``what`` is being compiled, if the block takes long. Long names are shortened."""
    start = time.perf_counter()
    printed = threading.Event()

    def print_notice() -> None:
        if not _enabled:
            return
        printed.set()
        print(
            f"worldloom: compiling {shortened(what)} (once; cached afterwards) ...", end="", file=sys.stderr, flush=True
        )

    timer = threading.Timer(NOTICE_DELAY_S, print_notice)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if printed.is_set():
            print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
