"""The training of one trial: a run for each seed, as a message of JSON values, in any process."""

from __future__ import annotations

import gc
import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch

from worldloom.core.base.errors import StorageError, WorldloomError
from worldloom.learn.experiments.batch_rate import is_out_of_memory
from worldloom.learn.experiments.sweep.objective import Objective, ReportTimes, Score
from worldloom.learn.experiments.sweep.proposals import median_rule
from worldloom.learn.experiments.sweep.score_callback import ScoreCallback
from worldloom.learn.runs.checkpoint_files import one_line
from worldloom.learn.runs.request_message import request_from_message
from worldloom.learn.runs.training_run import TrainingRequest, run_training
from worldloom.learn.tracking.make_trackers import make_trackers
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.world_identity import ChangedWorldError

INTERRUPTED = "interrupted"
"""The state of a trial that was stopped from outside. It is trained again, from its last checkpoint."""
UNWRITABLE = "unwritable"
"""The state of a trial that cannot be trained, as where the disk is full or the file of the world was edited. It ends
the sweep."""


def train_trial(message: Mapping[str, Any], callbacks: Sequence[Callback] = ()) -> dict[str, Any]:
    """Train a trial, or continue the one in its folders.

    Args:
        message: ``runs``, a request and a folder for each seed; ``objective`` and ``target``; ``earlier``, the reports
            of complete trials, or null where it is not to be pruned; and ``tracking``, arguments of ``make_trackers``.
        callbacks: Called in every training.

    Returns:
        ``state``, ``value``, ``steps``, ``seconds``, ``reports`` and ``error`` of its
        :class:`~worldloom.learn.experiments.sweep.trial_result.TrialResult`; the state may be :data:`INTERRUPTED` or
        :data:`UNWRITABLE`.
    """
    answer: dict[str, Any] = {"state": "complete", "value": None, "steps": 0, "seconds": 0.0, "reports": {}}
    values: list[float | None] = []
    try:
        for index, run in enumerate(message["runs"]):
            request = request_from_message(run)
            score = _score(message, request, index)
            seconds, is_complete = _train(request, score, message["tracking"], callbacks)
            values.append(score.value)
            answer["steps"] += score.steps
            answer["seconds"] += seconds
            answer["reports"] |= {str(index * score.times.count + k): v for k, v in score.reports.items()}
            if not is_complete and not score.over:
                return {**answer, "state": INTERRUPTED}
            if score.pruned:
                answer["state"] = "pruned"
                break
    except (StorageError, ChangedWorldError) as error:
        return {**answer, "state": UNWRITABLE, "error": str(error)}
    except WorldloomError as error:  # settings that do not go together, or a training that diverged
        return {**answer, "state": "failed", "error": str(error)}
    except (MemoryError, RuntimeError) as error:  # Warp raises RuntimeError where an allocation fails
        if not is_out_of_memory(error):
            raise
        return {**answer, "state": "failed", "error": f"out of memory: {one_line(error)}"}
    known = [value for value in values if value is not None]
    return {**answer, "value": math.fsum(known) / len(known) if len(known) == len(values) else None, "error": ""}


def _score(message: Mapping[str, Any], request: TrainingRequest, index: int) -> Score:
    times = ReportTimes(request.config.total_steps, request.config.eval_every)
    earlier, rule = message["earlier"], None
    if earlier is not None:
        rule = median_rule([{int(k): v for k, v in one.items()} for one in earlier], times, index * times.count)
    return Score(Objective(message["objective"], message["target"]), times, rule, request.stop_at)


def _train(
    request: TrainingRequest, score: Score, tracking: Mapping[str, Any], callbacks: Sequence[Callback]
) -> tuple[float, bool]:
    """Train one run; returns its seconds, and whether all its steps were done."""
    assert request.run_dir is not None
    trackers = make_trackers(**tracking)
    try:
        with ExitStack() as stack:
            for tracker in trackers:
                stack.enter_context(tracker).set_folder(request.run_dir)
            result = run_training(request, [ScoreCallback(score, request.run_dir), *callbacks, *trackers])
    finally:
        if torch.cuda.is_available():
            gc.collect()
            torch.cuda.empty_cache()
    return result.seconds, result.complete
