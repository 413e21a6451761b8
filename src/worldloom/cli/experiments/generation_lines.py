"""The progress of a population on standard error: a line for each generation, and a bar on a terminal."""

from __future__ import annotations

from types import TracebackType

from worldloom.learn.experiments.population.member_result import MemberResult
from worldloom.learn.experiments.population.population_folder import PopulationFolder
from worldloom.learn.experiments.search.dimension import format_value
from worldloom.terminal import console
from worldloom.terminal.progress_bar import ProgressBar


class GenerationLines:
    """Shows generations as they end; nothing with ``quiet``."""

    def __init__(self, folder: PopulationFolder, quiet: bool) -> None:
        self._folder, self._quiet = folder, quiet
        total = folder.generations * folder.plan.population
        self._bar = ProgressBar("members and generations", total, quiet or not console.err().is_terminal)

    def __enter__(self) -> GenerationLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def show_member(self, result: MemberResult) -> None:
        """Show that a member has ended its generation."""
        self._bar.show(len(self._folder.results))

    def show_generation(self, generation: int) -> None:
        """Show the generation that has just ended."""
        if not self._quiet:
            self._bar.progress.console.print(describe(self._folder, generation), soft_wrap=True, markup=False)


def describe(folder: PopulationFolder, generation: int) -> str:
    """One line about a generation: its best and mean return, the best settings, and who copied whom."""
    results = folder.generation(generation) or []
    scores = [result.score for result in results if result.score is not None]
    line = f"generation {generation + 1} of {folder.generations}: "
    if not scores:
        return f"{line}no episode has ended"
    best = max((r for r in results if r.score is not None), key=lambda r: (r.score or 0.0, -r.member))
    settings = ", ".join(f"{name} {format_value(value)}" for name, value in best.settings.items())
    copied = [f"{r.member} of {r.source}" for r in results if r.source != r.member]
    line += f"return {best.score:.4g} (member {best.member}: {settings}), mean {sum(scores) / len(scores):.4g}"
    return line + (f"; copies: {', '.join(copied)}" if copied else "")
