"""One checkpoint on disk: a folder with ``tensors.safetensors`` and ``state.json``, written, read and verified.

A checkpoint may come from an untrusted source: symbolic links are refused, and every value of ``state.json`` is checked
before it is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import fsync_path, open_regular
from worldloom.learn.config.json_files import as_float, is_count, read_json, short_repr

FORMAT = 1
"""Version of the layout on disk; raised when older versions of worldloom could not read it."""

TENSORS, STATE = "tensors.safetensors", "state.json"
CHECKPOINT_NAME = re.compile(r"iteration_([0-9]{8}|[1-9][0-9]{8,17})")
REPLACED = ".replaced_"
"""Prefix of a checkpoint that is being replaced by a new one of the same iteration."""
USE_ANOTHER = ": use another one"
"""The end of the error about an unusable checkpoint."""
_CHUNK = 1 << 22
_POLICY_TYPES = (
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.bool, torch.uint8, torch.int32, torch.int64),
)
_READ_ERRORS = (
    OSError,
    safetensors.SafetensorError,
    ValueError,
    TypeError,
    KeyError,
    RuntimeError,
    MemoryError,
)


class NewerFormatError(InputError):
    """A checkpoint that a later version of worldloom wrote."""


@dataclass(frozen=True)
class CheckpointMetadata:
    """The content of ``state.json``.

    Attributes:
        iteration: Iterations done when it was saved.
        steps: Environment steps done.
        score: Higher is better; None where it was not measured.
        evaluated: Whether the score is that of an evaluation, and not of training episodes.
        state: Further saved values, as JSON holds them: lists for tuples, text for keys.
        bytes: Size of the tensor file.
        sha256: Digest of the tensor file.
    """

    iteration: int
    steps: int
    score: float | None
    evaluated: bool
    state: dict[str, Any]
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint in memory: its tensors, on the CPU, and its metadata."""

    tensors: dict[str, torch.Tensor]
    state: dict[str, Any]
    iteration: int
    steps: int
    score: float | None


def write_checkpoint(
    folder: Path,
    tensors: dict[str, torch.Tensor],
    state: dict[str, Any],
    iteration: int,
    steps: int,
    score: float | None,
    evaluated: bool = False,
) -> None:
    """Write both files into the new ``folder``, and flush them to disk."""
    safetensors.torch.save_file(tensors, folder / TENSORS)
    size, digest = _digest(folder / TENSORS)
    metadata = {
        "format": FORMAT,
        "iteration": iteration,
        "steps": steps,
        "score": None if score is None or math.isnan(score) else float(score),
        "evaluated": evaluated,
        "tensors": {"bytes": size, "sha256": digest},
        "state": state,
    }
    (folder / STATE).write_text(_json(metadata), encoding="utf-8")
    os.chmod(folder / TENSORS, stat.S_IMODE(os.stat(folder / STATE).st_mode))  # safetensors writes it as 0600
    for path in (folder / TENSORS, folder / STATE, folder):
        fsync_path(path)


def load_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in folder ``path``; InputError where a file is missing, truncated or altered."""
    metadata = verify_checkpoint(path)
    try:
        tensors = safetensors.torch.load_file(Path(path) / TENSORS)
    except _READ_ERRORS as error:
        raise _unusable(path, f"{TENSORS} cannot be read ({one_line(error)})") from None
    return Checkpoint(tensors, metadata.state, metadata.iteration, metadata.steps, metadata.score)


def verify_checkpoint(path: Path) -> CheckpointMetadata:
    """The metadata of the checkpoint ``path``; InputError where its files are not as they were written."""
    metadata = read_metadata(path)
    try:
        size, digest = _digest(Path(path) / TENSORS)
    except OSError as error:
        raise _unusable(path, f"{TENSORS} cannot be read ({error.strerror})") from None
    if size != metadata.bytes:
        raise _unusable(path, f"{TENSORS} has {size:,} bytes instead of {metadata.bytes:,}")
    if digest != metadata.sha256:
        raise _unusable(path, f"{TENSORS} was altered")
    return metadata


def read_metadata(path: Path) -> CheckpointMetadata:
    """The content of ``state.json`` in the checkpoint ``path``. The tensors are not checked."""
    path = Path(path)
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise _unusable(path, "it is a symbolic link" if path.is_symlink() else "it is not a folder")
        data = read_json(path / STATE)
    except OSError as error:
        raise _unusable(path, f"{STATE} cannot be read ({error.strerror})") from None
    except InputError:
        raise
    except ValueError:
        raise _unusable(path, f"{STATE} is not a complete JSON document") from None
    version = data.get("format") if isinstance(data, dict) else None
    if type(version) is int and version > FORMAT:
        raise NewerFormatError(
            f"checkpoint {path} has format {short_repr(version)}, and this version of worldloom reads up to {FORMAT}: "
            "update worldloom to use it"
        )
    try:
        file, state, score = data["tensors"], data["state"], data["score"]
        evaluated = data.get("evaluated", False)  # scores of version 0.1 are those of training episodes
        counts = (version, data["iteration"], data["steps"], file["bytes"])
        if not all(is_count(value) for value in counts) or version == 0:
            raise ValueError
        if not isinstance(state, dict) or not isinstance(file["sha256"], str) or not isinstance(evaluated, bool):
            raise ValueError
        known_score = None if score is None else as_float(score)
        if known_score is not None and math.isnan(known_score):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise _unusable(path, f"{STATE} lacks a value that every checkpoint has") from None
    if CHECKPOINT_NAME.fullmatch(path.name.removeprefix(REPLACED)) and iteration_of(path) != data["iteration"]:
        raise _unusable(path, f"{STATE} is that of iteration {data['iteration']}")
    return CheckpointMetadata(
        data["iteration"], data["steps"], known_score, evaluated, state, file["bytes"], file["sha256"]
    )


def require_finite(tensors: Mapping[str, torch.Tensor], where: str) -> None:
    """InputError, which names ``where``, unless all tensors hold finite numbers of a type that policies have."""
    for name, tensor in tensors.items():
        if tensor.dtype not in _POLICY_TYPES:
            raise InputError(f"{short_repr(name)} of {where} has the type {tensor.dtype}, which no policy has")
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise InputError(f"{short_repr(name)} of {where} is not finite, which no training saves")


def iteration_of(path: Path) -> int:
    """The iteration in a checkpoint's name."""
    return int(path.name.removeprefix(REPLACED).removeprefix("iteration_"))


def one_line(error: Exception) -> str:
    """The message of another library's error, on one line of limited length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:197]}..."


def unshared(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors detached and contiguous on the CPU, each with its own memory, as safetensors requires."""
    result: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        value = tensor.detach().to("cpu").contiguous()
        memory = value.untyped_storage().data_ptr()
        result[name] = value.clone() if memory in seen else value
        seen.add(memory)
    return result


def _unusable(path: Path, problem: str) -> InputError:
    return InputError(f"checkpoint {path} cannot be used, since {problem}{USE_ANOTHER}")


def _json(metadata: dict[str, Any]) -> str:
    try:
        return json.dumps(metadata, indent=1)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the state of a checkpoint must be what JSON can hold: {error}") from None


def _digest(path: Path) -> tuple[int, str]:
    """Size and SHA-256 of a file, read in chunks."""
    size, digest = 0, hashlib.sha256()
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            digest.update(chunk)
    return size, digest.hexdigest()
