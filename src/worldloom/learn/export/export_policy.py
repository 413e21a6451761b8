"""Writing policies to files that other programs run, from a run's folder or from a trainer."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import write_file
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec
from worldloom.learn.export.file_formats import SUFFIXES, Facts, Format, encode
from worldloom.learn.export.policy_function import PolicyFunction, TensorInfo
from worldloom.learn.networks.evaluation_mode import evaluation_mode
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork
from worldloom.learn.play.actors import Actor, PolicyActor, QActor
from worldloom.learn.runs.policy_file import encode_policies, is_policy_file, read_card
from worldloom.learn.runs.pretrained import SUFFIX
from worldloom.learn.runs.saved_policies import load_copy
from worldloom.learn.runs.saved_run import SavedRun, open_run


@dataclass(frozen=True)
class ExportedPolicy:
    """A policy that was written to a file.

    Attributes:
        path: The file.
        policy: The policy's name.
        inputs, outputs: The tensors of the function that ONNX and TorchScript files hold, in order. A safetensors file
            holds the parameters only.
    """

    path: Path
    policy: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]


def export_run(
    run: Path | str,
    to: Format,
    path: Path | str | None = None,
    *,
    policy: str = "",
    checkpoint: str = "last",
    env: str = "",
    allow_changed_world: bool = False,
) -> ExportedPolicy:
    """Write a policy of a run, with its observation statistics, to a file that needs no worldloom.

    Args:
        run: The folder of the run.
        to: ``onnx``, ``torchscript`` or ``safetensors``.
        path: The file; None for ``policy`` with the format's suffix in the folder of the run. For a file of policies
            it has the id of the world, in the current folder.
        policy: Name of the policy; empty where the run has one.
        checkpoint: ``last``, ``best``, or one of its checkpoints by name or path.
        env: The file that registers the run's world; empty for a world that is already registered.
        allow_changed_world: As for :func:`~worldloom.learn.runs.saved_run.open_run`.
    """
    if to not in SUFFIXES:
        raise InputError(f"a policy cannot be exported to '{to}': name one of {', '.join(SUFFIXES)}")
    saved = open_run(Path(run), checkpoint, env, allow_changed_world=allow_changed_world)
    with saved.worlds(1, "cpu", seed=0) as worlds:
        actors = saved.actors(worlds, epsilon=0.0 if saved.request.algorithm == "dqn" else None)
        name = policy or (next(iter(actors)) if len(actors) == 1 else "")
        if name not in actors:
            what = f"there is no policy '{name}' in {run}" if name else f"{run} has several policies"
            raise InputError(f"{what}: name one of {', '.join(actors)} with --policy")
        agent_group, actor = actors[name]
        masked = agent_group.mask() is not None
    stem = "policy" if saved.folder.expanduser().is_dir() else _world_name(saved)
    stem += "" if len(actors) == 1 else f"_{name}"
    target = _target(saved, path, f"{stem}{SUFFIXES[to]}")
    facts = {
        "world": saved.definition.id,
        "algorithm": saved.request.algorithm,
        "policy": name,
        "steps": saved.checkpoint.steps,
    }
    return export_policy(_network(actor), to, target, masked=masked, name=name, facts=facts)


def export_policies(
    run: Path | str,
    path: Path | str | None = None,
    *,
    checkpoint: str = "last",
    env: str = "",
    allow_changed_world: bool = False,
    card: Mapping[str, Any] | None = None,
    half: bool = False,
) -> Path:
    """Write all policies of a run to one file, which ``open_run`` and the commands take in the place of its folder.

    Args:
        run: The folder of the run, or another such file.
        path: The file, whose name ends with ``.policies``; None for the id of the world in the folder of the run.
        checkpoint: ``last``, ``best``, or one of its checkpoints by name or path.
        env: The file that registers the run's world; empty for a world that is already registered.
        allow_changed_world: As for :func:`~worldloom.learn.runs.saved_run.open_run`.
        card: Facts for people, as JSON values by name; None for those of a file ``run``.
        half: Whether weights are rounded to float16, for a file of half the size.

    Returns:
        The path of the file.
    """
    saved = open_run(Path(run), checkpoint, env, allow_changed_world=allow_changed_world)
    target = _target(saved, path, f"{_world_name(saved)}{SUFFIX}")
    if target.suffix != SUFFIX:
        raise InputError(f"the name of a file of policies ends with '{SUFFIX}', not as in {target}")
    if card is None:
        card = read_card(saved.folder) if is_policy_file(saved.folder) else {}
    opponents = {name: load_copy(saved.folder, name) for name in saved.request.opponents}
    write_file(target, encode_policies(saved.request, saved.checkpoint, opponents, card, half))
    return target


def _world_name(saved: SavedRun) -> str:
    """The id of the world as the name of a file."""
    return saved.definition.id.replace("/", "_")


def _target(saved: SavedRun, path: Path | str | None, name: str) -> Path:
    """``path``, or by default ``name`` in the folder of a run; the current folder for a file of policies."""
    if path:
        return Path(path).expanduser()
    folder = saved.folder.expanduser()
    return folder / name if folder.is_dir() else Path(name)


def export_policy(
    policy: Policy | QNetwork,
    to: Format,
    path: Path | str,
    *,
    masked: bool = False,
    name: str = "policy",
    facts: Facts | None = None,
) -> ExportedPolicy:
    """Write a policy, such as that of a trainer's learner, to a file.

    Args:
        policy: The policy, on any device; it stays unchanged.
        to: ``onnx``, ``torchscript`` or ``safetensors``.
        path: The file.
        masked: Whether the function takes an action mask.
        name: Name of the policy.
        facts: JSON values to add to those that the file holds.
    """
    function = PolicyFunction(copy.deepcopy(policy).cpu().requires_grad_(False), masked)
    described = {**_facts(function), **(facts or {})}
    with evaluation_mode(function.policy):
        data = encode(function, to, described)
    target = Path(path).expanduser()
    write_file(target, data)
    return ExportedPolicy(target, name, tuple(function.inputs), tuple(function.outputs))


def _network(actor: Actor) -> Policy | QNetwork:
    assert isinstance(actor, (PolicyActor, QActor))
    return actor.network if isinstance(actor, QActor) else actor.policy


def describe_tensor(info: TensorInfo) -> dict[str, Any]:
    """A tensor as JSON values; its first axis is ``rows``."""
    return {"name": info.name, "dtype": _dtype(info.dtype), "shape": ["rows", *info.shape]}


def _facts(function: PolicyFunction) -> dict[str, Any]:
    """What a program needs to know of a policy, as JSON values."""
    policy = function.policy
    return {
        "inputs": [describe_tensor(info) for info in function.inputs],
        "outputs": [describe_tensor(info) for info in function.outputs],
        "observations": {name: _observation_facts(spec) for name, spec in policy.spec.observations.items()},
        "action": _action_facts(policy.spec.action),
        "network": asdict(policy.config),
        "normalized": [] if policy.normalizer is None else policy.normalizer.names,
    }


def _observation_facts(spec: ObservationSpec) -> dict[str, Any]:
    return {**asdict(spec), "dtype": _dtype(spec.dtype)}


def _action_facts(spec: ActionSpec) -> dict[str, Any]:
    """The action; None for an infinite bound, which JSON cannot hold."""
    bounds = {
        name: [bound if math.isfinite(bound) else None for bound in values]
        for name, values in (("low", spec.low), ("high", spec.high))
    }
    return {**asdict(spec), **bounds}


def _dtype(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
