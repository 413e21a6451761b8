"""A callback that shows a training run on the console."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType

import torch

from worldloom.cli.training.live_console import TrainingConsole, open_console
from worldloom.core.registry.world_files import file_and_id
from worldloom.core.tools.compare import device_name
from worldloom.learn.runs.training_run import TrainingRequest
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer
from worldloom.terminal import closed_output, console


class ConsoleCallback(Callback):
    """Shows a training run on the console of the leading process."""

    def __init__(self, request: TrainingRequest, quiet: bool) -> None:
        self.request, self.quiet = request, quiet
        self._folder: Path | None = None
        self._console: TrainingConsole | None = None
        self._evaluated: dict[str, float] = {}

    def __enter__(self) -> ConsoleCallback:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console is not None:
            self._console.stop()
            self._console = None

    def set_folder(self, folder: Path) -> None:
        """Set the folder of the run."""
        self._folder = folder
        closed_output.set_folder(folder)

    def open(self, num_worlds: int, details: dict[str, str], device: torch.device | None = None) -> None:
        """Open the console, and show what is trained."""
        self._console = open_console(self.quiet, device)
        _, world = file_and_id(self.request.env)
        details = {"worlds": f"{num_worlds:,}", "seed": str(self.request.config.seed), **details}
        if self._folder is not None:
            details["folder"] = str(self._folder)
        self._console.start(f"{world} with {self.request.algorithm}", details)

    def update(self, progress: Progress) -> None:
        """Show the progress after an iteration, with the metrics of the last evaluation."""
        self._evaluated |= {name: value for name, value in progress.metrics.items() if name.startswith("eval/")}
        if self._console is not None:
            self._console.update(replace(progress, metrics={**progress.metrics, **self._evaluated}))

    def on_start(self, trainer: Trainer) -> None:
        if trainer.ranks.is_leader:
            details = {"device": device_name(trainer.simulation)}
            if not trainer.ranks.is_single:
                details["processes"] = str(trainer.ranks.size)
            if any(learner.agent_group.mask() is not None for learner in getattr(trainer, "learners", {}).values()):
                details["actions"] = "masked by the world"
            if trainer.device.type == "cpu" and (kernels := trainer.kernels()):
                details["kernels"] = format_kernels(kernels)
            if starts := _starts(trainer):
                details["starts from"] = starts
            if trainer.steps:
                details["from step"] = f"{trainer.steps:,}"
            for notice in filter(None, (trainer.simulation.definition.notice, trainer.notice)):
                console.err().print(notice, soft_wrap=True, markup=False)
            self.open(trainer.config.num_envs, details, trainer.device)

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.update(progress)


def _starts(trainer: Trainer) -> str:
    """Where policies that are trained come from; empty where they are new or the training goes on."""
    learners = {} if trainer.steps else getattr(trainer, "learners", {})
    sources = {learner.saved.source for learner in learners.values() if learner.train and learner.saved is not None}
    return ", ".join(sorted(sources))


def format_kernels(kernels: dict[str, str]) -> str:
    """What computes the policies, by name, in one line; once where it is the same for all."""
    if len(set(kernels.values())) == 1:
        return next(iter(kernels.values()))
    return ", ".join(f"{text} for {name}" for name, text in kernels.items())
