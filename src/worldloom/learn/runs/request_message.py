"""Requests of single trainings as messages of JSON values, for the processes and tasks of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from worldloom.learn.runs.training_request import TrainingRequest, request_from_dict, request_to_dict


def request_to_message(request: TrainingRequest, folder: Path) -> dict[str, Any]:
    """The message of a training in ``folder``, which continues the run that the folder may hold."""
    return {
        "request": request_to_dict(request),
        "folder": str(folder),
        "allow_changed_world": request.allow_changed_world,
        "expected_world": request.expected_world,
    }


def request_from_message(message: Mapping[str, Any]) -> TrainingRequest:
    """The request of a message of :func:`request_to_message`."""
    request = request_from_dict(message["request"], Path(message["folder"]), "auto")
    allow, expected = message.get("allow_changed_world", False), message.get("expected_world")
    return replace(request, allow_changed_world=allow, expected_world=expected)
