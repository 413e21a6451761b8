"""The plain values of a saved training, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from worldloom.core.base.errors import InputError
from worldloom.learn.config.json_files import as_float, is_count
from worldloom.learn.device.torch_settings import MAX_THREADS

ValueT = TypeVar("ValueT")


class SavedState(NamedTuple):
    """The plain values of a saved training, see :meth:`Trainer.state`."""

    iteration: int
    steps: int
    seconds: float
    recent: dict[str, list[tuple[float, float, float]]]
    finished: dict[str, float]
    faults: float
    threads: int


def checked_state(plain: Mapping[str, Any]) -> SavedState:
    """The plain values of a saved training; InputError where a training cannot have saved them."""
    try:
        iteration, steps, seconds, faults, threads = (
            plain["iteration"],
            plain["steps"],
            as_float(plain["seconds"]),
            as_float(plain.get("faults", 0.0)),
            plain.get("threads", 0),  # earlier versions did not save it
        )
        if (
            not is_count(iteration)
            or not is_count(steps)
            or not is_count(threads)
            or threads > MAX_THREADS
            or not 0.0 <= seconds < math.inf
            or not 0.0 <= faults < math.inf
        ):
            raise ValueError
        recent = {str(name): [_episodes(entry) for entry in entries] for name, entries in plain["recent"].items()}
        finished = {str(name): as_float(count) for name, count in plain["finished"].items()}
        if not all(0.0 <= count < math.inf for count in finished.values()):
            raise ValueError
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(
            "the saved training lacks a value that every training saves, or has an impossible one: "
            "use another checkpoint"
        ) from None
    return SavedState(iteration, steps, seconds, recent, finished, faults, threads)


def _episodes(entry: Any) -> tuple[float, float, float]:
    """Count of the episodes that ended in one iteration, and the sums of their returns and lengths."""
    count, total, length = map(as_float, entry)
    if not 0.0 < count < math.inf:
        raise ValueError
    return count, total, length


def without_experience(tensors: Mapping[str, ValueT]) -> dict[str, ValueT]:
    """The tensors of a saved training without the state of the worlds and what was seen in them.

    That is replay buffers, rollouts and recurrent states. The other processes of a training save none of it either.
    """
    return {k: v for k, v in tensors.items() if not k.startswith(("worlds/", "window/")) and "/rows/" not in k}
