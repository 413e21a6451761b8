"""A progress bar on standard error for long operations; plain lines if there is no terminal."""

from __future__ import annotations

import math
import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from worldloom.terminal import console

PATIENCE_S = 2.0
"""Seconds before the progress bar appears."""
LINE_EVERY_S = 10.0
"""Seconds between two lines if there is no terminal."""


class ProgressBar:
    """Shows progress towards ``total``; nothing with ``quiet``."""

    def __init__(self, what: str, total: int, quiet: bool = False) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console.err(),
            transient=True,
        )
        self.task = self.progress.add_task(what, total=total)
        self.what, self.total = what, total
        self.due = math.inf if quiet else time.monotonic() + PATIENCE_S

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *details: object) -> None:
        if self.progress.live.is_started:
            self.progress.stop()

    def show(self, done: int, total: int | None = None) -> None:
        """Update the progress to ``done``, of another ``total`` where one is given."""
        self.total = self.total if total is None else total
        self.progress.update(self.task, completed=done, total=self.total)
        if self.progress.live.is_started or time.monotonic() < self.due:
            return
        if self.progress.console.is_terminal:
            self.progress.start()
        else:
            self.due = time.monotonic() + LINE_EVERY_S
            self.progress.console.print(
                f"worldloom: {self.what}: {done:,} of {self.total:,}", soft_wrap=True, markup=False
            )
