"""The arguments of ``worldloom train``: which flags there are depends on the algorithm, and their defaults on the world or on the run to go on with."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import tyro

from worldloom.cli.commands.train import Train
from worldloom.core.base.errors import InputError
from worldloom.core.model.families import family_of
from worldloom.core.registry.registry import registered
from worldloom.core.registry.world_files import find
from worldloom.learn.algorithms.registry import algorithm
from worldloom.learn.config.json_files import short_repr
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.config.tuned_defaults import SHARED_POLICIES, has_tuned_config, tuned_config
from worldloom.learn.runs.run_folder import holds_run, read_config
from worldloom.learn.runs.training_run import TrainingRequest, request_from_dict, resolve_world

CHANGEABLE_ON_RESUME = ("total_steps", "device")
"""Settings that a run may go on with other values of."""


def parse(arguments: Sequence[str]) -> Train:
    """The training that ``arguments`` ask for; ends the process with a message where they ask for none."""
    given = _expand_bare_resume(arguments)
    run = _run_to_resume(given)
    algo = _value(given, "--algo") or (Train.algo if run is None else run.algorithm)
    if run is not None:
        _require_unchanged("--algo", algo, run.algorithm, run)
        return _resumed(_read(given, _resumed_run_form(run)), run)
    _, kind = algorithm(algo)
    free = [word for before, word in pairwise(["", *given]) if not _wants_value(before)]
    guess = next((word for word in free if _is_world(word) or word.endswith(".py") or ".py:" in word), "")
    device = _value(given, "--device") or "auto"
    command = _read(given, _new_run_form(algo, kind, guess, device), _tuned_for(guess, algo))
    if command.env and command.env != guess:  # another argument looked like a world
        command = _read(given, _new_run_form(algo, kind, command.env, device), _tuned_for(command.env, algo))
    return command


def _wants_value(word: str) -> bool:
    """Whether ``word`` is an option whose value may come next, such as the folder of --run-dir, which could be the path of a ROM by its looks."""
    return word.startswith("-") and "=" not in word


def _is_world(word: str) -> bool:
    return family_of(word) is not None or word in registered()


def _new_run_form(algo: str, kind: type[TrainConfig], env: str, device: str) -> Train:
    """The form of a new training with its defaults."""
    world = find(env).id if env else ""
    form: Train = _form(kind)(
        algo=algo,
        settings=tuned_config(world, algo, kind, device),
        policies=format_policies(SHARED_POLICIES.get(world, {})),
    )
    return form


def _tuned_for(env: str, algo: str) -> str:
    return f"The defaults are those that suit {find(env).id}." if env and has_tuned_config(find(env).id, algo) else ""


def _form(kind: type[TrainConfig]) -> Any:
    """The command with a field more: the settings of an algorithm, each a flag."""
    settings = ("settings", Annotated[kind, tyro.conf.arg(name="")], dataclasses.field(default_factory=kind))
    form = dataclasses.make_dataclass("Train", [settings], bases=(Train,))
    form.__doc__ = Train.__doc__
    return form


def _read(given: list[str], default: Train, more: str = "") -> Train:
    form: Any = type(default)
    text = "\n\n".join(part for part in (inspect.getdoc(Train), more) if part)
    asked = [
        word for word in given if word in ("-h", "--help")
    ]  # before all else: what was read already would not be shown
    command: Train = tyro.cli(form, prog="worldloom train", description=text, args=asked or given, default=default)
    return command


# -- going on with a run ---------------------------------------------------------------------------------------------


def _run_to_resume(given: list[str]) -> TrainingRequest | None:
    """The run that the arguments ask to go on with; its settings are the defaults."""
    resume, folder = _value(given, "--resume") or "no", _value(given, "--run-dir")
    if resume not in ("yes", "auto") or "--help" in given or "-h" in given:
        return None
    if not folder and resume == "yes":
        raise InputError("say with --run-dir which run to go on with")
    if not folder or (resume == "auto" and not holds_run(Path(folder))):
        return None
    return request_from_dict(read_config(Path(folder)), Path(folder))


def _resumed_run_form(run: TrainingRequest) -> Train:
    form: Train = _form(type(run.config))(
        algo=run.algorithm,
        config=tuple(f"{name}={value!r}" for name, value in run.world_config.items()),
        policies=format_policies(run.policies),
        frozen=",".join(run.frozen),
        stop_at=run.stop_at,
        checkpoint_every=run.checkpoint_every,
        keep=run.keep,
        settings=run.config,
    )
    return form


def _resumed(command: Train, run: TrainingRequest) -> Train:
    """``command``, of which nothing but what may change differs from the run; InputError otherwise."""
    command.env = resolve_world(
        run, command.env, f"worldloom train {{file}} --resume --run-dir {shlex.quote(str(run.run_dir))}"
    ).env
    asked = command.request()
    _require_unchanged("--config", asked.world_config, run.world_config, run)
    _require_unchanged("--policies", asked.policies, run.policies, run)
    _require_unchanged("--frozen", asked.frozen, run.frozen, run)
    for name, new, old in _differences(asked.config, run.config):
        if name not in CHANGEABLE_ON_RESUME:
            _require_unchanged(f"--{name.replace('_', '-')}", new, old, run)
    return command


def _differences(new: Any, old: Any, before: str = "") -> Iterator[tuple[str, Any, Any]]:
    for field in dataclasses.fields(new):
        ours, theirs = getattr(new, field.name), getattr(old, field.name)
        if dataclasses.is_dataclass(ours):
            yield from _differences(ours, theirs, f"{before}{field.name}.")
        elif ours != theirs:
            yield f"{before}{field.name}", ours, theirs


def _require_unchanged(flag: str, new: Any, old: Any, run: TrainingRequest) -> None:
    if new != old:
        had = f"has {old}" if old not in ("", (), {}) else "has none"
        raise InputError(
            f"{flag} {new} does not fit the run in {run.run_dir}, which {had}: leave it out to go on with it, or train in another --run-dir"
        )


# -- reading arguments -----------------------------------------------------------------------------------------------


def _expand_bare_resume(arguments: Sequence[str]) -> list[str]:
    """The arguments, with ``yes`` after a --resume that stands alone."""
    found: list[str] = []
    for place, word in enumerate(arguments):
        found.append(word)
        if word == "--resume" and (place + 1 == len(arguments) or arguments[place + 1] not in ("no", "yes", "auto")):
            found.append("yes")
    return found


def _value(given: list[str], flag: str) -> str:
    """The value of a flag as it was given; empty where it was not."""
    for place, word in enumerate(given):
        name, equals, value = word.partition("=")
        if name.replace("_", "-") == flag:
            return value if equals else given[place + 1] if place + 1 < len(given) else ""
    return ""


def parse_config_values(texts: Sequence[str]) -> dict[str, Any]:
    """``("force=5.0", "is_slippery=False")`` as values by name; InputError where one is none."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            if not equals or not name:
                raise ValueError
            found[name.strip()] = ast.literal_eval({"true": "True", "false": "False"}.get(value.strip(), value.strip()))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            raise InputError(
                f"--config takes a name and a value, such as force=5.0, is_slippery=False or wind=(0.1,0.2), not {short_repr(text)}"
            ) from None
    return found


def format_policies(policies: dict[str, str]) -> str:
    """What :func:`parse_policies` reads."""
    return ";".join(f"{name}={agents}" for name, agents in policies.items())


def parse_policies(text: str) -> dict[str, str]:
    """``hunters=Wolf;prey=Sheep[0:2],Sheep[2]`` as agents by the name of their policy; InputError where it is no such text."""
    found: dict[str, str] = {}
    for part in text.split(";"):
        name, equals, agents = (word.strip() for word in part.partition("="))
        if not name and not agents and not equals:
            continue
        if not name or not agents or "/" in name or name in found:
            raise InputError(
                f'--policies names each policy once with its agents, as in "hunters=Wolf;prey=Sheep[0:2],Sheep[2]", not "{text}"'
            )
        found[name] = agents
    return found
