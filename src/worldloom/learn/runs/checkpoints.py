"""The checkpoints of a run: saved atomically, pruned, and selected for resuming and evaluation.

A checkpoint is a folder ``iteration_00000012``. It is written under a hidden name in the same folder, flushed to disk,
and renamed. A process that is killed at any time leaves hidden leftovers at most, which the next writer removes.
"""

from __future__ import annotations

import os
import secrets
import shutil
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import safetensors
import torch

from worldloom.core.base.errors import InputError, StorageError
from worldloom.core.base.files import disk_space_text, fsync_path
from worldloom.learn.runs.checkpoint_files import (
    CHECKPOINT_NAME,
    REPLACED,
    USE_ANOTHER,
    Checkpoint,
    CheckpointMetadata,
    NewerFormatError,
    iteration_of,
    load_checkpoint,
    one_line,
    read_metadata,
    unshared,
    verify_checkpoint,
    write_checkpoint,
)

_WRITING, _DROPPED, _UNREADABLE = ".writing_", ".dropped_", "unreadable_"
_LEFTOVERS = (_WRITING, _DROPPED, REPLACED)


class Checkpoints:
    """The checkpoints of one run. Keeps the last ``keep`` and the best. Any process may read, one may write.

    Attributes:
        problems: Errors of the checkpoints that :meth:`latest` or :meth:`best` last found unusable.
    """

    def __init__(self, folder: Path, keep: int = 3) -> None:
        if keep < 1:
            raise InputError(f"at least one checkpoint must be kept, not {keep}")
        self.folder, self.keep = Path(folder), keep
        self.problems: list[str] = []
        self._leftovers_removed = False

    def save(
        self,
        tensors: dict[str, torch.Tensor],
        state: dict[str, Any],
        *,
        iteration: int,
        steps: int,
        score: float | None = None,
        evaluated: bool = False,
    ) -> Path:
        """Write a checkpoint, and remove those that are no longer needed, including all of later iterations.

        Args:
            tensors: By name, on any device. Tensors that share memory are written separately.
            state: Any value that JSON can hold; NaN and infinities too.
            iteration: Iterations done. A checkpoint of the same iteration is replaced.
            steps: Environment steps done.
            score: Higher is better; None or NaN never make the best.
            evaluated: Whether the score is that of an evaluation, and not of training episodes.
        """
        target = self.folder / f"iteration_{iteration:08d}"
        own = unshared(tensors)
        needed = sum(tensor.numel() * tensor.element_size() for tensor in own.values())
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self._leftovers_removed:
                self.remove_leftovers()
            writing = self.folder / f"{_WRITING}{target.name}_{secrets.token_hex(8)}"
            writing.mkdir()
            try:
                write_checkpoint(writing, own, state, iteration, steps, score, evaluated)
            except BaseException:
                shutil.rmtree(writing, ignore_errors=True)
                raise
            self._put(writing, target)
        except (OSError, safetensors.SafetensorError) as error:
            raise _write_error(target, error, needed) from None
        self._prune(target)
        return target

    def load(self, path: Path) -> Checkpoint:
        """The checkpoint in folder ``path``; InputError where a file is missing, truncated or altered."""
        return load_checkpoint(path)

    def all(self) -> list[Path]:
        """The folder of every checkpoint, oldest first; InputError where they cannot be listed."""
        return sorted((path for path in self._entries() if CHECKPOINT_NAME.fullmatch(path.name)), key=iteration_of)

    def latest(self) -> Path | None:
        """The last intact checkpoint; None where there is none. Warns about damaged ones that were skipped."""
        return self._first_intact(reversed(self.all()))

    def best(self) -> Path | None:
        """The intact checkpoint with the highest score, the later of two equals; None where none has a score.

        Scores of evaluations and of training episodes are not compared: those of the kind of the latest score count.
        """
        return self._first_intact(reversed(_by_score(self.all())))

    def best_score(self, evaluated: bool | None = None) -> float | None:
        """The highest score of any checkpoint; None where none has a score. The tensors are not checked.

        Args:
            evaluated: Whether it is a score of an evaluation, or of training episodes; None for the latest kind.
        """
        scored = [read_metadata(path) for path in _by_score(self.all())]
        scores = [metadata.score for metadata in scored if evaluated in (None, metadata.evaluated)]
        return scores[-1] if scores else None

    def find_resumable(self) -> tuple[Path | None, CheckpointMetadata | None]:
        """The last intact checkpoint and its metadata; None where none was ever saved. Changes nothing on disk.

        InputError where there are checkpoints and none can be read; where a later version of worldloom wrote one,
        which resuming would remove; and where a symbolic link has the name of a checkpoint.
        """
        self._refuse_links()
        problems: list[str] = []
        for path in sorted((*self.all(), *self._displaced()), key=iteration_of, reverse=True):
            try:
                metadata = verify_checkpoint(path)
            except NewerFormatError:
                raise
            except InputError as error:
                problems.append(str(error))
                continue
            _warn_skipped(problems, stacklevel=4)
            return path, metadata
        if problems:
            raise InputError(
                f"no checkpoint in {self.folder} can be read, so the run cannot be resumed and was not changed: "
                f"{first_problem(problems)}; restore one from a copy, or train in another folder"
            )
        return None, None

    def any_exist(self) -> bool:
        """Whether there is any checkpoint, intact or not."""
        return bool(self.all() or self._displaced())

    def remove_leftovers(self) -> None:
        """Remove what a killed writer left. Only the writing process may do so, once it has chosen its checkpoint."""
        self._refuse_links()
        self._leftovers_removed = True
        self.restore_replaced()
        for path in self._entries():
            if path.name.startswith(_LEFTOVERS):
                _remove(path)

    def restore_replaced(self) -> None:
        """Rename a checkpoint whose replacement was interrupted back to its name."""
        for path in self._displaced():
            os.rename(path, self.folder / path.name.removeprefix(REPLACED))

    def quarantine(self, later_than: int) -> None:
        """Rename the unreadable checkpoints after iteration ``later_than``, so that saving does not remove them."""
        for path in self.all():
            if iteration_of(path) > later_than:
                os.rename(path, self.folder / f"{_UNREADABLE}{path.name}_{secrets.token_hex(4)}")

    def _first_intact(self, paths: Iterable[Path]) -> Path | None:
        self.problems = []
        for path in paths:
            try:
                verify_checkpoint(path)
            except InputError as error:
                self.problems.append(str(error))
            else:
                _warn_skipped(self.problems, stacklevel=5)
                return path
        return None

    def _entries(self) -> list[Path]:
        try:
            return sorted(self.folder.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"the checkpoints in {self.folder} cannot be listed: {error.strerror}") from None

    def _displaced(self) -> list[Path]:
        """Checkpoints whose replacement was interrupted: the new one never got its name."""
        names = [path.name.removeprefix(REPLACED) for path in self._entries() if path.name.startswith(REPLACED)]
        return [
            self.folder / f"{REPLACED}{name}"
            for name in names
            if CHECKPOINT_NAME.fullmatch(name) and not os.path.lexists(self.folder / name)
        ]

    def _refuse_links(self) -> None:
        """InputError where the folder, or anything in it with the name of a checkpoint, is a symbolic link."""
        entries = self._entries()
        named = [p for p in entries if CHECKPOINT_NAME.fullmatch(p.name) or p.name.startswith(_LEFTOVERS)]
        for path in (self.folder, *named):
            if path.is_symlink():
                raise InputError(
                    f"{path} is a symbolic link, which a run's folder must not have: "
                    "replace it by what it points to, or remove it"
                )

    def _put(self, writing: Path, target: Path) -> None:
        """Rename the new folder to its final name."""
        replaced = self.folder / f"{REPLACED}{target.name}"
        if os.path.lexists(target):
            os.rename(target, replaced)  # after a kill here, the next writer renames it back
        os.rename(writing, target)
        fsync_path(self.folder)
        if os.path.lexists(replaced):
            _remove(replaced)

    def _prune(self, saved: Path) -> None:
        """Remove all checkpoints except the last ``keep`` and the best; later ones than ``saved`` too."""
        past = [path for path in self.all() if iteration_of(path) <= iteration_of(saved)]
        kept = set(past[-self.keep :]) | set(_by_score(past)[-1:])
        for path in self.all():
            if path not in kept:
                dropped = self.folder / f"{_DROPPED}{path.name}_{secrets.token_hex(8)}"
                try:
                    os.rename(path, dropped)  # a half-deleted folder must not look like a checkpoint
                    _remove(dropped)
                except OSError as error:  # the new checkpoint is saved: no reason to stop the training
                    warnings.warn(f"the old checkpoint {path} cannot be removed: {error.strerror}", stacklevel=4)


