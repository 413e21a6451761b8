"""The arguments of ``worldloom train``: its flags depend on the algorithm, their defaults on the world or the run."""

from __future__ import annotations

import dataclasses
import inspect
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypeVar

import tyro

from worldloom.cli.commands.train import Train
from worldloom.cli.parsing.numbers import integers_and_schedules
from worldloom.cli.parsing.policies import format_policies, format_policy_settings, parse_opponents
from worldloom.core.base.errors import InputError
from worldloom.core.model.families import family_of
from worldloom.core.registry.registry import is_registered
from worldloom.core.registry.world_files import find
from worldloom.learn.algorithms.registry import algorithm
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.config.tuned_defaults import POLICY_SETTINGS, SHARED_POLICIES, has_tuned_config, tuned_config
from worldloom.learn.runs.run_folder import holds_run
from worldloom.learn.runs.training_run import TrainingRequest, resolve_world
from worldloom.learn.tracking.make_trackers import TRACKER_CLASSES
from worldloom.learn.tracking.tracker_ids import read_tracker_ids
from worldloom.terminal.flags import names

TrainT = TypeVar("TrainT", bound=Train)

CHANGEABLE_ON_RESUME = (
    *("total_steps", "device"),
    *("eval_every", "eval_episodes", "eval_worlds", "eval_seed", "eval_stochastic", "eval_max_steps"),
)
"""Settings that may change when a run is resumed. Evaluations do not influence what is learned."""


def parse(arguments: Sequence[str], base: type[TrainT] = Train) -> TrainT:  # type: ignore[assignment]
    """The training that ``arguments`` select; prints a message and exits the process if they are invalid.

    Args:
        arguments: The arguments after the name of the command.
        base: The command.
    """
    words = _expand_bare_resume(arguments)
    is_auto = _value(words, "--num-envs") == "auto"
    command = _parse(_without(words, "--num-envs") if is_auto else words, base)
    command.auto_num_envs = is_auto and _run_to_resume(words, base) is None  # a run keeps the number that it has
    return command


def _parse(words: list[str], base: type[TrainT]) -> TrainT:
    if _value(words, "--seed") and _value(words, "--seeds"):
        raise InputError("--seed is one seed and --seeds are several: give one of the two")
    run = _run_to_resume(words, base)
    algo = _value(words, "--algo") or (base.algo if run is None else run.algorithm)
    if run is not None:
        _require_unchanged("--algo", algo, run.algorithm, run)
        return _resumed(_read(words, _resumed_defaults(run, base)), run)
    _, kind = algorithm(algo)
    positional = [word for before, word in pairwise(["", *words]) if not _takes_value(before)]
    guess = next((word for word in positional if _is_world(word) or word.endswith(".py") or ".py:" in word), "")
    device = _value(words, "--device") or "auto"
    command = _read(words, _new_run_defaults(base, algo, kind, guess, device), _tuning_note(guess, algo))
    if command.env and command.env != guess:  # another argument looked like a world
        defaults = _new_run_defaults(base, algo, kind, command.env, device)
        command = _read(words, defaults, _tuning_note(command.env, algo))
    return _with_policy_settings(command, words) if command.env else command


def _takes_value(word: str) -> bool:
    """Whether ``word`` is a flag whose value may follow. A value such as --run-dir's may look like a world."""
    return word.startswith("-") and "=" not in word


def _is_world(word: str) -> bool:
    return family_of(word) is not None or is_registered(word)


def _new_run_defaults(base: type[TrainT], algo: str, kind: type[TrainConfig], env: str, device: str) -> TrainT:
    """The command of a new run, with its defaults."""
    world = find(env).id if env else ""
    defaults: TrainT = _command_class(base, kind)(
        algo=algo,
        settings=tuned_config(world, algo, kind, device),
        policies=format_policies(SHARED_POLICIES.get(world, {})),
    )
    return defaults


def _with_policy_settings(command: TrainT, words: list[str]) -> TrainT:
    """``command`` with the tuned settings of single policies, which settings in the arguments override."""
    if command.policies:
        return command
    untrained = {*names(command.frozen), *parse_opponents(command.opponent)}
    tuned = {
        policy: {name: value for name, value in settings.items() if not _value(words, f"--{name.replace('_', '-')}")}
        for policy, settings in POLICY_SETTINGS.get((find(command.env).id, command.algo), {}).items()
        if policy not in untrained
    }
    command.set = (*format_policy_settings(tuned), *command.set)
    return command


def _tuning_note(env: str, algo: str) -> str:
    return f"The defaults are tuned for {find(env).id}." if env and has_tuned_config(find(env).id, algo) else ""


def _command_class(base: type[Train], kind: type[TrainConfig]) -> Any:
    """``base`` with one more field: the settings of an algorithm, each of which is a flag."""
    settings = ("settings", Annotated[kind, tyro.conf.arg(name="")], dataclasses.field(default_factory=kind))
    command_class = dataclasses.make_dataclass(base.__name__, [settings], bases=(base,))
    command_class.__doc__ = base.__doc__
    return command_class


