"""A progress bar on standard error, shown only when the wait is long."""

from __future__ import annotations

import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from worldloom.cli import console

PATIENCE_S = 2.0
"""How long no progress bar is shown."""


class Bar:
    """Shows how much of ``total`` is done."""

    def __init__(self, what: str, total: int) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console.err(), transient=True
        )
        self.task = self.progress.add_task(what, total=total)
        self.start = time.monotonic()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *details: object) -> None:
        if self.progress.live.is_started:
            self.progress.stop()

    def show(self, done: int) -> None:
        self.progress.update(self.task, completed=done)
        if not self.progress.live.is_started and self.progress.console.is_terminal and time.monotonic() - self.start > PATIENCE_S:
            self.progress.start()