def choose_checkpoint(checkpoints: Checkpoints, checkpoint: str, folder: Path) -> Path:
    """The path of ``last``, ``best`` or a named checkpoint; InputError where there is none."""
    if checkpoint not in ("last", "best"):
        for path in (checkpoints.folder / checkpoint, Path(checkpoint).expanduser()):
            if path.is_dir():
                return path
        names = ", ".join(path.name for path in checkpoints.all()) or "none"
        raise InputError(
            f"there is no checkpoint '{checkpoint}' in {folder}: there are {names}; 'last' and 'best' name two of them"
        )
    chosen = checkpoints.latest() if checkpoint == "last" else checkpoints.best()
    if chosen is not None:
        return chosen
    if checkpoint == "best" and checkpoints.latest() is not None:
        raise InputError(f"{folder} has no checkpoint with a score: use the last one")
    if not checkpoints.problems:
        raise InputError(f"{folder} has no checkpoint yet")
    raise InputError(f"{folder} has no checkpoint that can be read: {first_problem(checkpoints.problems)}")


def first_problem(problems: list[str]) -> str:
    """The first of the errors of unusable checkpoints, and how many more there are."""
    more = f" (and {len(problems) - 1} more that cannot be read)" if len(problems) > 1 else ""
    return f"{problems[0].removesuffix(USE_ANOTHER)}{more}"


