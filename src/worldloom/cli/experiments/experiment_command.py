"""What the commands of several trainings share: their flags, folders, and where the trainings run."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from worldloom.cli.commands.train import Train
from worldloom.core.base.errors import InputError
from worldloom.core.registry.world_files import find
from worldloom.learn.experiments.experiment_file import make_folder
from worldloom.learn.runs.run_folder import EXPERIMENTS, default_folder, holds_run
from worldloom.learn.tracking.make_trackers import make_trackers
from worldloom.terminal.flags import names

if TYPE_CHECKING:
    from worldloom.cli.training.stop_on_signal import StopOnSignal
    from worldloom.learn.experiments.jobs.executor import Executor, Work
    from worldloom.learn.runs.training_run import TrainingRequest

CHANGEABLE = ("device",)
"""Settings of the trainings that may change when an experiment is resumed."""


@dataclass
class ExperimentCommand(Train):
    """The flags of a training, and those of an experiment of several."""

    file: ClassVar[str]
    """The name of the experiment's file in its folder."""
    worker: ClassVar[str]
    """The module of its worker processes."""

    search: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUES")] = ()
    """Settings with the values to try: a range such as learning_rate=1e-4:1e-2:log, epochs=1:8 or clip=0.1:0.4:0.1, or
    choices such as num_envs=256,1024 or policy.hidden=(32,32),(64,64). POLICY:NAME is the setting of one policy."""
    parallel: int = 1
    """How many trainings run side by side, each in a process of its own; with --launcher ray, in a task of its own."""
    launcher: Literal["here", "ray"] = "here"
    """Where the trainings run: here, or in tasks of a Ray cluster, of which each gets a GPU or a CPU core."""
    workers: Annotated[int, tyro.conf.Suppress] = 1
    """Unused: --parallel is the number of trainings side by side."""
    parallel_seeds: Annotated[int, tyro.conf.Suppress] = 1
    """Unused."""

    @classmethod
    def can_resume(cls, folder: Path) -> bool:
        return (folder.expanduser() / cls.file).is_file()

    def open_path(self, request: TrainingRequest, stack: ExitStack) -> tuple[Path, bool]:
        """The folder of the experiment, and whether it holds the one to resume.

        It is created, and kept from other processes until ``stack`` ends.
        """
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise InputError(f"worldloom {self.command_name} starts its own processes: run it without torchrun")
        make_trackers(names(self.track))  # refuses what is not there, before anything is written
        path = None if request.run_dir is None else request.run_dir.expanduser()
        exists = path is not None and self.can_resume(path)
        if request.resume == "yes" and not exists:
            raise InputError(f"there is nothing to resume: {path} has no {self.file}")
        if request.resume == "no" and exists:
            raise InputError(f"{path} has a {self.file}: give --resume to continue it, or another --run-dir")
        if path is not None and not exists:
            taken = [name for name in EXPERIMENTS if (path / name).is_file()]
            if taken or holds_run(path):
                raise InputError(f"{path} already holds other trainings: use another --run-dir")
        path = path or default_folder(find(request.env).id, request.algorithm, self.command_name)
        stack.enter_context(make_folder(path, request.env))
        return path, exists

    def require_same(self, request: TrainingRequest, saved: TrainingRequest, path: Path) -> None:
        """InputError where a setting of the trainings differs from that of the experiment to resume."""
        for field in fields(request.config):
            new, old = getattr(request.config, field.name), getattr(saved.config, field.name)
            if field.name not in CHANGEABLE and new != old:
                self.refuse(field.name, new, old, path)
        if request.stop_at != saved.stop_at:
            self.refuse("stop_at", request.stop_at, saved.stop_at, path)

    def refuse(self, name: str, new: Any, old: Any, path: Path) -> None:
        """Raise the InputError for a flag that differs from the experiment to resume."""
        shown = [" ".join(map(str, value)) if isinstance(value, tuple) else value for value in (new, old)]
        raise InputError(
            f"--{name.replace('_', '-')} {shown[0]} does not fit {path}, which has {shown[1]}: "
            "omit it to resume, or use another --run-dir"
        )

    def tracking(self, path: Path) -> dict[str, Any]:
        """Arguments of ``make_trackers`` for the trainings in folder ``path``."""
        return {"names": names(self.track), "project": self.project, "group": path.name}

    @contextmanager
    def executor(
        self, work: Work, path: Path, log: Callable[[int], Path], stopping: StopOnSignal, device: str
    ) -> Iterator[tuple[Executor, str]]:
        """What runs the trainings, and the device that they use."""
        from worldloom.learn.experiments.jobs.executor import InTurn
        from worldloom.learn.experiments.jobs.process_jobs import Processes

        def is_stopped() -> bool:
            return stopping.received is not None

        if self.launcher == "ray":
            from worldloom.cli.training.stop_on_signal import TrainingAborted, exit_at_once
            from worldloom.learn.experiments.jobs.ray_jobs import RayJobs
            from worldloom.learn.runs.ray_training import ray_cluster

            with ray_cluster(None, self.parallel) as ray, stopping:
                jobs = RayJobs(ray, work, self.parallel, device, path, is_stopped)
                try:
                    with jobs:
                        yield jobs, jobs.device
                except TrainingAborted:  # Ray's exit handlers take seconds
                    exit_at_once(128 + signal.SIGTERM)
                    raise
        elif self.parallel > 1:
            with stopping, Processes(self.worker, self.parallel, log, lambda: stopping.received) as processes:
                yield processes, device
        else:
            with stopping, InTurn(work, [stopping], is_stopped) as in_turn:
                yield in_turn, device


def exit_code(received: signal.Signals | None, has_failed: bool = False) -> int:
    """The exit code of a command: that of the signal that ended it, or 2 where it has failed."""
    if received is not None:
        return 128 + received
    return 2 if has_failed else 0
