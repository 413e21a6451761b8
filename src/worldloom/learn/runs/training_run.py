"""Runs a whole training from a request: the folder, the worlds, the trainer, and resuming. Performs no console I/O.

It runs the same way in a single process, in the processes of ``torchrun``, and in the workers of a Ray cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch.distributed as dist

from worldloom.core.base.device import resolve
from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.world_files import file_and_id
from worldloom.core.runtime import fault_summary
from worldloom.core.runtime.fault_summary import FaultSummary
from worldloom.core.simulation import Simulation
from worldloom.learn.algorithms.registry import algorithm
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.distributed.ranks import Ranks, join_process_group, launch_id, leave_process_group
from worldloom.learn.opponents.saved_policy import SavedPolicy
from worldloom.learn.runs.checkpoint_files import load_checkpoint
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.compile_ahead import NATIVE, ROLLOUT, compile_ahead
from worldloom.learn.runs.known_worlds import remember_world
from worldloom.learn.runs.run_folder import (
    CHECKPOINTS,
    RunFolder,
    default_folder,
    holds_run,
    last_default_folder,
    launched_by,
)
from worldloom.learn.runs.run_recorder import RunRecorder
from worldloom.learn.runs.saved_policies import load_opponents, load_starts, save_copy
from worldloom.learn.runs.training_request import (
    FORMAT,
    Resume,
    TrainingRequest,
    find_world,
    request_from_dict,
    request_to_dict,
    resolve_world,
)
from worldloom.learn.training.callbacks import Callback, StopAt
from worldloom.learn.training.divergence_check import DivergedError
from worldloom.learn.training.episode_starts import UnfinishedEpisodes
from worldloom.learn.training.trainer import Trainer
from worldloom.learn.training.world_identity import ChangedWorldError, identity_of, require_same_world

__all__ = [
    "FORMAT",
    "Resume",
    "TrainingRequest",
    "TrainingResult",
    "request_from_dict",
    "request_to_dict",
    "resolve_world",
    "run_training",
]


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training.

    Attributes:
        folder: The run's folder.
        is_leader: Whether this is the leading process.
        iteration, steps, seconds: Totals over all resumed parts.
        steps_per_second: Environment steps per second of wall time, of this part.
        mean_return: Mean return of the last episodes; NaN where none ended.
        complete: Whether all steps were done.
        fault_summary: Faults of single worlds, in all processes.
        unfinished: The episodes under way at the end, of this process.
        eval_return: Return of the last evaluation during training; NaN where there was none.
        kernels: What computes each policy, see :meth:`Trainer.kernels`.
    """

    folder: Path
    is_leader: bool
    iteration: int
    steps: int
    seconds: float
    steps_per_second: float
    mean_return: float
    complete: bool
    fault_summary: FaultSummary = field(default_factory=FaultSummary)
    unfinished: UnfinishedEpisodes = field(default_factory=UnfinishedEpisodes)
    eval_return: float = math.nan
    kernels: dict[str, str] = field(default_factory=dict)


def run_training(
    request: TrainingRequest, callbacks: Iterable[Callback] = (), on_folder: Callable[[Path], None] | None = None
) -> TrainingResult:
    """Run a training, in this process and in those started with it; returns when it is complete or was stopped.

    Args:
        request: What to train. Only the leading process writes into the folder.
        callbacks: Called in every process.
        on_folder: Called with the folder before the training starts, in every process.
    """
    ranks, device = join_process_group(request.config.device)
    try:
        return _train(request, replace(request.config, device=device), list(callbacks), on_folder, ranks)
    finally:
        leave_process_group()


