"""Metrics in Weights & Biases."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from worldloom.core.base.errors import InputError
from worldloom.learn.tracking.tracker_callback import PROJECT, TrackerCallback

STEPS = "steps"
"""The metric that is the x axis of all others."""


class WandbCallback(TrackerCallback):
    """Sends the metrics of a training to Weights & Biases: ``trainer.learn(callbacks=[WandbCallback("pond")])``.

    Needs the extra ``wandb``. Environment variables of wandb apply, such as ``WANDB_MODE`` and ``WANDB_PROJECT``.
    ``worldloom train --track wandb`` adds it. See :class:`TrackerCallback` for the other arguments.

    Args:
        mode: ``online``, ``offline`` or ``disabled``; None for ``WANDB_MODE``, or online. Files of offline runs are in
            ``wandb`` in the run's folder, or else in the current one; ``wandb sync`` uploads them.
    """

    tracker = "wandb"

    def __init__(
        self,
        project: str = "",
        name: str = "",
        *,
        mode: Literal["online", "offline", "disabled"] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(project, name, **options)
        self.mode = mode
        self._run: Any = None

    def _open(self, settings: dict[str, Any], id_: str | None) -> str:
        import wandb

        project = self.project or os.environ.get("WANDB_PROJECT") or PROJECT
        is_offline = (self.mode or os.environ.get("WANDB_MODE")) == "offline"
        try:
            self._run = wandb.init(
                project=project,
                name=self._run_name(),
                group=self.group or None,
                config=settings,
                id=id_,
                resume=None if id_ is None or is_offline else "allow",  # offline parts are joined by wandb sync
                mode=self.mode,
                dir=None if self.folder is None else str(self.folder),
                settings=wandb.Settings(console="off", silent=True),
            )
        except (wandb.Error, OSError) as error:
            raise InputError(
                f"Weights & Biases cannot be used ({error}): run `wandb login`, or set WANDB_MODE=offline"
            ) from None
        self._run.define_metric(STEPS)
        self._run.define_metric("*", step_metric=STEPS)
        return str(self._run.id)

    def _record(self, scalars: Mapping[str, float], steps: int) -> None:
        self._run.log({STEPS: steps, **scalars})

    def _close(self, failed: bool) -> None:
        self._run.finish(exit_code=int(failed))
        self._run = None
