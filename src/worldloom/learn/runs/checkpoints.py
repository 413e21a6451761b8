"""Checkpoints: tensors and state of a run on disk, each one either whole or not there at all.

A checkpoint is a folder ``iteration_00000012`` with ``tensors.safetensors`` and ``state.json``. It is written under a hidden
name beside its place, brought to the disk, and renamed. So a process that is killed at any moment leaves hidden leftovers at
most, and the next one that writes there sweeps them away.

A checkpoint may come from anywhere: symbolic links are refused, and every value of ``state.json`` is checked before it is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
import shutil
import stat
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import open_regular, disk_space_text, fsync_path
from worldloom.learn.config.json_files import as_float, short_repr, is_count, read_json

FORMAT = 1
"""Version of the layout on disk; raised when older programs could not read it."""

TENSORS, STATE = "tensors.safetensors", "state.json"
_NAME = re.compile(r"iteration_([0-9]{8}|[1-9][0-9]{8,17})")
_WRITING, _DROPPED, _REPLACED, _UNREADABLE = ".writing_", ".dropped_", ".replaced_", "unreadable_"
_CHUNK = 1 << 22


class NewerFormatError(InputError):
    """A checkpoint that a later version of worldloom wrote."""


@dataclass(frozen=True)
class CheckpointMetadata:
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
        target = self.folder / f"iteration_{iteration:08d}"
        plain = _unshared(tensors)
        needed = sum(tensor.numel() * tensor.element_size() for tensor in plain.values())
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self._swept:
                self.remove_leftovers()
            writing = self.folder / f"{_WRITING}{target.name}_{secrets.token_hex(8)}"
            writing.mkdir()
            try:
                self._write(writing, plain, state, iteration, steps, score)
            except BaseException:
                shutil.rmtree(writing, ignore_errors=True)
                raise
            self._put(writing, target)
        except (OSError, safetensors.SafetensorError) as error:
            raise _write_error(target, error, needed) from None
        self._prune(target)
        return target

    def _write(self, folder: Path, tensors: dict[str, torch.Tensor], state: dict[str, Any], iteration: int, steps: int, score: float | None) -> None:
        """Write both files into the new ``folder``, and bring them to the disk."""
        safetensors.torch.save_file(tensors, folder / TENSORS)
        size, digest = _digest(folder / TENSORS)
        known = None if score is None or math.isnan(score) else float(score)
        note = {"format": FORMAT, "iteration": iteration, "steps": steps, "score": known, "tensors": {"bytes": size, "sha256": digest}, "state": state}
        (folder / STATE).write_text(_json(note), encoding="utf-8")
        for path in (folder / TENSORS, folder / STATE, folder):
            fsync_path(path)

    def load(self, path: Path) -> Checkpoint:
        """The checkpoint in folder ``path``. InputError where a file is missing, cut short or altered."""
        note = verify_checkpoint(path)
        try:
            tensors = safetensors.torch.load_file(Path(path) / TENSORS)
        except (OSError, safetensors.SafetensorError, ValueError, TypeError, KeyError, RuntimeError, MemoryError) as error:
            raise _bad(path, f"{TENSORS} cannot be read ({_one_line(error)})") from None
        return Checkpoint(tensors, note.state, note.iteration, note.steps, note.score)

    def all(self) -> list[Path]:
        """The folder of every checkpoint, oldest first; InputError where they cannot be listed."""
        return sorted((path for path in self._entries() if _NAME.fullmatch(path.name)), key=_iteration)

    def latest(self) -> Path | None:
        """The last checkpoint that is whole; None where there is none."""
        return _first_intact(reversed(self.all()))

    def find_resumable(self) -> tuple[Path | None, CheckpointMetadata | None]:
        """The last checkpoint that is whole, and its note; None where none was ever saved. Nothing on the disk is changed.

        InputError where there are checkpoints and none can be read, where one was written by a later version of worldloom, which would
        be dropped as a future left behind, and where anything of a checkpoint's name is a symbolic link.
        """
        self._refuse_links()
        problems: list[str] = []
        for path in sorted((*self.all(), *self._displaced()), key=_iteration, reverse=True):
            try:
                note = verify_checkpoint(path)
            except NewerFormatError:
                raise
            except InputError as error:
                problems.append(str(error))
                continue
            for problem in problems:
                warnings.warn(f"passed over: {problem}", stacklevel=3)
            return path, note
        if problems:
            more = f" (and {len(problems) - 1} more that cannot be read)" if len(problems) > 1 else ""
            raise InputError(
                f"no checkpoint in {self.folder} can be read, so the run cannot go on and was left as it is: {problems[0].removesuffix(_CHOOSE_ANOTHER)}{more}; "
                "restore one from a copy, or train in another folder"
            )
        return None, None

    def any_exist(self) -> bool:
        """Whether any checkpoint is here, whole or not."""
        return bool(self.all() or self._displaced())

    def best(self) -> Path | None:
        """The checkpoint with the highest score that is whole, the later one of two equals; None where none has a score."""
        return _first_intact(reversed(_by_score(self.all())))

    def remove_leftovers(self) -> None:
        """Clear away what a killed writer left. Only the process that writes may do so, once it knows what it goes on from."""
        self._refuse_links()
        self._swept = True
        self.restore_replaced()
        for path in self._entries():
            if path.name.startswith((_WRITING, _DROPPED, _REPLACED)):
                _remove(path)

    def restore_replaced(self) -> None:
        """Rename what was about to be replaced when a writer was killed to what it was."""
        for path in self._displaced():
            os.rename(path, self.folder / path.name.removeprefix(_REPLACED))

    def quarantine(self, later_than: int) -> None:
        """Rename the checkpoints after iteration ``later_than``, which cannot be read, so that they are not dropped as a future left behind."""
        for path in self.all():
            if _iteration(path) > later_than:
                os.rename(path, self.folder / f"{_UNREADABLE}{path.name}_{secrets.token_hex(4)}")

    def _entries(self) -> list[Path]:
        try:
            return sorted(self.folder.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"the checkpoints in {self.folder} cannot be listed: {error.strerror}") from None

    def _displaced(self) -> list[Path]:
        """Checkpoints that were about to be replaced when their writer was killed: the new one never got its name."""
        found = [path for path in self._entries() if path.name.startswith(_REPLACED) and _NAME.fullmatch(path.name.removeprefix(_REPLACED))]
        return [path for path in found if not os.path.lexists(self.folder / path.name.removeprefix(_REPLACED))]

    def _refuse_links(self) -> None:
        """InputError where the folder, or anything in it that has a checkpoint's name, is a symbolic link."""
        for path in (self.folder, *(p for p in self._entries() if _NAME.fullmatch(p.name) or p.name.startswith((_WRITING, _DROPPED, _REPLACED)))):
            if path.is_symlink():
                raise InputError(f"{path} is a symbolic link, which a run's folder must not have: put what it points to in its place, or remove it")

    def _put(self, writing: Path, target: Path) -> None:
        replaced = self.folder / f"{_REPLACED}{target.name}"
        if os.path.lexists(target):
            os.rename(target, replaced)  # killed here, the next sweep puts it back
        os.rename(writing, target)
        fsync_path(self.folder)
        if os.path.lexists(replaced):
            _remove(replaced)

    def _prune(self, saved: Path) -> None:
        past = [path for path in self.all() if _iteration(path) <= _iteration(saved)]
        kept = set(past[-self.keep :]) | set(_by_score(past)[-1:])
        for path in self.all():
            if path not in kept:
                dropped = self.folder / f"{_DROPPED}{path.name}_{secrets.token_hex(8)}"
                try:
                    os.rename(path, dropped)  # a folder that is half deleted must not look like a checkpoint
                    _remove(dropped)
                except OSError as error:  # the new checkpoint is saved: no reason to end the training
                    warnings.warn(f"the old checkpoint {path} cannot be removed: {error.strerror}", stacklevel=4)


