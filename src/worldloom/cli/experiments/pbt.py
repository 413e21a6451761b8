"""``worldloom pbt``: population-based training, in which members copy better ones and change their settings."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from worldloom.cli.experiments.experiment_command import ExperimentCommand
from worldloom.core.base.errors import InputError
from worldloom.terminal import console

if TYPE_CHECKING:
    from worldloom.cli.experiments.report import Report
    from worldloom.cli.training.stop_on_signal import StopOnSignal
    from worldloom.learn.experiments.population.member_job import Member
    from worldloom.learn.experiments.population.population_folder import PopulationFolder, PopulationPlan
    from worldloom.learn.runs.training_run import TrainingRequest
    from worldloom.learn.training.callbacks import Callback

GENERATIONS = 20
"""Generations of a training whose --generation-steps are not given."""


@dataclass
class Pbt(ExperimentCommand["PopulationFolder"]):
    """Population-based training (Jaderberg et al., 2017): train several members with settings of their own.

    After each generation the worst members continue with the weights and the optimizer of one of the best, and with
    changed settings. Every member is a run of its own in the folder of the population. A population that was
    interrupted or killed continues with --resume. All flags of `worldloom train` are settings of the members;
    --total-steps are those of each member.
    """

    command_name = "pbt"
    file = "population.json"
    worker = "worldloom.cli.experiments.member_worker"
    unit = "member"

    population: int = 8
    """Number of members. Their seeds are --seed and the next ones."""
    generation_steps: int = 0
    """Environment steps of each member between two comparisons; 0 for a twentieth of --total-steps."""
    initial: Literal["random", "given"] = "random"
    """Settings at the start: random values of --search, or the given ones (flags or defaults) for every member."""
    quantile: float = 0.25
    """Fraction of the members that copy others, and of those that are copied; at least one of each."""
    resample: float = 0.25
    """Probability that a setting is drawn anew from --search, instead of being multiplied or divided by --perturb."""
    perturb: float = 1.25
    """Factor by which a setting is multiplied or divided."""
    seeds: Annotated[str, tyro.conf.Suppress] = ""
    """Unused."""

    @classmethod
    def read_folder(cls, folder: Path) -> PopulationFolder:
        from worldloom.learn.experiments.population.population_folder import read_population_folder

        return read_population_folder(folder)

    def check(self) -> None:
        if self.track:
            raise InputError("--track records single trainings: omit it with worldloom pbt")

    def new_folder(self, request: TrainingRequest) -> PopulationFolder:
        from worldloom.learn.experiments.population.changeable import sets_learning_rate
        from worldloom.learn.experiments.population.population_folder import PopulationFolder
        from worldloom.learn.experiments.search.search_space import parse_space

        plan = self._plan(request)
        if sets_learning_rate(parse_space(plan.search, request)) and request.config.schedule != "constant":
            if not self.quiet:
                console.err().print(
                    f"the learning rate is searched, so that --schedule is constant, not {request.config.schedule}",
                    soft_wrap=True,
                    markup=False,
                )
            request = replace(request, config=replace(request.config, schedule="constant"))
        return PopulationFolder(Path(), request, plan)

    def write_files(self, folder: PopulationFolder) -> dict[str, Path]:
        from worldloom.cli.experiments import pbt_report

        return pbt_report.write_files(folder)

    def report(self, folder: PopulationFolder, files: dict[str, Path], received: signal.Signals | None) -> Report:
        from worldloom.cli.experiments import pbt_report

        return pbt_report.report(folder, files, received)

    def _plan(self, request: TrainingRequest) -> PopulationPlan:
        from worldloom.learn.config.piecewise_linear import PiecewiseLinear
        from worldloom.learn.experiments.population.population_folder import PopulationPlan

        for name in ("quantile", "resample", "perturb"):
            if isinstance(getattr(self, name), PiecewiseLinear):
                raise InputError(f"--{name} takes one number, not points: {getattr(self, name)}")
        if self.parallel < 1:
            raise InputError(f"--parallel must be 1 or more, not {self.parallel}")
        steps = self.generation_steps or max(1, request.config.total_steps // GENERATIONS)
        return PopulationPlan(
            tuple(self.search), self.population, steps, self.quantile, self.resample, self.perturb, self.initial
        )

    def train_all(self, folder: PopulationFolder, stopping: StopOnSignal) -> None:
        from worldloom.cli.experiments.generation_lines import GenerationLines
        from worldloom.learn.experiments.population.member_job import train_member
        from worldloom.learn.experiments.population.population_run import run_population

        members: dict[str, Member] = {}

        def train_in_turn(message: Mapping[str, Any], callbacks: Sequence[Callback]) -> dict[str, Any]:
            return train_member(message, callbacks, members)

        def log(member: int) -> Path:
            return folder.path / f"{folder.member_path(member).name}.log"

        config = folder.request.config
        work = train_in_turn if self.is_one_process else train_member
        try:
            with (
                GenerationLines(folder, self.quiet) as lines,
                self.executor(work, folder.path, log, stopping, config.device) as (executor, device),
            ):
                folder.request = replace(folder.request, config=replace(config, device=device))
                run_population(folder, executor, lines.show_generation, lines.show_member)
        finally:
            for member in members.values():
                member.close()
