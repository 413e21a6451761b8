"""What the commands of several trainings share: their flags, folders, and where the trainings run."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, Protocol, TypeVar

import tyro

from worldloom.cli.commands.train import Train
from worldloom.core.base.console import without_notices
from worldloom.core.base.errors import InputError
from worldloom.core.registry.world_files import find
from worldloom.learn.experiments.experiment_file import continued_world, make_folder
from worldloom.learn.runs.run_folder import EXPERIMENTS, default_folder, holds_run
from worldloom.learn.tracking.make_trackers import make_trackers
from worldloom.learn.training.world_identity import identity_of
from worldloom.terminal import closed_output, console
from worldloom.terminal.flags import names

if TYPE_CHECKING:
    from worldloom.cli.experiments.report import Report
    from worldloom.cli.training.stop_on_signal import StopOnSignal
    from worldloom.learn.experiments.jobs.executor import Executor, Work
    from worldloom.learn.runs.training_run import TrainingRequest

CHANGEABLE = ("device",)
"""Settings of the trainings that may change when an experiment is resumed."""


class ExperimentFolder(Protocol):
    """The folder of an experiment."""

    path: Path
    request: TrainingRequest
    plan: Any
    """Its own settings, a dataclass."""
    results: Any
    world: dict[str, Any] | None
    """The identity of its world."""

    def first_run(self) -> Path:
        """The folder of its first training."""

    def is_over(self) -> bool:
        """Whether nothing is left to train."""

    def write(self) -> None:
        """Write its file."""


FolderT = TypeVar("FolderT", bound=ExperimentFolder)


@dataclass
class ExperimentCommand(Train, Generic[FolderT]):
    """The flags of a training, and those of an experiment of several."""

    file: ClassVar[str]
    """The name of the experiment's file in its folder."""
    worker: ClassVar[str]
    """The module of its worker processes."""
    unit: ClassVar[str]
    """What a training is called: trial or member."""

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

    @classmethod
    def read_folder(cls, folder: Path) -> FolderT:
        """The experiment in ``folder``; InputError where it is not one."""
        raise NotImplementedError

    @classmethod
    def saved_request(cls, folder: Path) -> TrainingRequest:
        return cls.read_folder(folder).request

    @classmethod
    def saved_flags(cls, folder: Path) -> tuple[Path, dict[str, Any]]:
        saved = cls.read_folder(folder)
        return saved.first_run(), {field.name: getattr(saved.plan, field.name) for field in fields(saved.plan)}

    def check(self) -> None:
        """InputError where the experiment cannot run, before its settings are read."""

    def new_folder(self, request: TrainingRequest) -> FolderT:
        """A folder without a path; InputError where a flag is invalid."""
        raise NotImplementedError

    def may_change(self, name: str, new: Any, old: Any) -> bool:
        """Whether a setting of the plan may change from ``old`` to ``new`` when the experiment is resumed."""
        return False

    def train_all(self, folder: FolderT, stopping: StopOnSignal) -> None:
        """Train what is left, until it is done or ``stopping`` has received a signal."""
        raise NotImplementedError

    def write_files(self, folder: FolderT) -> dict[str, Path]:
        """Write the table and the figure; returns their files."""
        raise NotImplementedError

    def report(self, folder: FolderT, files: dict[str, Path], received: signal.Signals | None) -> Report:
        """What is printed at the end."""
        raise NotImplementedError

    def failure(self, folder: FolderT) -> str:
        """Why an experiment that is over has no result, in one sentence; empty where it has one."""
        return ""

    def run(self) -> int:
        from worldloom.cli.training.stop_on_signal import ABORT_RAY_AFTER_S, StopOnSignal, TrainingAborted

        self.check()
        request = self.request()
        if self.auto_num_envs:
            from worldloom.cli.training.auto_num_envs import choose_num_envs

            request, _ = choose_num_envs(request, self.quiet)
        stopping = StopOnSignal(None if self.is_one_process else ABORT_RAY_AFTER_S)
        with ExitStack() as stack:
            folder = self._open(request, stack)
            stack.enter_context(console.keep_stdout_for_json(self.json))
            stack.enter_context(without_notices(self.quiet))
            if not folder.is_over():
                with suppress(TrainingAborted):
                    self.train_all(folder, stopping)
            files = self.write_files(folder) if not stopping.is_urgent else {}
        self.report(folder, files, stopping.received).print(self.json)
        failure = self.failure(folder) if folder.is_over() else ""
        if failure:
            console.print_error(failure)
        return exit_code(stopping.received, bool(failure))

    @property
    def is_one_process(self) -> bool:
        """Whether this process trains."""
        return self.launcher == "here" and self.parallel == 1

    def _open(self, request: TrainingRequest, stack: ExitStack) -> FolderT:
        """The folder, new or resumed; InputError before anything is written where a flag is invalid."""
        folder = self.new_folder(request)
        folder.path, exists = self.open_path(request, stack)
        if exists:
            saved = self.read_folder(folder.path)
            self.require_same(folder.request, saved.request, folder.path)
            for field in fields(folder.plan):
                new, old = getattr(folder.plan, field.name), getattr(saved.plan, field.name)
                if new != old and not self.may_change(field.name, new, old):
                    self.refuse(field.name, new, old, folder.path)
            folder.results = saved.results
            folder.world = continued_world(request, saved.world, folder.path / self.file)
        else:
            folder.world = identity_of(find(request.env)).as_dict()
        folder.write()
        return folder

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
        closed_output.set_folder(path)
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
                    exit_at_once(stopping.code or 128 + signal.SIGTERM)
                    raise
        elif self.parallel > 1:
            with (
                stopping,
                Processes(self.worker, self.parallel, log, lambda: stopping.received, self._show_restart) as processes,
            ):
                yield processes, device
        else:
            with stopping, InTurn(work, [stopping], is_stopped) as in_turn:
                yield in_turn, device

    def _show_restart(self, number: int, how: str) -> None:
        line = f"{self.unit} {number}: {how}; it starts again from its last checkpoint"
        console.err().print(line, soft_wrap=True, markup=False)


def exit_code(received: signal.Signals | None, has_failed: bool = False) -> int:
    """The exit code of a command: that of the signal that ended it, or 2 where it has failed."""
    if received is not None:
        return 128 + received
    return 2 if has_failed else 0
