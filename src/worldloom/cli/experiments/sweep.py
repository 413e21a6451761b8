"""``worldloom sweep``: many trainings with settings that Optuna proposes, a table and a figure of them."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from worldloom.cli.experiments.experiment_command import ExperimentCommand, exit_code
from worldloom.core.base.console import without_notices
from worldloom.core.base.errors import InputError
from worldloom.terminal import console

if TYPE_CHECKING:
    from worldloom.learn.experiments.sweep.sweep_folder import SweepFolder, SweepPlan
    from worldloom.learn.runs.training_run import TrainingRequest


@dataclass
class Sweep(ExperimentCommand):
    """Search settings: train with values that Optuna proposes, stop trainings that fall behind, and compare the rest.

    Every trial is a run of its own in the folder of the sweep. A sweep that was interrupted or killed continues with
    --resume, with the same proposals as if it had not been. All flags of `worldloom train` are settings of the trials.
    """

    command_name = "sweep"
    file = "sweep.json"
    worker = "worldloom.cli.experiments.trial_worker"

    trials: int = 20
    """Number of trials. It may be raised with --resume."""
    sampler: Literal["tpe", "random"] = "tpe"
    """Sampler: tpe (tree-structured Parzen estimator, random in the first ten trials) or random."""
    pruner: Literal["median", "none"] = "median"
    """Pruner: median stops a trial whose return is below the median of the complete ones at the same point, once five
    are complete and a quarter of its steps are done."""
    objective: Literal["final", "best", "steps", "seconds"] = "final"
    """What to optimize: the final or the best return, or the steps or seconds until the return --target. With
    --eval-every it is the evaluated return, else the mean return of recent episodes."""
    target: float | None = None
    """The return to reach, with --objective steps or seconds."""
    seeds: str = ""
    """Train each trial with each of these seeds, such as 0:3, and take the mean of the objective. The first is also
    the seed of the sampler; by default both are --seed."""

    @classmethod
    def saved_request(cls, folder: Path) -> TrainingRequest:
        from worldloom.learn.experiments.sweep.sweep_folder import read_sweep_folder

        return read_sweep_folder(folder).request

    @classmethod
    def saved_flags(cls, folder: Path) -> tuple[Path, dict[str, Any]]:
        from worldloom.learn.experiments.seed_list import format_seeds
        from worldloom.learn.experiments.sweep.sweep_folder import read_sweep_folder

        sweep = read_sweep_folder(folder)
        plan = {field.name: getattr(sweep.plan, field.name) for field in fields(sweep.plan)}
        return sweep.run_paths(0)[0], {**plan, "seeds": format_seeds(sweep.plan.seeds)}

    def run(self) -> int:
        from worldloom.cli.experiments import sweep_report
        from worldloom.learn.experiments.sweep.proposals import require_optuna

        require_optuna()
        request = self.request()
        if self.auto_num_envs:
            from worldloom.cli.training.auto_num_envs import choose_num_envs

            request, _ = choose_num_envs(request, self.quiet)
        with ExitStack() as stack:
            folder = self._open(request, stack)
            stack.enter_context(console.keep_stdout_for_json(self.json))
            stack.enter_context(without_notices(self.quiet))
            received = self._train(folder)
            files = sweep_report.write_files(folder) if received != signal.SIGTERM else {}
        sweep_report.print_report(folder, files, self.json, received)
        has_failed = folder.best is None and not folder.pending()
        if has_failed:
            console.print_error(sweep_report.describe_failure(folder))
        return exit_code(received, has_failed)

    def _plan(self, request: TrainingRequest) -> SweepPlan:
        from worldloom.learn.config.piecewise_linear import PiecewiseLinear
        from worldloom.learn.experiments.seed_list import parse_seeds
        from worldloom.learn.experiments.sweep.sweep_folder import SweepPlan

        if isinstance(self.target, PiecewiseLinear):
            raise InputError(f"--target takes one number, not points: {self.target}")
        seeds = parse_seeds(self.seeds) if self.seeds else (request.config.seed,)
        return SweepPlan(
            tuple(self.search),
            self.trials,
            seeds,
            self.sampler,
            self.pruner,
            self.objective,
            self.target,
            self.parallel,
        )

    def _open(self, request: TrainingRequest, stack: ExitStack) -> SweepFolder:
        """The folder of the sweep, new or resumed; InputError before anything is written where a flag is invalid."""
        from worldloom.learn.experiments.sweep.sweep_folder import SweepFolder, read_sweep_folder

        plan = self._plan(request)
        sweep = SweepFolder(Path(), request, plan)  # checks the settings
        path, exists = self.open_path(request, stack)
        sweep.path = path
        if exists:
            saved = read_sweep_folder(path)
            self.require_same(request, saved.request, path)
            for field in fields(plan):
                new, old = getattr(plan, field.name), getattr(saved.plan, field.name)
                if new != old and not (field.name == "trials" and new > old):
                    self.refuse(field.name, new, old, path)
            sweep.results = saved.results
        sweep.write()
        return sweep

    def _train(self, folder: SweepFolder) -> signal.Signals | None:
        """Train the trials that are left; returns the signal that ended it."""
        from worldloom.cli.experiments.trial_lines import TrialLines
        from worldloom.cli.training.stop_on_signal import ABORT_RAY_AFTER_S, StopOnSignal, TrainingAborted
        from worldloom.learn.experiments.sweep.sweep_run import run_sweep
        from worldloom.learn.experiments.sweep.trial_job import train_trial

        stopping = StopOnSignal(None if self.launcher == "here" and self.parallel == 1 else ABORT_RAY_AFTER_S)
        if not folder.pending():
            return None

        def log(number: int) -> Path:
            return folder.path / f"{folder.trial_path(number).name}.log"

        config = folder.request.config
        try:
            with (
                TrialLines(folder, self.quiet) as lines,
                self.executor(train_trial, folder.path, log, stopping, config.device) as (executor, device),
            ):
                folder.request = replace(folder.request, config=replace(config, device=device))
                run_sweep(folder, executor, self.tracking(folder.path), lines.show)
        except TrainingAborted:
            pass
        return stopping.received
