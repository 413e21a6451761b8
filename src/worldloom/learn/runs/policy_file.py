"""A trained run as one file: its policies, their settings, the rules of its world, and facts about its training.

The file is a safetensors file with a digest, see :mod:`worldloom.core.base.tensor_file`. It stands for the folder of
the run where policies are used: in ``worldloom play``, ``eval``, ``export``, ``--start-from`` and ``--opponent``.
A training cannot be resumed from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from worldloom.core.base import tensor_file
from worldloom.core.base.errors import InputError
from worldloom.core.registry.world_files import file_and_id
from worldloom.learn.agents.policy_groups import POLICY_NAME
from worldloom.learn.config.json_files import is_count
from worldloom.learn.config.serialization import config_to_dict
from worldloom.learn.opponents.saved_policy import SavedPolicy
from worldloom.learn.runs.checkpoint_files import Checkpoint, require_finite, unshared
from worldloom.learn.runs.pretrained import SUFFIX
from worldloom.learn.runs.training_request import (
    COMMON_SETTINGS,
    TrainingRequest,
    request_from_dict,
    request_to_dict,
)
from worldloom.learn.training.world_identity import KEY

KIND, VERSION = "file of trained policies", 1
ROUNDED = "rounded"
"""The names of float32 tensors that a file holds in float16."""
POLICY_PREFIX = "/policy/"
"""What follows the name of a policy in the names of its parameters and statistics in a checkpoint."""
STATISTICS = f"{POLICY_PREFIX}normalizer."
"""What follows it in those of the statistics of observations."""
VALUES_PREFIX = "/values/"
"""What follows it in the names of the moments of its value targets."""


def is_policy_file(path: Path | str) -> bool:
    """Whether ``path`` has the name of such a file and is one, and not a folder."""
    return str(path).endswith(SUFFIX) and Path(path).expanduser().is_file()


def encode_policies(
    request: TrainingRequest,
    checkpoint: Checkpoint,
    opponents: Mapping[str, SavedPolicy],
    card: Mapping[str, Any],
    half: bool = False,
) -> bytes:
    """The bytes of a file.

    Args:
        request: What the run was trained with.
        checkpoint: Its checkpoint.
        opponents: Its opponents by the policy that they became. In the file they are policies like the others.
        card: Facts for people, as JSON values.
        half: Whether weights are rounded to float16. Biases and statistics are not.
    """
    tensors = {k: v for k, v in checkpoint.tensors.items() if POLICY_PREFIX in k or VALUES_PREFIX in k}
    weights = {k: v for k, v in tensors.items() if POLICY_PREFIX in k and STATISTICS not in k}
    rounded = [k for k, v in weights.items() if half and v.dtype == torch.float32 and v.ndim > 1]
    tensors |= {k: tensors[k].half() for k in rounded}
    if any(not tensors[k].isfinite().all() for k in rounded):
        raise InputError("a weight is too large for float16: write the policies without half")
    facts = {
        "request": request_to_dict(_without_training(request, opponents)),
        "iteration": checkpoint.iteration,
        "steps": checkpoint.steps,
        KEY: checkpoint.state.get(KEY),
        "card": dict(card),
        ROUNDED: rounded,
    }
    return bytes(tensor_file.encode(KIND, VERSION, unshared(tensors), facts))


def read_policies(path: Path | str) -> tuple[TrainingRequest, Checkpoint]:
    """The request and the policies in a file; InputError where it is damaged. The file is data and is not executed."""
    contents = tensor_file.read(path, KIND, VERSION)
    facts = contents.facts
    iteration, steps = facts.get("iteration"), facts.get("steps")
    if not isinstance(facts.get("request"), dict) or not is_count(iteration) or not is_count(steps):
        raise InputError(f"{path} lacks a value that every {KIND} has: take another file")
    require_finite(contents.tensors, str(path))
    rounded = facts.get(ROUNDED, [])
    if not isinstance(rounded, list) or not all(isinstance(name, str) and name in contents.tensors for name in rounded):
        raise InputError(f"{path} names rounded weights that it does not have: take another file")
    tensors = contents.tensors | {name: contents.tensors[name].float() for name in rounded}
    request = request_from_dict(facts["request"], file=path)
    if not all(re.fullmatch(POLICY_NAME, name) for name in (*request.policies, *request.policy_settings)):
        raise InputError(f"{path} names a policy as none can be called: take another file")
    if request.opponents or request.start_from or request.self_play:
        raise InputError(f"{path} needs other runs, as no {KIND} does: take another file")
    return request, Checkpoint(tensors, {KEY: facts.get(KEY)}, facts["iteration"], facts["steps"], None)


def read_card(path: Path | str) -> dict[str, Any]:
    """The facts for people in a file, by name."""
    card = tensor_file.read(path, KIND, VERSION).facts.get("card")
    return card if isinstance(card, dict) else {}


def _without_training(request: TrainingRequest, opponents: Mapping[str, SavedPolicy]) -> TrainingRequest:
    """What playing needs of a request: the id of the world, its configuration, and the policies with their networks."""
    settings = {
        name: {key: value for key, value in own.items() if not key.startswith("pool.")}
        for name, own in request.policy_settings.items()
    }
    for name, opponent in opponents.items():
        config = request.config_of(name)
        settings[name] = _differences(config_to_dict(request.config), config_to_dict(opponent.applied_to(config)))
    return TrainingRequest(
        file_and_id(request.env)[1] or request.env,
        request.algorithm,
        request.config,
        world_config=request.world_config,
        policies=request.policies,
        policy_settings={name: own for name, own in settings.items() if own},
    )


def _differences(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of ``own`` that differ from ``common``, as in ``TrainingRequest.policy_settings``."""
    different: dict[str, Any] = {}
    for name, value in own.items():
        if isinstance(value, dict) and isinstance(common.get(name), dict):
            different |= {f"{name}.{key}": inner for key, inner in _differences(common[name], value).items()}
        elif name not in COMMON_SETTINGS and common.get(name) != value:
            different[name] = value
    return different
