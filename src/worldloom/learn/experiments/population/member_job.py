"""The training of one member for one generation, as a message of JSON values, in any process.

A generation starts from checkpoints of the previous one and ends with a checkpoint; nothing else is kept, so that one
that was interrupted is trained again from its start. In one process members stay in memory between generations.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from worldloom.core.base.errors import InputError, WorldloomError
from worldloom.core.base.files import write_file
from worldloom.core.registry.world_files import file_and_id
from worldloom.core.simulation import Simulation
from worldloom.learn.algorithms.policy_trainer import PolicyTrainer
from worldloom.learn.algorithms.registry import algorithm
from worldloom.learn.experiments.population.changeable import is_number
from worldloom.learn.experiments.search.apply_settings import setting_of, with_settings
from worldloom.learn.runs.checkpoint_files import Checkpoint, load_checkpoint, read_metadata, verify_checkpoint
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.known_worlds import remember_world
from worldloom.learn.runs.request_message import request_from_message
from worldloom.learn.runs.run_folder import CHECKPOINTS, CONFIG, RunFolder, holds_run
from worldloom.learn.runs.run_recorder import RunRecorder
from worldloom.learn.runs.saved_policies import load_opponents, load_starts, save_copy
from worldloom.learn.runs.training_request import TrainingRequest, find_world, request_to_dict
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.divergence_check import DivergedError
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

MIN_KEPT = 3
"""Checkpoints that are kept: other members start from that of the generation before the last one."""
INTERRUPTED = "interrupted"
"""The only value, true, in the answer of a member that was stopped from outside."""
UNUSABLE = "unusable"
"""The only value in the answer of a member whose folder cannot be used, as where the disk is full: why, in words."""


def train_member(
    message: Mapping[str, Any],
    callbacks: Sequence[Callback] = (),
    members: dict[str, Member] | None = None,
) -> dict[str, Any]:
    """Train a member for one generation, or find that it has been.

    Args:
        message: ``request`` and ``folder`` of the member; ``search``, the names of its searched settings; ``source``,
            the folder of the member whose weights it takes, or empty; and the environment steps ``start`` and ``end``.
        callbacks: Called during the training.
        members: Members that stay in memory, by folder; None where they do not.

    Returns:
        ``score``, ``steps``, ``seconds`` and ``error`` of its
        :class:`~worldloom.learn.experiments.population.member_result.MemberResult`; or :data:`INTERRUPTED`, or
        :data:`UNUSABLE`.
    """
    try:
        return _train_member(message, callbacks, members)
    except WorldloomError as error:
        return {UNUSABLE: str(error)}


def _train_member(
    message: Mapping[str, Any], callbacks: Sequence[Callback], members: dict[str, Member] | None
) -> dict[str, Any]:
    folder = Path(message["folder"])
    if (done := _find(folder, message["end"], exact=False)) is not None:
        metadata = verify_checkpoint(done)
        return _answer(metadata.score, metadata.steps, float(metadata.state["seconds"]))
    request = request_from_message(message)
    member = None if members is None else members.pop(message["folder"], None)
    if member is not None and not member.can_continue(request, message["search"], message["start"]):
        member.close()
        member = None
    stays = False
    try:
        if member is None:
            member = Member(request, folder, message["search"], message["start"], message["source"])
        answer = member.train(request, message, callbacks)
        stays = members is not None and INTERRUPTED not in answer
    except (DivergedError, UnfitSettingsError) as error:  # another member will replace it
        return _answer(None, message["start"], 0.0, str(error))
    finally:
        if member is not None and members is not None and stays:
            members[message["folder"]] = member
        elif member is not None:
            member.close()
    return answer


class UnfitSettingsError(InputError):
    """Settings that the trainer refuses."""


class Member:
    """A member in memory: its worlds, its trainer and its open folder.

    Args:
        request: Its training with the current settings.
        folder: Its folder.
        search: The names of the searched settings.
        start: Environment steps at which it continues; 0 for a new one.
        source: The folder of the member whose weights it will take; empty for none.
    """

    def __init__(self, request: TrainingRequest, folder: Path, search: Sequence[str], start: int, source: str) -> None:
        self.folder = folder
        self._allow_changed_world = request.allow_changed_world
        self.numbers = [name for name in search if is_number(name, request)]
        """Searched numbers that change without a new trainer."""
        self._first = {name: setting_of(request, name) for name in self.numbers}
        self._fixed = self._fixed_settings(request)
        scheduled = with_settings(request, {name: [[0, value]] for name, value in self._first.items()})
        trainer_class: Any = algorithm(request.algorithm)[0]
        resumes = holds_run(folder)
        opponents = load_opponents(request, folder if resumes else None)
        saved = opponents | ({} if start else load_starts(request))
        config = scheduled.config
        self._worlds = Simulation(
            find_world(request),
            config.num_envs,
            config.device,
            seed=config.seed,
            autoreset=trainer_class.autoreset,
            config=request.world_config,
        )
        self._run: RunFolder | None = None
        try:
            groups = scheduled.policy_groups(saved)
            try:
                self.trainer: PolicyTrainer[Any] = trainer_class(self._worlds, config, policy_groups=groups)
            except InputError as error:
                raise UnfitSettingsError(str(error)) from None
            self._run = RunFolder(folder, request_to_dict(request), resumes, max(MIN_KEPT, request.keep), start=False)
            for name, opponent in () if resumes else opponents.items():
                save_copy(folder, name, opponent)
            if start:
                self._load(start, source)
            self._run.start()
            if world_file := file_and_id(request.env)[0]:
                remember_world(folder, world_file)
        except BaseException:
            self.close()
            raise

    def _load(self, start: int, source: str) -> None:
        """Load its own checkpoint; that of its source where it failed, and has none."""
        own = _find(self.folder, start)
        if own is None and not source:
            raise InputError(f"{self.folder} has no intact checkpoint after {start:,} steps: restore it from a copy")
        saved = _checkpoint(Path(source), start) if own is None else load_checkpoint(own)
        self.trainer.load_state(saved.tensors, saved.state, allow_changed_world=self._allow_changed_world)

    def _fixed_settings(self, request: TrainingRequest) -> TrainingRequest:
        """``request`` without what may change: two of them are equal where one trainer serves both."""
        return with_settings(replace(request, run_dir=None, resume="no"), self._first)

    def can_continue(self, request: TrainingRequest, search: Sequence[str], start: int) -> bool:
        """Whether this trainer can go on from ``start`` with the settings of ``request``."""
        same = self.trainer.steps == start and self._fixed == self._fixed_settings(request)
        return same and self.numbers == [name for name in search if is_number(name, request)]

    def train(
        self, request: TrainingRequest, message: Mapping[str, Any], callbacks: Sequence[Callback]
    ) -> dict[str, Any]:
        """Take the weights of the source, if there is one, and train with the settings of ``request`` until the end."""
        assert self._run is not None
        trainer = self.trainer
        if message["source"]:
            trainer.adopt(_checkpoint(Path(message["source"]), message["start"]).tensors)
        values = {name: setting_of(request, name) for name in self.numbers}
        for policy, learner in trainer.learners.items():
            # the numbers of all policies, then those of this one
            own = {name: value for name, value in values.items() if ":" not in name and name in learner.schedules}
            own |= {k.rpartition(":")[2]: v for k, v in values.items() if k.rpartition(":")[0] == policy}
            learner.set_numbers(own)
        write_file(self.folder / CONFIG, json.dumps(request_to_dict(request), indent=2) + "\n")
        trainer.learn(
            callbacks=[_GenerationRecorder(self._run, message["end"], request.slim_checkpoints), *callbacks],
            until=message["end"],
        )
        if trainer.steps < message["end"]:
            return {INTERRUPTED: True}
        score = trainer.checkpoint_score
        return _answer(score if score == score else None, trainer.steps, trainer.seconds)

    def close(self) -> None:
        """Close its folder, and free its worlds and its trainer."""
        if self._run is not None:
            self._run.close()
        self._worlds.close()
        if torch.cuda.is_available():
            gc.collect()
            torch.cuda.empty_cache()


class _GenerationRecorder(Callback):
    """Records metrics, and a checkpoint at the end of the generation only."""

    def __init__(self, folder: RunFolder, end: int, slim: bool) -> None:
        self.folder, self.end, self.slim = folder, end, slim

    def on_start(self, trainer: Trainer) -> None:
        self.folder.write_world(trainer.world_history.as_dict())

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.folder.write(progress)

    def on_end(self, trainer: Trainer) -> None:
        if trainer.steps >= self.end:
            RunRecorder(self.folder, slim=self.slim).save(trainer)


def _answer(score: float | None, steps: int, seconds: float, error: str = "") -> dict[str, Any]:
    return {"score": score, "steps": steps, "seconds": seconds, "error": error}


def _find(folder: Path, steps: int, exact: bool = True) -> Path | None:
    """The first intact checkpoint after ``steps`` environment steps, exactly or at least; None where there is none."""
    checkpoints = Checkpoints(folder / CHECKPOINTS)
    for path in checkpoints.all():
        try:
            found = read_metadata(path).steps
            if found == steps or (found > steps and not exact):
                verify_checkpoint(path)
                return path
        except WorldloomError:
            continue
    return None


def _checkpoint(folder: Path, steps: int) -> Checkpoint:
    path = _find(folder, steps)
    if path is None:
        raise InputError(f"{folder} has no intact checkpoint after {steps:,} steps: restore it from a copy")
    return load_checkpoint(path)
