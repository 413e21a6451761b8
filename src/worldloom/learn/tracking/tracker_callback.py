"""The common part of the trackers: when they record what, and which run they continue."""

from __future__ import annotations

import importlib.util
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

from worldloom.core.base.errors import InputError
from worldloom.learn.config.serialization import config_to_dict
from worldloom.learn.tracking.tracker_ids import read_tracker_ids, write_tracker_id
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress, tracked_scalars
from worldloom.learn.training.trainer import Trainer

PROJECT = "worldloom"
"""The default project."""


class TrackerCallback(Callback, ABC):
    """Sends the metrics of a training, and its settings, to a tracker. Only the leading process does so.

    Also a context manager, which marks the tracked run as failed where its body raises.

    Args:
        project: Project of the run; empty for that of the tracker's environment variable, or ``worldloom``.
        name: Name of the run; empty for the name of ``folder``.
        group: Name that several runs share, such as those of different seeds; empty for none.
        folder: The run's folder. It keeps the id of the tracked run, which a resumed training continues.
        every_s: Minimum number of seconds between two records; 0 for every iteration. The last one is always recorded.
        settings: Values to record beside the world, the algorithm and its settings.
    """

    tracker: ClassVar[str]
    """The tracker's name: that of its Python package and of the extra of worldloom."""

    def __init__(
        self,
        project: str = "",
        name: str = "",
        *,
        group: str = "",
        folder: Path | str | None = None,
        every_s: float = 1.0,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if importlib.util.find_spec(self.tracker) is None:
            raise InputError(
                f"{self.tracker} is not installed: pip install 'worldloom[{self.tracker}]' adds it, or omit it"
            )
        self.project, self.name, self.group = project, name, group
        self.every_s, self.settings = every_s, dict(settings or {})
        self.folder: Path | None = None
        if folder is not None:
            self.set_folder(Path(folder))
        self._pending: Progress | None = None
        self._recorded_at = 0.0
        self._is_open = False

    # -- to be implemented by a tracker --------------------------------------------------------------------------------

    @abstractmethod
    def _open(self, settings: dict[str, Any], id_: str | None) -> str:
        """Continue the run ``id_`` or, for None, start one. Returns its id."""

    @abstractmethod
    def _record(self, scalars: Mapping[str, float], steps: int) -> None:
        """Record numbers by name after ``steps`` environment steps."""

    @abstractmethod
    def _close(self, failed: bool) -> None:
        """End the run."""

    # -- callbacks -----------------------------------------------------------------------------------------------------

    def set_folder(self, folder: Path) -> None:
        """Set the run's folder, which may be known only after the callback is made."""
        self.folder = Path(folder).expanduser()

    def on_start(self, trainer: Trainer) -> None:
        if not trainer.ranks.is_leader:
            return
        known = {} if self.folder is None else read_tracker_ids(self.folder)
        id_ = self._open(self._settings(trainer), known.get(self.tracker))
        self._is_open = True
        if self.folder is not None:
            write_tracker_id(self.folder, self.tracker, id_)

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        if self._is_open:
            self._pending = progress
            if time.monotonic() - self._recorded_at >= self.every_s:
                self._record_pending()

    def on_end(self, trainer: Trainer) -> None:
        self.close()

    def close(self, failed: bool = False) -> None:
        """End the tracked run, if there is one."""
        if self._is_open:
            self._is_open = False
            self._record_pending()
            self._close(failed)

    def __enter__(self) -> TrackerCallback:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(failed=kind is not None)

    def _record_pending(self) -> None:
        progress, self._pending, self._recorded_at = self._pending, None, time.monotonic()
        if progress is not None:
            self._record(tracked_scalars(progress), progress.steps)

    def _run_name(self) -> str | None:
        return self.name or (None if self.folder is None else self.folder.name)

    def _settings(self, trainer: Trainer) -> dict[str, Any]:
        """The world, the algorithm and its settings, with those of the network under ``policy.``, in plain values."""
        config = config_to_dict(trainer.config)
        policy = config.pop("policy", {})
        return {
            "world": trainer.simulation.definition.id,
            "algorithm": type(trainer).__name__.lower(),
            **config,
            **{f"policy.{name}": value for name, value in policy.items()},
            **self.settings,
        }