def _read(words: list[str], default: TrainT, note: str = "") -> TrainT:
    command_class: Any = type(default)
    description = "\n\n".join(paragraph for paragraph in (inspect.getdoc(command_class), note) if paragraph)
    help_flags = [word for word in words if word in ("-h", "--help")]  # alone, so that the help shows every flag
    command: TrainT = tyro.cli(
        command_class,
        prog=f"worldloom {default.command_name}",
        description=description,
        args=help_flags or words,
        default=default,
        registry=integers_and_schedules(),
    )
    return command


# -- resuming a run ---------------------------------------------------------------------------------------------------


def _run_to_resume(words: list[str], base: type[Train]) -> TrainingRequest | None:
    """The run that the arguments resume; its settings are the defaults."""
    resume, folder = _value(words, "--resume") or "no", _value(words, "--run-dir")
    if resume not in ("yes", "auto") or "--help" in words or "-h" in words:
        return None
    if not folder and resume == "yes":
        raise InputError("name the run to resume with --run-dir")
    if not folder or (resume == "auto" and not base.can_resume(Path(folder))):
        return None
    return base.saved_request(Path(folder))


def _resumed_defaults(run: TrainingRequest, base: type[TrainT]) -> TrainT:
    assert run.run_dir is not None
    tracked, own = base.saved_flags(run.run_dir.expanduser())
    defaults: TrainT = _command_class(base, type(run.config))(
        algo=run.algorithm,
        config=tuple(f"{name}={value!r}" for name, value in run.world_config.items()),
        policies=format_policies(run.policies),
        frozen=",".join(run.frozen),
        opponent=tuple(f"{name}={source}" for name, source in run.opponents.items()),
        start_from=run.start_from,
        self_play=",".join(run.self_play),
        pool=run.pool,
        set=format_policy_settings(run.policy_settings),
        stop_at=run.stop_at,
        checkpoint_every=run.checkpoint_every,
        keep=run.keep,
        slim_checkpoints=run.slim_checkpoints,
        settings=run.config,
        **own,
    )
    defaults.track = ",".join(name for name in read_tracker_ids(tracked) if name in TRACKER_CLASSES)
    return defaults


def _resumed(command: TrainT, run: TrainingRequest) -> TrainT:
    """``command``, checked.

    Raises:
        InputError: If a setting that cannot change differs from the run's.
    """
    command.env = resolve_world(
        run,
        command.env,
        f"worldloom {command.command_name} {{file}} --resume --run-dir {shlex.quote(str(run.run_dir))}",
    ).env
    command.no_video |= not run.video
    request = command.request()
    if not request.allow_changed_world or not holds_run(run.run_dir or Path()):  # an experiment keeps it
        new, old = (
            ", ".join(f"{k}={v}" for k, v in config.items()) for config in (request.world_config, run.world_config)
        )
        _require_unchanged("--config", new, old, run, "give --allow-changed-world to train on with it")
    _require_unchanged("--policies", request.policies, run.policies, run)
    _require_unchanged("--frozen", request.frozen, run.frozen, run)
    _require_unchanged("--opponent", request.opponents, run.opponents, run)
    _require_unchanged("--start-from", request.start_from, run.start_from, run)
    _require_unchanged("--self-play", request.self_play, run.self_play, run)
    _require_unchanged("--set", request.policy_settings, run.policy_settings, run)
    for name, new, old in _differences(request.pool, run.pool):
        _require_unchanged(f"--pool.{name.replace('_', '-')}", new, old, run)
    for name, new, old in _differences(request.config, run.config):
        if name not in CHANGEABLE_ON_RESUME:
            _require_unchanged(f"--{name.replace('_', '-')}", new, old, run)
    return command


def _differences(new: Any, old: Any, prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The name, the new and the old value of every setting that differs."""
    for field in dataclasses.fields(new):
        new_value, old_value = getattr(new, field.name), getattr(old, field.name)
        if dataclasses.is_dataclass(new_value):
            yield from _differences(new_value, old_value, f"{prefix}{field.name}.")
        elif new_value != old_value:
            yield f"{prefix}{field.name}", new_value, old_value


def _require_unchanged(flag: str, new: Any, old: Any, run: TrainingRequest, instead: str = "") -> None:
    if new != old:
        had = f"has {old}" if old not in ("", (), {}) else "has none"
        raise InputError(
            f"{flag} {new} does not fit the run in {run.run_dir}, which {had}: "
            f"omit it to resume the run, or {instead or 'train in another --run-dir'}"
        )


# -- arguments --------------------------------------------------------------------------------------------------------


def _expand_bare_resume(arguments: Sequence[str]) -> list[str]:
    """The arguments, with ``yes`` after a --resume without a value."""
    words: list[str] = []
    for i, word in enumerate(arguments):
        words.append(word)
        if word == "--resume" and (i + 1 == len(arguments) or arguments[i + 1] not in ("no", "yes", "auto")):
            words.append("yes")
    return words


def _without(words: list[str], flag: str) -> list[str]:
    """``words`` without a flag and its value."""
    rest: list[str] = []
    skip = False
    for word in words:
        name, equals, _ = word.partition("=")
        if skip:
            skip = False
        elif name.replace("_", "-") == flag:
            skip = not equals
        else:
            rest.append(word)
    return rest


def _value(words: list[str], flag: str) -> str:
    """The value of a flag, or an empty text."""
    for i, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.replace("_", "-") == flag:
            return value if equals else words[i + 1] if i + 1 < len(words) else ""
    return ""