def read_metadata(path: Path) -> CheckpointMetadata:
    """What ``state.json`` in the checkpoint ``path`` says; the tensors are not looked at."""
    path = Path(path)
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise _bad(path, "it is a symbolic link" if path.is_symlink() else "it is no folder")
        data = read_json(path / STATE)
    except OSError as error:
        raise _bad(path, f"{STATE} cannot be read ({error.strerror})") from None
    except InputError:
        raise
    except ValueError:
        raise _bad(path, f"{STATE} is no whole JSON document") from None
    version = data.get("format") if isinstance(data, dict) else None
    if type(version) is int and version > FORMAT:
        raise NewerFormatError(f"checkpoint {path} has format {short_repr(version)}, and this version of worldloom reads up to {FORMAT}: update worldloom to use it")
    try:
        file, state, score = data["tensors"], data["state"], data["score"]
        counts = (version, data["iteration"], data["steps"], file["bytes"])
        if not all(is_count(value) for value in counts) or version == 0 or not isinstance(state, dict) or not isinstance(file["sha256"], str):
            raise ValueError
        known = None if score is None else as_float(score)
        if known is not None and math.isnan(known):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise _bad(path, f"{STATE} lacks what every checkpoint has") from None
    name = path.name.removeprefix(_REPLACED)
    if _NAME.fullmatch(name) and _iteration(path) != data["iteration"]:
        raise _bad(path, f"{STATE} is that of iteration {data['iteration']}")
    return CheckpointMetadata(data["iteration"], data["steps"], known, state, file["bytes"], file["sha256"])


