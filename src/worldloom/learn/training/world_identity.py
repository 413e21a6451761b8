"""The identity of the world that a training uses: its rules, its configuration, and the versions of what it is made of.

Every checkpoint holds it. A training is resumed, and a policy is played, where the rules are the same: otherwise an
error names the difference.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from worldloom.core.base.arrays import check_flags
from worldloom.core.base.errors import InputError
from worldloom.core.base.paths import printable_path
from worldloom.core.model.fields import Role
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.rules import MAX_TEXT, differences, joined
from worldloom.core.simulation import Simulation

FORMAT = 1
"""Version of the parts of a world's rules. Rules of another one are compared by the hash of the definition."""
KEY = "world"
"""The name of the identity in the state of a checkpoint, and in the file of an experiment."""
ALLOW = "--allow-changed-world"
MAX_STEPS = "World.max_steps"
"""The configuration whose default is the definition's ``max_steps``."""
_MAX_PARTS, _MAX_NAME = 100_000, 1000
_PACKAGE = Path(__file__).parents[2]


class ChangedWorldError(InputError):
    """The world is not the one of the run."""


@dataclass(frozen=True)
class WorldIdentity:
    """What a training depends on besides its settings.

    Attributes:
        id: The world's id.
        hash: The hash of its definition.
        rules: Its rules by part, see :class:`~worldloom.core.registry.rules.Rules`.
        config: The values of its configuration at the start of the training, as text.
        files: The SHA-256 of every file with its rules, by the file's name, for the record.
        versions: The versions of worldloom and of the libraries that compute its steps.
        format: Version of the parts of the rules.
    """

    id: str
    hash: str
    rules: Mapping[str, str]
    config: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT

    def as_dict(self) -> dict[str, Any]:
        """Its values for JSON."""
        return asdict(self)


def identity_of(world: Simulation | Definition) -> WorldIdentity:
    """The identity of a world; of a simulation with its present configuration."""
    simulation = world if isinstance(world, Simulation) else None
    definition = world if isinstance(world, Definition) else world.definition
    config = {} if simulation is None else _configuration(simulation)
    return WorldIdentity(
        definition.id, definition.hash, definition.rules.parts, config, _files(definition), library_versions()
    )


def checked_identity(value: Any, where: str) -> WorldIdentity:
    """The identity that ``value``, from a file, describes; InputError, which names ``where``, where it is damaged."""
    names = ("rules", "config", "files", "versions")
    try:
        texts, tables = [value["id"], value["hash"]], [value[name] for name in names]
        parts = [text for table in tables for item in table.items() for text in item]
        sized = len(parts) <= _MAX_PARTS and all(len(text) <= _MAX_NAME for text in (*texts, *parts))
        if not sized or not all(isinstance(text, str) and text.isprintable() for text in (*texts, *parts)):
            raise ValueError
        if type(value["format"]) is not int:
            raise ValueError
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(
            f"the description of the world in {where} is damaged: use another checkpoint, or restore it from a copy"
        ) from None
    return WorldIdentity(**{name: value[name] for name in ("id", "hash", *names, "format")})


def changes(saved: WorldIdentity, definition: Definition, config: Mapping[str, str] | None = None) -> list[str]:
    """What has changed in a world since ``saved``, in words; empty where nothing has that computes other results.

    Args:
        saved: The identity of the run.
        definition: The world now.
        config: Its configuration now; None where it may be another one.
    """
    if saved.id != definition.id:
        return [f"the id ('{saved.id}', now '{definition.id}')"]
    changed = {name: new for name, new in (config or {}).items() if saved.config.get(name, new) != new}
    values = [
        f"the configuration `{name.removeprefix('World.')}` ({saved.config[name]}, now {new})"
        for name, new in changed.items()
    ]
    if definition.accepts_hash(saved.hash) and saved.hash != definition.hash:
        return values  # a version with the same results
    if saved.format != FORMAT:
        return values if saved.hash == definition.hash else ["the definition", *values]
    defaults = {*(f"component {name}" for name in changed), "max_steps" if MAX_STEPS in changed else ""}
    old, new = (
        {k: v for k, v in rules.items() if k not in defaults} for rules in (saved.rules, definition.rules.parts)
    )
    return [*values, *differences(old, new)]


