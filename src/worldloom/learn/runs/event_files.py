"""TensorBoard's files of a run."""

from __future__ import annotations

import secrets
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any


def open_events(folder: Path, purge_step: int | None) -> Any:
    """TensorBoard's writer; None where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        warnings.warn("no TensorBoard events are written: pip install tensorboard adds them", stacklevel=4)
        return None
    if not isinstance(threading.excepthook, ThreadErrors):
        threading.excepthook = ThreadErrors(threading.excepthook)
    _wait_for_later_name(folder)
    # The random suffix keeps a prepared symbolic link from redirecting the file.
    return SummaryWriter(str(folder), purge_step=purge_step, filename_suffix=f".{secrets.token_hex(8)}")


class ThreadErrors:
    """Shows the errors of threads, except those of TensorBoard's writer, which the next event or its close raises.

    Args:
        show: Shows the others: the hook that this one replaces.
    """

    def __init__(self, show: Callable[[threading.ExceptHookArgs], object]) -> None:
        self._show = show

    def __call__(self, details: threading.ExceptHookArgs) -> None:
        is_events_thread = type(details.thread).__module__.startswith("tensorboard.")
        if not (is_events_thread and isinstance(details.exc_value, OSError)):
            self._show(details)


def _wait_for_later_name(folder: Path) -> None:
    """Wait, for at most a second, until the name of a new events file sorts after those in ``folder``.

    TensorBoard reads the files in the order of their names, ``events.out.tfevents.<second>.<host>.<process>.<count>``,
    and ``purge_step`` only drops what it has already read.
    """
    names = [path.name.split(".") for path in folder.glob("events.out.tfevents.*")]
    seconds = [int(name[3]) for name in names if name[3].isdigit()]
    end = time.monotonic() + 1.0
    while seconds and int(time.time()) <= max(seconds) and time.monotonic() < end:
        time.sleep(0.01)