def _warn_skipped(problems: Iterable[str], stacklevel: int) -> None:
    for problem in problems:
        warnings.warn(f"skipped: {problem.removesuffix(USE_ANOTHER)}", stacklevel=stacklevel)


def _by_score(paths: Iterable[Path]) -> list[Path]:
    """Those of ``paths`` that have a score, the best last, the later of two equals after the other.

    Those whose score is of another kind than the latest one, evaluated or of training episodes, come first.
    """
    scored: list[tuple[bool, float, int, Path]] = []
    for path in paths:
        try:
            metadata = read_metadata(path)
        except InputError:
            continue  # it has no trustworthy score
        if metadata.score is not None:
            scored.append((metadata.evaluated, metadata.score, metadata.iteration, path))
    latest = max((iteration, evaluated) for evaluated, _, iteration, _ in scored)[1] if scored else False
    ordered = sorted(scored, key=lambda entry: (entry[0] == latest, *entry[1:]))
    return [path for *_, path in ordered]


def _write_error(target: Path, error: Exception, needed: int) -> StorageError:
    """The error for a checkpoint that cannot be written, most often because the disk is full."""
    reason = (error.strerror if isinstance(error, OSError) else None) or one_line(error)
    space = disk_space_text(target.parent, needed)
    has_others = any(CHECKPOINT_NAME.fullmatch(path.name) for path in target.parent.glob("*") if path != target)
    kept = "earlier checkpoints are kept: " if has_others else "there is no earlier checkpoint: "
    return StorageError(
        f"checkpoint {target} cannot be written ({reason}): {space}; {kept}make room, and continue with --resume"
    )


def _remove(path: Path) -> None:
    """Remove a file or a folder with its content. Symbolic links are removed, not followed."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    else:
        shutil.rmtree(path)
