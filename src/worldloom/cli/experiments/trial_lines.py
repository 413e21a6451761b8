"""The progress of a sweep on standard error: a line for each trial that ended, and a bar on a terminal."""

from __future__ import annotations

from types import TracebackType

from worldloom.learn.experiments.search.dimension import format_value
from worldloom.learn.experiments.sweep.sweep_folder import SweepFolder
from worldloom.learn.experiments.sweep.trial_result import TrialResult
from worldloom.terminal import console
from worldloom.terminal.progress_bar import ProgressBar


class TrialLines:
    """Shows the results of trials as they come in; nothing with ``quiet``."""

    def __init__(self, folder: SweepFolder, quiet: bool) -> None:
        self._folder, self._quiet = folder, quiet
        self._bar = ProgressBar("trials", folder.plan.trials, quiet or not console.err().is_terminal)

    def __enter__(self) -> TrialLines:
        self._bar.show(len(self._folder.results))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def show(self, result: TrialResult) -> None:
        """Show the result of a trial that has just ended."""
        if self._quiet:
            return
        self._bar.progress.console.print(describe(self._folder, result), soft_wrap=True, markup=False)
        self._bar.show(len(self._folder.results))


def describe(folder: SweepFolder, result: TrialResult) -> str:
    """One line about a trial, with the best one so far."""
    settings = ", ".join(f"{name} {format_value(value)}" for name, value in result.settings.items())
    if result.state == "failed":
        outcome = f"failed: {result.error}"
    elif result.value is None:
        outcome = "pruned" if result.state == "pruned" else f"no {folder.objective.label()}"
    else:
        outcome = f"{folder.objective.label()} {result.value:.4g}" + (", pruned" if result.state == "pruned" else "")
    best = folder.best
    rest = "" if best is None else f"; best {best.value:.4g} (trial {best.number})"
    return f"trial {result.number} of {folder.plan.trials}: {settings}: {outcome}{rest}"
