"""A whole training from a request: the folder, the worlds, the trainer, and going on with an earlier one. Nobody is talked to.

It runs alike in one process, in each of those that ``torchrun`` starts, and in the workers of a cluster.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import torch.distributed as dist

from worldloom.core.runtime import fault_summary
from worldloom.core.base.errors import InputError
from worldloom.core.runtime.fault_summary import FaultSummary
from worldloom.core.registry.registry import Definition
from worldloom.core.simulation import Simulation
from worldloom.core.registry.world_files import file_and_id, find, reference
from worldloom.learn.algorithms.registry import algorithm, config_from_dict, config_to_dict
from worldloom.learn.training.callbacks import Callback, StopAt
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.training.divergence_check import DivergenceCheck
from worldloom.learn.config.json_files import as_float, short_repr
from worldloom.learn.algorithms.learner import PolicyGroup
from worldloom.learn.distributed.ranks import Ranks, join_process_group, launch_id, leave_process_group
from worldloom.learn.runs.run_recorder import RunRecorder
from worldloom.learn.runs.run_folder import RunFolder, default_folder, holds_run, last_default_folder, launched_by
from worldloom.learn.training.trainer import Trainer

FORMAT = 1
"""Version of what ``config.json`` holds."""

Resume = Literal["no", "yes", "auto"]


@dataclass(frozen=True)
class TrainingRequest:
    """A training that is asked for.

    Attributes:
        env: The world: its id, or ``/path/to/file.py:Id``.
        algorithm: Its name.
        config: Its settings.
        world_config: Values of the world's own configuration.
        policies: Which agents share which policy, such as ``{"hunters": "Wolf[0:2]"}``; empty for a policy per kind.
        frozen: Names of policies that play but do not learn.
        stop_at: The mean return at which the training ends before its last step; None to go on.
        checkpoint_every: Seconds between two checkpoints; 0 for none but the last.
        keep: How many of the last checkpoints stay.
        run_dir: Its folder; None for the next free one in ``runs/``.
        resume: Whether the folder must hold a run to go on with (yes), must not (no), or may (auto).
    """

    env: str
    algorithm: str
    config: TrainConfig
    world_config: dict[str, Any] = field(default_factory=dict)
    policies: dict[str, str] = field(default_factory=dict)
    frozen: tuple[str, ...] = ()
    stop_at: float | None = None
    checkpoint_every: float = 30.0
    keep: int = 3
    run_dir: Path | None = None
    resume: Resume = "no"

    def __post_init__(self) -> None:
        if not 0.0 <= self.checkpoint_every < math.inf:
            raise InputError(f"checkpoint_every must be 0 or more seconds and finite, not {short_repr(self.checkpoint_every)}")
        if self.keep < 1:
            raise InputError(f"keep must be 1 checkpoint or more, not {short_repr(self.keep)}")
        if self.stop_at is not None and not -math.inf < self.stop_at < math.inf:
            raise InputError(f"stop_at must be a finite return, not {short_repr(self.stop_at)}")

    def policy_groups(self) -> dict[str, PolicyGroup] | None:
        """The policies and whom they play; None for a policy per kind, all of which learn."""
        if not self.policies and not self.frozen:
            return None
        names = self.policies or {kind: kind for kind in agent_kinds(find(self.env))}
        unknown = [name for name in self.frozen if name not in names]
        if unknown:
            raise InputError(f"there is no policy '{unknown[0]}' that could be frozen: there are {', '.join(names)}")
        if len(set(self.frozen)) == len(names):
            raise InputError("every policy is frozen, so nothing would be learned: leave one out of --frozen")
        return {name: PolicyGroup(agents, train=name not in self.frozen) for name, agents in names.items()}


@dataclass(frozen=True)
class TrainingResult:
    """What came of a training.

    Attributes:
        folder: Where it is kept.
        leads: Whether this is the process that tells others about it.
        iteration, steps, seconds: How far it came, counted over all resumed parts.
        steps_per_second: World steps over wall time of this part.
        mean_return: Of the last episodes; NaN where none ended.
        complete: Whether all steps were taken.
        mishaps: What went wrong in single worlds, in all processes.
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


def agent_kinds(made: Definition) -> list[str]:
    """Every kind of agent of a world."""
    return list(dict.fromkeys(table for table, _ in made.actions().values()))


