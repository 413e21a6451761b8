"""Checkpoints: tensors and state of a run on disk, each one either whole or not there at all.

A checkpoint is a folder ``iteration_00000012`` with ``tensors.safetensors`` and ``state.json``. It is written under a hidden
name beside its place, brought to the disk, and renamed. So a process that is killed at any moment leaves hidden leftovers at
most, and the next one that writes there sweeps them away.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from worldloom.core.errors import InputError
from worldloom.core.tensor_file import to_disk

FORMAT = 1
"""Version of the layout on disk; raised when older programs could not read it."""

TENSORS, STATE = "tensors.safetensors", "state.json"
_NAME = re.compile(r"iteration_(\d{8,})")
_WRITING, _DROPPED, _REPLACED = ".writing_", ".dropped_", ".replaced_"
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Note:
    """What ``state.json`` says about a checkpoint.

    Attributes:
        iteration: Iterations done when it was saved.
        steps: World steps taken.
        score: How good it is, higher is better; None where it was not measured.
        state: What else was saved, as JSON holds it: lists for tuples, text for keys.
        bytes: Size of the file of tensors.
        sha256: Its digest.
    """

    iteration: int
    steps: int
    score: float | None
    state: dict[str, Any]
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint in memory: its tensors, on the CPU, and what its note says."""

    tensors: dict[str, torch.Tensor]
    state: dict[str, Any]
    iteration: int
    steps: int
    score: float | None


