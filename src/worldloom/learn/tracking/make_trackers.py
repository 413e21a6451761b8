"""Trackers by name, for the command line."""

from __future__ import annotations

from collections.abc import Sequence

from worldloom.core.base.errors import InputError
from worldloom.learn.tracking.mlflow_callback import MlflowCallback
from worldloom.learn.tracking.tracker_callback import TrackerCallback
from worldloom.learn.tracking.wandb_callback import WandbCallback

TRACKER_CLASSES: dict[str, type[TrackerCallback]] = {kind.tracker: kind for kind in (WandbCallback, MlflowCallback)}
"""The class of each tracker, by its name."""


def make_trackers(names: Sequence[str], project: str = "", group: str = "") -> list[TrackerCallback]:
    """The trackers called ``names``; InputError where there is none of a name, or its package is missing."""
    unknown = [name for name in names if name not in TRACKER_CLASSES]
    if unknown:
        raise InputError(f"there is no tracker '{unknown[0]}': there are {', '.join(TRACKER_CLASSES)}")
    return [TRACKER_CLASSES[name](project, group=group) for name in dict.fromkeys(names)]