def changed_sentence(changed: list[str], saved: WorldIdentity, definition: Definition, since: str) -> str:
    """``changed`` as a sentence without its end, with the versions of libraries that changed too."""
    now = library_versions()
    libraries = [f"{name} {old}, now {now[name]}" for name, old in saved.versions.items() if now.get(name, old) != old]
    with_libraries = f" (saved with {'; '.join(libraries)})" if libraries else ""
    file = f" in {definition.file}" if _is_users(definition.file) else ""
    verb = "has" if len(changed) == 1 else "have"
    return f"{joined(changed)} of world '{definition.id}'{file} {verb} changed since {since}{with_libraries}"


def require_same_world(
    saved: Any,
    definition: Definition,
    where: str,
    *,
    since: str,
    config: Mapping[str, str] | None = None,
    allow: bool = False,
    fix: str = f"undo the change, or go on with {ALLOW} (in Python allow_changed_world=True)",
) -> list[str]:
    """ChangedWorldError where a world is not the one of a run, unless that is allowed; then a warning.

    Args:
        saved: The identity as the run's file holds it; None where an earlier version of worldloom wrote it.
        definition: The world.
        where: The file, for messages.
        since: What happened with the saved world, such as ``this run was trained``.
        config: Its configuration; None where it may be another one.
        allow: Go on with a warning.
        fix: What to do, for the error.

    Returns:
        What has changed, in words.
    """
    check_flags(allow_changed_world=allow)
    if saved is None:
        warnings.warn(
            f"{where} does not say which rules world '{definition.id}' had, since an earlier version of worldloom "
            "wrote it: whether they have changed is not checked",
            stacklevel=3,
        )
        return []
    identity = checked_identity(saved, where)
    changed = changes(identity, definition, config)
    if changed:
        sentence = changed_sentence(changed, identity, definition, since)
        if not allow:
            raise ChangedWorldError(f"{sentence}: {fix}")
        warnings.warn(f"{sentence}, which was allowed", stacklevel=3)
    return changed


def _configuration(simulation: Simulation) -> dict[str, str]:
    """The value of every configuration by ``Table.name``; the digest of several. Those of single worlds are left out.

    Worlds whose 64-bit numbers are 32-bit numbers on a GPU have 32-bit numbers here.
    """
    values: dict[str, str] = {}
    for table in simulation.tables.values():
        for column in table:
            if column.field.role is not Role.CONFIG or column.shape[0] != 1:
                continue
            array = np.asarray(column.numpy())
            if simulation.definition.cuda_float32 and array.dtype == np.float64:
                array = array.astype(np.float32)
            text = str(array.reshape(-1)[0]) if array.size == 1 else ""
            is_short = text and len(text) <= MAX_TEXT
            values[column.name] = text if is_short else hashlib.sha256(array.tobytes()).hexdigest()[:16]
    return values


def _files(definition: Definition) -> dict[str, str]:
    """The SHA-256 of the user's files with the world and its rules, by name; by path where two have one name."""
    files: dict[str, str] = {}
    for path in sorted(filter(_is_users, {definition.file, *definition.rules.files})):
        try:
            name = printable_path(Path(path).name)
            files[printable_path(path) if name in files else name] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError:  # it was removed, or typed at a prompt
            continue
    return files


def _is_users(path: str) -> bool:
    return bool(path) and _PACKAGE not in Path(path).parents


def library_versions() -> dict[str, str]:
    """The versions of worldloom and of the libraries in use that compute the steps of worlds."""
    modules = {name: sys.modules[name] for name in ("worldloom", "warp", "mujoco") if name in sys.modules}
    return {name: str(module.__version__) for name, module in modules.items()}