def verify_checkpoint(path: Path) -> CheckpointMetadata:
    """InputError unless the checkpoint ``path`` is as it was written; otherwise its note."""
    note = read_metadata(path)
    try:
        size, digest = _digest(Path(path) / TENSORS)
    except OSError as error:
        raise _bad(path, f"{TENSORS} cannot be read ({error.strerror})") from None
    if size != note.bytes:
        raise _bad(path, f"{TENSORS} has {size:,} bytes instead of {note.bytes:,}")
    if digest != note.sha256:
        raise _bad(path, f"{TENSORS} was altered")
    return note


_CHOOSE_ANOTHER = ": take another one"


def _bad(path: Path, problem: str) -> InputError:
    return InputError(f"checkpoint {path} cannot be used, since {problem}{_CHOOSE_ANOTHER}")


def _write_error(target: Path, error: Exception, needed: int) -> InputError:
    """What to say where a checkpoint cannot be written, most often since the disk is full."""
    reason = (error.strerror if isinstance(error, OSError) else None) or _one_line(error)
    free = disk_space_text(target.parent, needed)
    return InputError(f"checkpoint {target} cannot be written ({reason}): {free}; the checkpoints before it are kept: make room, and go on with --resume")


def _one_line(error: Exception) -> str:
    """What an error of another library says, on one line of bounded length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:197]}..."


def _remove(path: Path) -> None:
    """Remove a folder and all in it, or a file. Links in it are removed themselves, not what they point to."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    else:
        shutil.rmtree(path)


def _first_intact(paths: Iterable[Path]) -> Path | None:
    for path in paths:
        try:
            verify_checkpoint(path)
            return path
        except InputError as error:
            warnings.warn(f"passed over: {error}", stacklevel=3)
    return None


def _by_score(paths: Iterable[Path]) -> list[Path]:
    """Those of ``paths`` that have a score, the best last, and the later one of two equals after the other."""
    scored: list[tuple[float, int, Path]] = []
    for path in paths:
        try:
            score = read_metadata(path).score
        except InputError:
            continue  # it has no score that could be trusted
        if score is not None:
            scored.append((score, _iteration(path), path))
    return [path for *_, path in sorted(scored)]


def _iteration(path: Path) -> int:
    return int(path.name.removeprefix(_REPLACED).removeprefix("iteration_"))


def _unshared(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
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
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the state of a checkpoint must be what JSON can hold: {error}") from None


def _digest(path: Path) -> tuple[int, str]:
    """Size and SHA-256 of a file, read piece by piece."""
    size, digest = 0, hashlib.sha256()
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        while piece := file.read(_CHUNK):
            size += len(piece)
            digest.update(piece)
    return size, digest.hexdigest()
