"""Policies read from the folders of runs, and the copies of opponents in the folder of a run that uses them.

A copy is a folder ``opponents/<policy>.policy`` with the files of a checkpoint. Training resumes with it, so that the
run it came from may be moved or removed. Files are data: nothing in them is executed.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import write_error
from worldloom.core.base.paths import expand_home
from worldloom.core.registry.world_files import file_and_id, find
from worldloom.learn.agents.policy_groups import POLICY_NAME
from worldloom.learn.config.dqn_config import DQNConfig
from worldloom.learn.config.json_files import short_repr
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.q_head import QHead
from worldloom.learn.config.serialization import settings_from_dict
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.opponents.saved_policy import Q_SETTINGS, SavedPolicy, own_network
from worldloom.learn.runs.checkpoint_files import (
    CHECKPOINT_NAME,
    Checkpoint,
    load_checkpoint,
    require_finite,
    unshared,
    write_checkpoint,
)
from worldloom.learn.runs.checkpoints import Checkpoints, choose_checkpoint
from worldloom.learn.runs.policy_file import POLICY_PREFIX, VALUES_PREFIX, is_policy_file, read_policies
from worldloom.learn.runs.pretrained import PRETRAINED, SUFFIX, pretrained
from worldloom.learn.runs.run_folder import CHECKPOINTS, OPPONENTS, holds_run, read_config
from worldloom.learn.runs.training_request import TrainingRequest, request_from_dict
from worldloom.learn.training.world_identity import KEY, changed_sentence, changes, checked_identity


@dataclass(frozen=True)
class PolicySource:
    """Where a policy is read: a run's folder, a checkpoint of it, and the policy's name; empty for the obvious one."""

    run: Path
    checkpoint: str = "last"
    policy: str = ""


def parse_source(text: str, world: str = "") -> PolicySource:
    """The source that ``RUN``, ``RUN:CHECKPOINT``, ``RUN:POLICY`` or ``RUN:CHECKPOINT:POLICY`` names.

    A checkpoint is ``last``, ``best`` or a name such as ``iteration_00000012``. A run is a folder, a file of policies,
    or ``pretrained`` for the policies that come with worldloom for the world with id ``world``.
    """
    run, checkpoint, policy = text, "last", ""
    if text.partition(":")[0] == PRETRAINED and not holds_run(Path(PRETRAINED)):
        run = f"{pretrained(world)}{text.removeprefix(PRETRAINED)}"
    while ":" in run and not (holds_run(Path(run)) or is_policy_file(run)):
        run, _, part = run.rpartition(":")
        if part in ("last", "best") or CHECKPOINT_NAME.fullmatch(part):
            checkpoint = part
        else:
            policy = part
    return PolicySource(Path(run).expanduser(), checkpoint, policy)


def read_run(path: Path | str, checkpoint: str = "last") -> tuple[TrainingRequest, Checkpoint, str]:
    """The request and a checkpoint of a run, from its folder or a file of policies, and the name of what was read.

    Args:
        path: The folder, or the file.
        checkpoint: ``last``, ``best``, or one of the folder's checkpoints by name or path. A file has one.
    """
    folder = expand_home(path)
    if folder.suffix == SUFFIX and not folder.exists():
        raise InputError(f"there is no file {path}")
    if is_policy_file(folder):
        if checkpoint not in ("last", "best"):
            raise InputError(f"{path} is a file with one checkpoint: omit '{checkpoint}'")
        return *read_policies(folder), str(path)
    request = request_from_dict(read_config(folder), folder)
    chosen = choose_checkpoint(Checkpoints(folder / CHECKPOINTS), checkpoint, folder)
    return request, load_checkpoint(chosen), f"checkpoint {chosen}"


def load_policy(run: Path | str, policy: str = "", checkpoint: str = "last", default: str = "") -> SavedPolicy:
    """A policy of the run in folder ``run``.

    Args:
        run: The folder, or a file of policies.
        policy: The policy's name; empty for ``default`` where the run has it, or else for its only one.
        checkpoint: ``last``, ``best``, or one of its checkpoints by name or path.
        default: The name to look for where none is given.
    """
    folder = Path(run).expanduser()
    request, saved, _ = read_run(folder, checkpoint)
    tensors = saved.tensors
    names = list(dict.fromkeys(name.partition(POLICY_PREFIX)[0] for name in tensors if POLICY_PREFIX in name))
    name = policy or (default if default in names else names[0] if len(names) == 1 else "")
    if name not in names:
        what = f"there is no policy '{name}' in {folder}" if name else f"{folder} has several policies"
        raise InputError(f"{what}: name one of {', '.join(names)}, as in {folder}:{names[0] if names else 'POLICY'}")
    config = network_settings(request, folder, name)
    return SavedPolicy(
        source=str(folder),
        name=name,
        world=file_and_id(request.env)[1],
        agents=request.policies.get(name, name),
        algorithm=request.algorithm,
        config=config.policy,
        action_masks=config.action_masks,
        tensors=_with_prefix(tensors, f"{name}{POLICY_PREFIX}"),
        value_moments=_with_prefix(tensors, f"{name}{VALUES_PREFIX}"),
        q_settings={key: getattr(config, key) for key in Q_SETTINGS} if isinstance(config, DQNConfig) else {},
        identity=saved.state.get(KEY),
    )


def _with_prefix(tensors: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """The tensors whose names start with ``prefix``, by the rest of their names."""
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}


def network_settings(request: TrainingRequest, folder: Path, name: str) -> TrainConfig:
    """The settings of policy ``name`` of a run, with the network of an opponent where it is one."""
    config = request.config_of(name)
    return load_copy(folder, name).applied_to(config) if name in request.opponents else config


def load_opponents(request: TrainingRequest, copied_to: Path | None) -> dict[str, SavedPolicy]:
    """The opponents of a training by policy: from their runs, or from the copies in the folder ``copied_to``."""
    opponents = {}
    if request.opponents and copied_to is None:
        request.agents_by_policy()  # a misspelt name is no policy of the earlier run either
    for name, text in request.opponents.items():
        if copied_to is not None:
            opponents[name] = load_copy(copied_to, name)
        else:
            source = parse_source(text, find(request.env).id)
            opponents[name] = load_policy(source.run, source.policy, source.checkpoint, default=name)
            _note_other_rules(opponents[name], request)
    return opponents


def load_starts(request: TrainingRequest) -> dict[str, SavedPolicy]:
    """The policies of ``request.start_from`` with which all but the opponents start, by policy."""
    if not request.start_from:
        return {}
    source, starts = parse_source(request.start_from, find(request.env).id), {}
    for name in request.agents_by_policy():
        if name in request.opponents:
            continue
        saved, own = load_policy(source.run, source.policy, source.checkpoint, default=name), request.config_of(name)
        if own_network(saved.algorithm) == own_network(request.algorithm):
            _require_same_network(name, saved, own)
        starts[name] = saved
        _note_other_rules(saved, request)
    return starts


def _note_other_rules(saved: SavedPolicy, request: TrainingRequest) -> None:
    """Warn where the rules of the world have changed since a policy was trained; it may be used all the same."""
    definition = find(request.env)
    if saved.identity is None or saved.world != definition.id:
        return
    identity = checked_identity(saved.identity, f"the run in {saved.source}")
    if changed := changes(identity, definition):
        since = f"policy '{saved.name}' of {saved.source} was trained"
        warnings.warn(changed_sentence(changed, identity, definition, since), stacklevel=4)


def _require_same_network(name: str, saved: SavedPolicy, own: TrainConfig) -> None:
    """InputError unless ``saved`` has the network and the action masks of the settings ``own``."""
    values = [
        (f"--policy.{field.name.replace('_', '-')}", getattr(saved.config, field.name), getattr(own.policy, field.name))
        for field in fields(PolicyConfig)
    ]
    values.append(("--action-masks", saved.action_masks, own.action_masks))
    values += [(f"--{key.replace('_', '-')}", value, getattr(own, key)) for key, value in saved.q_settings.items()]
    for setting, theirs, ours in values:
        if theirs != ours:
            raise InputError(
                f"policy '{name}' cannot start from policy '{saved.name}' of {saved.source}, "
                f"whose {setting} is {theirs}, not {ours}: give the settings of its network"
            )


def save_copy(folder: Path, name: str, policy: SavedPolicy) -> None:
    """Copy ``policy`` into the folder of a run, as its policy ``name``."""
    target = _copy_path(folder, name)
    # An opponent is frozen, so that its value moments are not needed.
    left_out = ("tensors", "config", "value_moments", "q_settings", "identity")
    state: dict[str, Any] = {key: value for key, value in vars(policy).items() if key not in left_out}
    writing = target.with_name(f".writing_{secrets.token_hex(8)}")
    try:
        writing.mkdir(parents=True)
        write_checkpoint(
            writing,
            unshared(dict(policy.tensors)),
            {**state, "config": asdict(policy.config), "q_settings": dict(policy.q_settings)},
            0,
            0,
            None,
        )
        if os.path.lexists(target):  # of a start that was interrupted
            shutil.rmtree(target)
        os.rename(writing, target)
    except OSError as error:
        raise write_error(target, error) from None


def load_copy(folder: Path, name: str) -> SavedPolicy:
    """The copy of the opponent ``name`` in the folder of a run; InputError where it is missing or was altered."""
    path = _copy_path(folder, name)
    saved = load_checkpoint(path)
    texts = [saved.state.get(key) for key in ("source", "name", "world", "agents", "algorithm")]
    config, masks, head = (saved.state.get(key) for key in ("config", "action_masks", "q_settings"))
    if not all(isinstance(text, str) for text in texts) or not isinstance(config, dict):
        raise InputError(f"the copied opponent {path} lacks a value that every copy has: restore it from a backup")
    tensors: Mapping[str, torch.Tensor] = saved.tensors
    require_finite(tensors, f"the copied opponent {path}")
    source, own_name, world, agents, algorithm = map(str, texts)
    return SavedPolicy(
        source=source,
        name=own_name,
        world=world,
        agents=agents,
        algorithm=algorithm,
        config=settings_from_dict(PolicyConfig, config),
        action_masks=masks is not False,
        tensors=tensors,
        q_settings=asdict(settings_from_dict(QHead, head)) if isinstance(head, dict) and head else {},
    )


def _copy_path(folder: Path, name: str) -> Path:
    if not re.fullmatch(POLICY_NAME, name):  # config.json may come from an untrusted source
        raise InputError(f"an opponent cannot be called {short_repr(name)}: use letters, digits, '_', '-' and '.'")
    return Path(folder).expanduser() / OPPONENTS / f"{name}.policy"
