"""The loop of a sweep: propose, train, record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from worldloom.core.base.errors import InputError, StorageError
from worldloom.core.registry.world_files import find
from worldloom.learn.experiments.experiment_file import continued_world, make_folder, require_same
from worldloom.learn.experiments.jobs.executor import DIED, Executor, InTurn
from worldloom.learn.experiments.sweep.proposals import require_optuna
from worldloom.learn.experiments.sweep.sweep_folder import SweepFolder, SweepPlan, holds_sweep, read_sweep_folder
from worldloom.learn.experiments.sweep.trial_job import INTERRUPTED, UNWRITABLE, train_trial
from worldloom.learn.experiments.sweep.trial_result import TrialResult
from worldloom.learn.runs.run_folder import SWEEP, default_folder
from worldloom.learn.runs.training_request import TrainingRequest, request_to_dict
from worldloom.learn.training.world_identity import identity_of


def run_sweep(
    folder: SweepFolder,
    executor: Executor,
    tracking: Mapping[str, Any],
    on_result: Callable[[TrialResult], None] | None = None,
) -> None:
    """Train every trial of ``folder`` that has not ended, and record the results.

    Trial n starts once the trials 0 to n - ``parallel`` have ended, and knows of no others. So proposals do not depend
    on which trial is faster, and a sweep that was killed continues with the same ones.

    Args:
        folder: The folder.
        executor: Trains the trials. It starts no more of them once it is stopped.
        tracking: Arguments of :func:`~worldloom.learn.tracking.make_trackers.make_trackers` for every run.
        on_result: Called with every result.
    """
    waiting, settings = folder.pending(), dict[int, dict[str, Any]]()

    def finish(number: int, answer: Mapping[str, Any]) -> None:
        if DIED in answer:
            answer = _failed(answer[DIED])
        if answer["state"] == INTERRUPTED:
            return
        if answer["state"] == UNWRITABLE:  # it says nothing about the settings: no result
            raise StorageError(f"trial {number}: {answer['error']}")
        reports = {int(index): value for index, value in answer["reports"].items()}
        result = TrialResult(number, settings[number], **{**answer, "reports": reports})
        folder.record(result)
        if on_result is not None:
            on_result(result)

    while True:
        while waiting and executor.is_free() and folder.known_results(waiting[0]) is not None:
            number = waiting.pop(0)
            settings[number] = folder.propose(number)
            try:
                message = folder.message(number, settings[number], tracking)
            except InputError as error:  # single settings are valid, and these do not go together
                finish(number, _failed(str(error)))
            else:
                executor.start(number, message)
        answers = executor.wait()
        if not answers and not executor.is_busy():
            return
        for number, answer in answers:
            finish(number, answer)


def sweep(
    request: TrainingRequest, plan: SweepPlan, on_result: Callable[[TrialResult], None] | None = None
) -> SweepFolder:
    """Run a sweep in this process, trial after trial, or continue the one in ``request.run_dir``.

    Needs the extra ``sweep``. ``worldloom sweep`` also runs trials side by side, and draws a figure.

    Args:
        request: What to train.
        plan: What is searched. To continue a sweep it must be the same; there may be more trials.
        on_result: Called with the result of every trial.

    Returns:
        The folder with the results.
    """
    require_optuna()
    path = request.run_dir or default_folder(find(request.env).id, request.algorithm, "sweep")
    folder = SweepFolder(path.expanduser(), request, plan)
    with make_folder(folder.path, request.env):
        if holds_sweep(folder.path):
            saved = read_sweep_folder(folder.path)
            fixed = {f.name: getattr(plan, f.name) for f in fields(plan) if f.name != "trials"}
            require_same(fixed, vars(saved.plan), folder.path / SWEEP)
            require_same(request_to_dict(request), request_to_dict(saved.request), folder.path / SWEEP)
            folder.results = saved.results
            folder.world = continued_world(request, saved.world, folder.path / SWEEP)
        else:
            folder.world = identity_of(find(request.env)).as_dict()
        folder.write()
        run_sweep(folder, InTurn(train_trial), {"names": []}, on_result)
    return folder


def _failed(error: str) -> dict[str, Any]:
    """The answer of a trial that failed."""
    return {"state": "failed", "value": None, "steps": 0, "seconds": 0.0, "reports": {}, "error": error}