class Checkpoints:
    """The checkpoints of one run. Keeps the last ``keep`` and the best; any number of processes may read, one may write."""

    def __init__(self, folder: Path, keep: int = 3) -> None:
        if keep < 1:
            raise InputError(f"at least one checkpoint must be kept, not {keep}")
        self.folder, self.keep = Path(folder), keep
        self._swept = False

    def save(self, tensors: dict[str, torch.Tensor], state: dict[str, Any], *, iteration: int, steps: int, score: float | None = None) -> Path:
        """Write a checkpoint and drop those that need not be kept; also those of later iterations, a future that was left behind.

        Args:
            tensors: By name, on any device; parts of one memory are written each for itself.
            state: Whatever JSON can hold; NaN and infinities too.
            iteration: Iterations done. A checkpoint of the same iteration is replaced.
            steps: World steps taken.
            score: Higher is better; None or NaN never make the best.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self._swept:
            self.sweep()
        target = self.folder / f"iteration_{iteration:08d}"
        writing = self.folder / f"{_WRITING}{target.name}"
        writing.mkdir()
        try:
            safetensors.torch.save_file(_apart(tensors), writing / TENSORS)
            size, digest = _digest(writing / TENSORS)
            known = None if score is None or math.isnan(score) else float(score)
            note = {"format": FORMAT, "iteration": iteration, "steps": steps, "score": known, "tensors": {"bytes": size, "sha256": digest}, "state": state}
            (writing / STATE).write_text(_json(note), encoding="utf-8")
            for path in (writing / TENSORS, writing / STATE, writing):
                to_disk(path)
        except BaseException:
            shutil.rmtree(writing, ignore_errors=True)
            raise
        self._put(writing, target)
        self._prune(target)
        return target

    def load(self, path: Path) -> Checkpoint:
        """The checkpoint in folder ``path``. InputError where a file is missing, cut short or altered."""
        note = check(path)
        try:
            tensors = safetensors.torch.load_file(Path(path) / TENSORS)
        except (OSError, safetensors.SafetensorError) as error:
            raise _bad(path, f"{TENSORS} cannot be read ({error})") from None
        return Checkpoint(tensors, note.state, note.iteration, note.steps, note.score)

    def all(self) -> list[Path]:
        """The folder of every checkpoint, oldest first."""
        if not self.folder.is_dir():
            return []
        found = [path for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        return sorted(found, key=_iteration)

    def latest(self) -> Path | None:
        """The last checkpoint that is whole; None where there is none."""
        return _first_whole(reversed(self.all()))

    def best(self) -> Path | None:
        """The checkpoint with the highest score that is whole, the later one of two equals; None where none has a score."""
        return _first_whole(reversed(_by_score(self.all())))

    def sweep(self) -> None:
        """Clear away what a killed writer left. Only the process that writes may do so, before it asks for the latest."""
        self._swept = True
        for path in sorted(self.folder.glob(".*")) if self.folder.is_dir() else []:
            if path.name.startswith(_REPLACED):
                place = self.folder / path.name.removeprefix(_REPLACED)
                if place.exists():
                    shutil.rmtree(path)
                else:
                    os.rename(path, place)
            elif path.name.startswith((_WRITING, _DROPPED)):
                shutil.rmtree(path)

    def _put(self, writing: Path, target: Path) -> None:
        replaced = self.folder / f"{_REPLACED}{target.name}"
        if target.exists():
            os.rename(target, replaced)  # killed here, the next sweep puts it back
        os.rename(writing, target)
        to_disk(self.folder)
        if replaced.exists():
            shutil.rmtree(replaced)

    def _prune(self, saved: Path) -> None:
        past = [path for path in self.all() if _iteration(path) <= _iteration(saved)]
        kept = set(past[-self.keep :]) | set(_by_score(past)[-1:])
        for path in self.all():
            if path not in kept:
                dropped = self.folder / f"{_DROPPED}{path.name}"
                os.rename(path, dropped)  # a folder that is half deleted must not look like a checkpoint
                shutil.rmtree(dropped)


def note_of(path: Path) -> Note:
    """What ``state.json`` in the checkpoint ``path`` says; the tensors are not looked at."""
    try:
        data = json.loads((Path(path) / STATE).read_text(encoding="utf-8"))
    except OSError as error:
        raise _bad(path, f"{STATE} cannot be read ({error.strerror})") from None
    except ValueError:
        raise _bad(path, f"{STATE} is no whole JSON document") from None
    if isinstance(data, dict) and isinstance(data.get("format"), int) and data["format"] > FORMAT:
        raise InputError(f"checkpoint {path} has format {data['format']}, and this version reads up to {FORMAT}: use the version that wrote it, or a later one")
    try:
        score = None if data["score"] is None else float(data["score"])
        file = data["tensors"]
        note = Note(int(data["iteration"]), int(data["steps"]), score, dict(data["state"]), int(file["bytes"]), str(file["sha256"]))
    except (KeyError, TypeError, ValueError):
        raise _bad(path, f"{STATE} lacks what every checkpoint has") from None
    return note


def check(path: Path) -> Note:
    """InputError unless the checkpoint ``path`` is as it was written; otherwise its note."""
    note = note_of(path)
    try:
        size, digest = _digest(Path(path) / TENSORS)
    except OSError as error:
        raise _bad(path, f"{TENSORS} cannot be read ({error.strerror})") from None
    if size != note.bytes:
        raise _bad(path, f"{TENSORS} has {size:,} bytes instead of {note.bytes:,}")
    if digest != note.sha256:
        raise _bad(path, f"{TENSORS} was altered")
    return note


def _bad(path: Path, problem: str) -> InputError:
    return InputError(f"checkpoint {path} cannot be used, since {problem}: take another one")


def _first_whole(paths: Iterable[Path]) -> Path | None:
    for path in paths:
        try:
            check(path)
            return path
        except InputError as error:
            warnings.warn(f"passed over: {error}", stacklevel=3)
    return None


def _by_score(paths: Iterable[Path]) -> list[Path]:
    """Those of ``paths`` that have a score, the best last, and the later one of two equals after the other."""
    scored: list[tuple[float, int, Path]] = []
    for path in paths:
        try:
            score = note_of(path).score
        except InputError:
            continue  # it has no score that could be trusted
        if score is not None:
            scored.append((score, _iteration(path), path))
    return [path for *_, path in sorted(scored)]


def _iteration(path: Path) -> int:
    return int(path.name.removeprefix("iteration_"))


def _apart(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Detached and contiguous on the CPU, no two on the same memory: the file format knows no sharing."""
    found: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        value = tensor.detach().to("cpu").contiguous()
        memory = value.untyped_storage().data_ptr()
        found[name] = value.clone() if memory in seen else value
        seen.add(memory)
    return found


def _json(note: dict[str, Any]) -> str:
    try:
        return json.dumps(note, indent=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"the state of a checkpoint must be what JSON can hold: {error}") from None


def _digest(path: Path) -> tuple[int, str]:
    """Size and SHA-256 of a file, read piece by piece."""
    size, digest = 0, hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_CHUNK):
            size += len(piece)
            digest.update(piece)
    return size, digest.hexdigest()
