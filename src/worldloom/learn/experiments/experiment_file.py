"""The JSON file of an experiment of several trainings, and its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from worldloom.core.base.errors import InputError, StorageError
from worldloom.core.base.files import reject_symlink, write_error
from worldloom.core.registry.world_files import file_and_id, find
from worldloom.learn.config.json_files import read_json, short_repr
from worldloom.learn.runs.known_worlds import remember_world
from worldloom.learn.runs.run_folder import locked, reject_link
from worldloom.learn.runs.training_request import TrainingRequest
from worldloom.learn.training.world_history import checked_changes
from worldloom.learn.training.world_identity import identity_of, require_same_world


def read_experiment(file: Path, format_: int, what: str) -> dict[str, Any]:
    """The values of an experiment's file; InputError, which names the file, where it is not one.

    Args:
        file: The file.
        format_: The latest version of its layout that is known.
        what: What writes such files, such as ``a sweep``.
    """
    reject_symlink(file)
    try:
        values = read_json(file)
    except FileNotFoundError:
        raise InputError(f"{file.parent} does not hold {what}: it has no {file.name}") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{file} is not a complete JSON document ({error}): restore it from a copy") from None
    if not isinstance(values, dict) or type(values.get("format")) is not int:
        raise InputError(f"{file} was not written by {what}: it has no format; restore it from a copy")
    if values["format"] > format_:
        raise InputError(
            f"{file} has format {short_repr(values['format'])}, and this version of worldloom reads up to {format_}: "
            "update worldloom to use it"
        )
    return values


def require_same(new: Mapping[str, Any], old: Mapping[str, Any], file: Path) -> None:
    """InputError where the values of an experiment differ from those of the one in ``file``, which is continued."""
    for name in new:
        if new[name] != old[name]:
            raise InputError(
                f"{name} is {short_repr(new[name])}, and {short_repr(old[name])} in {file}: "
                "give the same to continue, or use another folder"
            )


def continued_world(request: TrainingRequest, saved: Any, file: Path) -> dict[str, Any]:
    """The identity of the world in which an experiment is continued, for its file, with the changes that were allowed.

    ChangedWorldError where it is not ``saved``, the one that ``file`` holds, and the request does not allow that.
    """
    definition = find(request.env)
    since = f"the trainings in {file.parent} were started"
    changed = require_same_world(saved, definition, str(file), since=since, allow=request.allow_changed_world)
    log = [] if saved is None else checked_changes(saved.get("changes", []))
    if changed:
        log.append({"changed": changed, "from": saved["hash"]})
    return {**identity_of(definition).as_dict(), "changes": log}


def make_folder(path: Path, env: str) -> IO[str]:
    """Create the folder of an experiment, and record the file of its world for this user.

    Raises InputError where the folder of a run in it, or a log, is a symbolic link, before anything is written.

    Returns:
        The open file whose lock keeps other processes out, until it is closed.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from None
    try:
        lock = locked(path)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be used for an experiment ({error.strerror}): make it writable, or use another folder"
        ) from None
    try:
        for run in (*path.glob("seed_*"), *path.glob("trial_*"), *path.glob("member_*"), *path.glob("trial_*/seed_*")):
            reject_link(run)
    except InputError:
        lock.close()
        raise
    if world_file := file_and_id(env)[0]:
        remember_world(path, world_file)
    return lock