def _train(
    request: TrainingRequest,
    config: TrainConfig,
    callbacks: list[Callback],
    on_folder: Callable[[Path], None] | None,
    ranks: Ranks,
) -> TrainingResult:
    world, trainer_class = find_world(request), algorithm(request.algorithm)[0]
    path, resumes = _choose_folder(request, world) if ranks.is_leader else (None, False)
    begins = ranks.is_leader and _begins(request, path if resumes else None)
    leaders_world = identity_of(world).as_dict() if ranks.is_leader and not ranks.is_single else None
    resumed_path, begins, leaders_world = _broadcast_object((path if resumes else None, begins, leaders_world), ranks)
    if leaders_world is not None:
        fix = "train with the same files on all machines"
        require_same_world(leaders_world, world, "the request", since="the leading process read it", fix=fix)
    opponents = load_opponents(request, resumed_path)
    saved = opponents | (load_starts(request) if begins else {})
    on_cpu = resolve(config.device)[0].is_cpu
    if on_cpu:
        compile_ahead(ROLLOUT.get(request.algorithm, ()))
    with ExitStack() as stack:
        first, count = ranks.share(config.num_envs)
        worlds = Simulation(
            world,
            count,
            config.device,
            seed=config.seed,
            autoreset=trainer_class.autoreset,
            world_offset=first,
            config=request.world_config,
        )
        trainer = _make_trainer(trainer_class, stack.enter_context(worlds), config, request, saved, ranks)
        if on_cpu and any(kernels.startswith("native") for kernels in trainer.kernels().values()):
            compile_ahead(NATIVE.get(request.algorithm, ()))
        own_callbacks: list[Callback] = []
        checkpoint: Path | None = None
        folder: RunFolder | None = None
        if ranks.is_leader:
            folder = stack.enter_context(_open(request, world, path, resumes))
            path, checkpoint = folder.path, folder.resumed_from
            own_callbacks.append(RunRecorder(folder, request.checkpoint_every, slim=request.slim_checkpoints))
        path, checkpoint = _broadcast_object((path, checkpoint), ranks)
        if on_folder is not None:
            on_folder(path)
        if checkpoint is not None:
            _load(trainer, checkpoint, request.allow_changed_world)
        if request.resume == "yes" and trainer.steps >= config.total_steps:
            raise InputError(
                f"the run in {path} has taken {trainer.steps:,} steps: give more --total-steps to continue"
            )
        if folder is not None:
            for name, opponent in () if resumes else opponents.items():
                save_copy(folder.path, name, opponent)
            folder.start()  # only now: a run that cannot be resumed stays unchanged, byte for byte
            if world_file := file_and_id(request.env)[0]:
                remember_world(folder.path, world_file)
        if request.stop_at is not None:
            own_callbacks.append(StopAt(request.stop_at))
        steps, seconds = trainer.steps, trainer.seconds
        try:
            trainer.learn(callbacks=[*own_callbacks, *callbacks])
        except DivergedError as error:
            if folder is not None and (latest := folder.checkpoints.latest()) is not None:
                error.mention_checkpoint(latest)
            raise
        spent = trainer.seconds - seconds
        return TrainingResult(
            folder=path,
            is_leader=ranks.is_leader,
            iteration=trainer.iteration,
            steps=trainer.steps,
            seconds=trainer.seconds,
            steps_per_second=(trainer.steps - steps) / spent if spent > 0.0 else 0.0,
            mean_return=trainer.score,
            complete=trainer.steps >= config.total_steps,
            fault_summary=_all_fault_summaries(worlds, ranks),
            unfinished=trainer.unfinished_episodes(),
            eval_return=math.nan if trainer.evaluation is None else trainer.evaluation.score,
            kernels=trainer.kernels(),
        )


def _load(trainer: Trainer, checkpoint: Path, allow_changed_world: bool) -> None:
    """Load a checkpoint into ``trainer``; InputError, which names it, where it does not fit."""
    saved = load_checkpoint(checkpoint)
    try:
        trainer.load_state(saved.tensors, saved.state, allow_changed_world=allow_changed_world)
        if (trainer.iteration, trainer.steps) != (saved.iteration, saved.steps):
            raise InputError(
                f"its state is that of iteration {trainer.iteration} and step {trainer.steps}, "
                f"its metadata that of {saved.iteration} and {saved.steps}"
            )
    except InputError as error:
        kind = ChangedWorldError if isinstance(error, ChangedWorldError) else InputError
        raise kind(f"the run cannot be resumed from checkpoint {checkpoint} and was not changed: {error}") from None


def _make_trainer(
    trainer_class: Any,
    worlds: Simulation,
    config: TrainConfig,
    request: TrainingRequest,
    saved: Mapping[str, SavedPolicy],
    ranks: Ranks,
) -> Trainer:
    trainer: Trainer = trainer_class(worlds, config, policy_groups=request.policy_groups(saved), ranks=ranks)
    return trainer


def _choose_folder(request: TrainingRequest, world: Definition) -> tuple[Path | None, bool]:
    """The folder, None for a new one in ``runs/``, and whether to continue the run in it.

    A launcher restarts its processes with the arguments of the first start. A restart continues the run it started.
    """
    path = request.run_dir
    last = last_default_folder(world.id, request.algorithm, request.config.seed) if path is None else path
    restarted = last is not None and launched_by(last) == launch_id() != ""
    if path is None and restarted:
        path = last
    exists = path is not None and holds_run(path)
    if request.resume == "yes" and not exists:
        where = "say with --run-dir which run" if path is None else f"{path} holds none"
        raise InputError(f"there is no run to resume: {where}")
    if request.resume == "no" and exists and not restarted:
        raise InputError(f"{path} already holds a run: give --resume to continue it, or another --run-dir")
    return path, exists


def _begins(request: TrainingRequest, resumed: Path | None) -> bool:
    """Whether policies start as ``start_from`` says: no checkpoint of the run to be ``resumed`` has later ones."""
    if not request.start_from or resumed is None:
        return True
    return Checkpoints(resumed / CHECKPOINTS).find_resumable()[0] is None


def _open(request: TrainingRequest, world: Definition, path: Path | None, resumes: bool) -> RunFolder:
    if path is None:
        path = default_folder(world.id, request.algorithm, request.config.seed)
    return RunFolder(path, request_to_dict(request), resumes, request.keep, launch_id(), start=False)


def _all_fault_summaries(worlds: Simulation, ranks: Ranks) -> FaultSummary:
    """The faults of the worlds of all processes."""
    summaries = [fault_summary.read([worlds])]
    if not ranks.is_single:
        summaries *= ranks.size
        dist.all_gather_object(summaries, summaries[0], group=ranks.hosts)
    return fault_summary.merge_summaries(summaries)


def _broadcast_object(value: Any, ranks: Ranks) -> Any:
    """``value`` of the leading process."""
    if ranks.is_single:
        return value
    values = [value]
    dist.broadcast_object_list(values, 0, group=ranks.hosts)
    return values[0]