def request_to_dict(request: TrainingRequest) -> dict[str, Any]:
    """What ``config.json`` holds of a request; not where its folder is, nor whether it was resumed."""
    plain = {f.name: getattr(request, f.name) for f in fields(request) if f.name not in ("config", "run_dir", "resume")}
    return {"format": FORMAT, **plain, "frozen": list(request.frozen), "config": config_to_dict(request.config)}


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(as_float(value))
    except ValueError:
        return False


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


_CONFIG_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "env": (lambda value: isinstance(value, str) and value != "" and value.isprintable(), "the name of a world"),
    "algorithm": (lambda value: isinstance(value, str), "the name of an algorithm"),
    "config": (lambda value: isinstance(value, dict), "an object with settings"),
    "world_config": (lambda value: isinstance(value, dict), "an object with values by name"),
    "policies": (lambda value: isinstance(value, dict) and _is_words(list(value.values())), "an object with the agents of each policy as text"),
    "frozen": (_is_words, "a list of names"),
    "stop_at": (lambda value: value is None or _is_number(value), "a finite number or null"),
    "checkpoint_every": (_is_number, "a finite number of seconds"),
    "keep": (lambda value: type(value) is int and value < 2**31, "a whole number below 2**31"),
}
"""What each part of ``config.json`` must be: a check, and words for it."""


def request_from_dict(values: Mapping[str, Any], run_dir: Path | None = None, resume: Resume = "no") -> TrainingRequest:
    """The request that :func:`request_to_dict` gave and JSON kept; InputError where it is none.

    Nothing is run. Its world may be in a file, which is a program: whoever got the folder from others has it run by :func:`resolve_world` alone.
    """
    names = {f.name for f in fields(TrainingRequest)} - {"run_dir", "resume"}
    given = {name: value for name, value in values.items() if name != "format"}
    if type(values.get("format", FORMAT)) is not int:
        raise InputError(f"'format' in config.json must be a whole number, not {short_repr(values['format'])}")
    if values.get("format", FORMAT) > FORMAT:
        raise InputError(
            f"the run was written in format {short_repr(values['format'])}, and this version of worldloom reads up to {FORMAT}: update worldloom to resume it"
        )
    missing = sorted({"env", "algorithm", "config"} - set(given))
    if missing or set(given) - names:
        what = f"has no '{missing[0]}'" if missing else f"has {short_repr(min(set(given) - names))}"
        raise InputError(f"config.json {what}, so it is not one of a training from the command line: load its checkpoints from Python")
    for name, (fits, what) in _CONFIG_CHECKS.items():
        if name in given and not fits(given[name]):
            raise InputError(f"'{name}' in config.json must be {what}, not {short_repr(given[name])}")
    config = config_from_dict(algorithm(given["algorithm"])[1], given["config"])
    return TrainingRequest(**{**given, "config": config, "frozen": tuple(given.get("frozen", ())), "run_dir": run_dir, "resume": resume})


def resolve_world(request: TrainingRequest, env: str = "", how: str = "--env {file}") -> TrainingRequest:
    """``request``, as a run's folder holds it, with a world that may be run.

    A folder is data, and a file that it names is a program. So a file is only run where ``env`` says so.

    Args:
        request: What was read from the folder.
        env: The world as the user names it: a file that registers the run's world, or its id; empty to take a registered world from the run.
        how: How the user is to name the file, for the sentence that asks for it.
    """
    file, id_ = file_and_id(request.env)
    if not env:
        if file:
            raise InputError(f"the world of this run is in {file}, which is a program: say {how.replace('{file}', shlex.quote(file))} to run it")
        return request
    named, named_id = file_and_id(env)
    if named_id and id_ and named_id != id_:
        raise InputError(f"{env} is another world than that of the run, which is {id_}: leave it out, or name what registers {id_}")
    wanted = f"{named}:{id_}" if named and id_ else env
    return replace(request, env=reference(wanted, find(wanted)))


def run_training(request: TrainingRequest, callbacks: Iterable[Callback] = (), on_folder: Callable[[Path], None] | None = None) -> TrainingResult:
    """Train as asked, in this process and in those that were started with it; returns when the training is over or was stopped.

    Args:
        request: What to do. Only the process that leads writes into the folder.
        callbacks: Called in every process.
        tell_folder: Called with the folder before the training begins, in every process.
    """
    ranks, device = join_process_group(request.config.device)
    try:
        return _train(request, replace(request.config, device=device), list(callbacks), on_folder, ranks)
    finally:
        leave_process_group()


