"""The world of a training, and what changed in it where the training was resumed with another one."""

from __future__ import annotations

import warnings
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.config.json_files import is_count
from worldloom.learn.training.world_identity import identity_of, library_versions, require_same_world


class WorldHistory:
    """The identity of a training's world, for its checkpoints, and the log of the changes that were allowed.

    Args:
        simulation: The worlds, as the training starts in them.

    Attributes:
        identity: Their identity.
        changes: For each change that was allowed: the iteration and the steps before it, and what changed, in words.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._definition = simulation.definition
        self.identity = identity_of(simulation)
        self.changes: list[dict[str, Any]] = []

    def as_dict(self) -> dict[str, Any]:
        """Its values for JSON."""
        return {**self.identity.as_dict(), "changes": list(self.changes)}

    def resume(self, saved: Any, iteration: int, steps: int, allow: bool) -> bool:
        """Whether the world differs from that of the training that saved ``saved``; see :func:`require_same_world`.

        Args:
            saved: What :meth:`as_dict` returned, from a file; None where an earlier version of worldloom wrote it.
            iteration, steps: Where the training continues.
            allow: Log a difference instead of raising ChangedWorldError.
        """
        changed = require_same_world(
            saved,
            self._definition,
            "the saved training",
            since="this run was trained",
            config=self.identity.config,
            allow=allow,
        )
        self.changes = [] if saved is None else checked_changes(saved.get("changes", []))
        if changed:
            self.changes.append({"iteration": iteration, "steps": steps, "changed": changed, "from": saved["hash"]})
        elif saved is not None:
            _note_version(saved["versions"].get("worldloom"))
        return bool(changed)


def _note_version(old: str | None) -> None:
    new = library_versions()["worldloom"]
    if old is not None and old != new:
        warnings.warn(
            f"this run was trained with worldloom {old}, and this is {new}: the rules of the world are the same, "
            "but results may differ in rounding",
            stacklevel=5,
        )


def checked_changes(saved: Any) -> list[dict[str, Any]]:
    """The log of a checkpoint or of an experiment; InputError where it is damaged."""
    try:
        for entry in saved:
            is_text = all(isinstance(text, str) for text in [*entry["changed"], entry["from"]])
            if not is_text or not all(is_count(entry.get(key, 0)) for key in ("iteration", "steps")):
                raise ValueError
        return list(saved)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("the log of changed rules in the saved training is damaged: use another checkpoint") from None
