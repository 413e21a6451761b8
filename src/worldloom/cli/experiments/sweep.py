"""``worldloom sweep``: many trainings with settings that Optuna proposes, a table and a figure of them."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from worldloom.cli.experiments.experiment_command import ExperimentCommand
from worldloom.core.base.errors import InputError

if TYPE_CHECKING:
    from worldloom.cli.experiments.report import Report
    from worldloom.cli.training.stop_on_signal import StopOnSignal
    from worldloom.learn.experiments.sweep.sweep_folder import SweepFolder, SweepPlan
    from worldloom.learn.runs.training_run import TrainingRequest


@dataclass
class Sweep(ExperimentCommand["SweepFolder"]):
    """Search settings: train with values that Optuna proposes, stop trainings that fall behind, and compare the rest.

    Every trial is a run of its own in the folder of the sweep. A sweep that was interrupted or killed continues with
    --resume, with the same proposals as if it had not been. All flags of `worldloom train` are settings of the trials.
    """

    command_name = "sweep"
    file = "sweep.json"
    worker = "worldloom.cli.experiments.trial_worker"
    unit = "trial"

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
    seeds: str | None = None
    """Train each trial with each of these seeds, such as 0:3, and take the mean of the objective. The first is also
    the seed of the sampler; by default both are --seed."""

    @classmethod
    def read_folder(cls, folder: Path) -> SweepFolder:
        from worldloom.learn.experiments.sweep.sweep_folder import read_sweep_folder

        return read_sweep_folder(folder)

    @classmethod
    def saved_flags(cls, folder: Path) -> tuple[Path, dict[str, Any]]:
        from worldloom.learn.experiments.seed_list import format_seeds

        first_run, plan = super().saved_flags(folder)
        return first_run, {**plan, "seeds": format_seeds(plan["seeds"])}

    def check(self) -> None:
        from worldloom.learn.experiments.sweep.proposals import require_optuna

        require_optuna()

    def new_folder(self, request: TrainingRequest) -> SweepFolder:
        from worldloom.learn.experiments.sweep.sweep_folder import SweepFolder

        return SweepFolder(Path(), request, self._plan(request))

    def may_change(self, name: str, new: Any, old: Any) -> bool:
        return name == "trials" and new > old

    def write_files(self, folder: SweepFolder) -> dict[str, Path]:
        from worldloom.cli.experiments import sweep_report

        return sweep_report.write_files(folder)

    def report(self, folder: SweepFolder, files: dict[str, Path], received: signal.Signals | None) -> Report:
        from worldloom.cli.experiments import sweep_report

        return sweep_report.report(folder, files, received)

    def failure(self, folder: SweepFolder) -> str:
        from worldloom.cli.experiments import sweep_report

        return sweep_report.describe_failure(folder)

    def _plan(self, request: TrainingRequest) -> SweepPlan:
        from worldloom.learn.config.piecewise_linear import PiecewiseLinear
        from worldloom.learn.experiments.seed_list import parse_seeds
        from worldloom.learn.experiments.sweep.sweep_folder import SweepPlan

        if isinstance(self.target, PiecewiseLinear):
            raise InputError(f"--target takes one number, not points: {self.target}")
        seeds = parse_seeds(self.seeds) if self.seeds is not None else (request.config.seed,)
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

    def train_all(self, folder: SweepFolder, stopping: StopOnSignal) -> None:
        from worldloom.cli.experiments.trial_lines import TrialLines
        from worldloom.learn.experiments.sweep.sweep_run import run_sweep
        from worldloom.learn.experiments.sweep.trial_job import train_trial

        def log(number: int) -> Path:
            return folder.path / f"{folder.trial_path(number).name}.log"

        config = folder.request.config
        with (
            TrialLines(folder, self.quiet) as lines,
            self.executor(train_trial, folder.path, log, stopping, config.device) as (executor, device),
        ):
            folder.request = replace(folder.request, config=replace(config, device=device))
            run_sweep(folder, executor, self.tracking(folder.path), lines.show)