def _train(request: TrainingRequest, config: TrainConfig, callbacks: list[Callback], on_folder: Callable[[Path], None] | None, ranks: Ranks) -> TrainingResult:
    made, kind = find(request.env), algorithm(request.algorithm)[0]
    place, resumes = _choose_folder(request, made) if ranks.is_leader else (None, False)
    with ExitStack() as stack:
        first, count = ranks.share(config.num_envs)
        worlds = Simulation(made, count, config.device, seed=config.seed, autoreset=kind.autoreset, world_offset=first, config=request.world_config)
        trainer = _trainer(kind, stack.enter_context(worlds), config, request, ranks)
        watching: list[Callback] = [DivergenceCheck()]
        checkpoint: Path | None = None
        folder: RunFolder | None = None
        if ranks.is_leader:
            folder = stack.enter_context(_open(request, made, place, resumes))
            place, checkpoint = folder.path, folder.resumed_from
            watching.append(RunRecorder(folder, request.checkpoint_every))
        place, checkpoint = _broadcast_object((place, checkpoint), ranks)
        if on_folder is not None:
            on_folder(place)
        if checkpoint is not None:
            _load(trainer, checkpoint)
        if request.resume == "yes" and trainer.steps >= config.total_steps:
            raise InputError(f"the run in {place} has taken its {config.total_steps:,} steps: give more --total-steps to go on")
        if folder is not None:
            folder.start()  # only now: what cannot be resumed stays as it is, byte for byte
        if request.stop_at is not None:
            watching.append(StopAt(request.stop_at))
        steps, seconds = trainer.steps, trainer.seconds
        trainer.learn(callbacks=[*watching, *callbacks])
        spent = trainer.seconds - seconds
        rate = (trainer.steps - steps) / spent if spent > 0.0 else 0.0
        complete, found = trainer.steps >= config.total_steps, _all_fault_summaries(worlds, ranks)
        return TrainingResult(place, ranks.is_leader, trainer.iteration, trainer.steps, trainer.seconds, rate, trainer.score, complete, found)


def _load(trainer: Trainer, checkpoint: Path) -> None:
    """Let ``trainer`` go on from a checkpoint; InputError, which names it, where it does not fit."""
    saved = Checkpoints(checkpoint.parent).load(checkpoint)
    try:
        trainer.load_state(saved.tensors, saved.state)
        if (trainer.iteration, trainer.steps) != (saved.iteration, saved.steps):
            raise InputError(f"its state is that of iteration {trainer.iteration} and step {trainer.steps}, its note of {saved.iteration} and {saved.steps}")
    except InputError as error:
        raise InputError(f"the run cannot go on from checkpoint {checkpoint} and was left as it is: {error}") from None


def _trainer(kind: Any, worlds: Simulation, config: TrainConfig, request: TrainingRequest, ranks: Ranks) -> Trainer:
    made: Trainer = kind(worlds, config, policy_groups=request.policy_groups(), ranks=ranks)
    return made


def _choose_folder(request: TrainingRequest, made: Definition) -> tuple[Path | None, bool]:
    """The folder, None for a new one in ``runs/``, and whether to go on with the run in it.

    A launcher that starts its processes again does so with the arguments of the first start: what it began, it goes on with.
    """
    place = request.run_dir
    last = last_default_folder(made.id, request.algorithm, request.config.seed) if place is None else place
    restarted = last is not None and launched_by(last) == launch_id() != ""
    if place is None and restarted:
        place = last
    there = place is not None and holds_run(place)
    if request.resume == "yes" and not there:
        where = "say with --run-dir which run" if place is None else f"{place} holds none"
        raise InputError(f"there is no run to go on with: {where}")
    if request.resume == "no" and there and not restarted:
        raise InputError(f"{place} already holds a run: give --resume to go on with it, or another --run-dir")
    return place, there


def _open(request: TrainingRequest, made: Definition, place: Path | None, resumes: bool) -> RunFolder:
    if place is None:
        place = default_folder(made.id, request.algorithm, request.config.seed)
    return RunFolder(place, request_to_dict(request), resumes, request.keep, launch_id(), start=False)


def _all_fault_summaries(worlds: Simulation, ranks: Ranks) -> FaultSummary:
    """What went wrong in the worlds of all processes."""
    found = [fault_summary.read([worlds])]
    if not ranks.is_single:
        found *= ranks.size
        dist.all_gather_object(found, found[0], group=ranks.hosts)
    return fault_summary.merge_summaries(found)


def _broadcast_object(what: Any, ranks: Ranks) -> Any:
    """``what`` as the process that leads has it."""
    if ranks.is_single:
        return what
    words = [what]
    dist.broadcast_object_list(words, 0, group=ranks.hosts)
    return words[0]
