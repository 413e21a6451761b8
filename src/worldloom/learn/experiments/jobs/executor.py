"""What runs the jobs of an experiment. A job is a message of JSON values, and so is its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from worldloom.learn.training.callbacks import Callback

Work = Callable[[Mapping[str, Any], Sequence[Callback]], dict[str, Any]]
"""A job: it gets its message and callbacks for its trainings, and returns its answer."""
Answers = list[tuple[int, dict[str, Any]]]
DIED = "died"
"""The name of the only value of the answer of a job whose process died: how it did, in words."""
MAX_RESTARTS = 3
"""How often a job whose process was killed, or whose machine is lost, starts again, from its last checkpoint."""


class Executor(ABC):
    """Runs jobs. Those that are stopped from outside answer that they were, or not at all."""

    @abstractmethod
    def is_free(self) -> bool:
        """Whether another job can start now."""

    @abstractmethod
    def is_busy(self) -> bool:
        """Whether a job is under way."""

    @abstractmethod
    def start(self, key: int, message: Mapping[str, Any]) -> None:
        """Start the job ``key``."""

    @abstractmethod
    def wait(self) -> Answers:
        """The answers of jobs that have ended, with their keys; empty after a short time in which none did."""

    def close(self) -> None:  # noqa: B027 - most have nothing to end
        """End the jobs that are under way, and free what they used."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class InTurn(Executor):
    """Runs jobs in this process, one after the other.

    Args:
        work: The job.
        callbacks: Callbacks of all trainings.
        is_stopped: Whether no further job is to start.
    """

    def __init__(
        self, work: Work, callbacks: Sequence[Callback] = (), is_stopped: Callable[[], bool] | None = None
    ) -> None:
        self._work, self._callbacks, self._is_stopped = work, callbacks, is_stopped
        self._next: tuple[int, Mapping[str, Any]] | None = None

    def is_free(self) -> bool:
        return self._next is None and (self._is_stopped is None or not self._is_stopped())

    def is_busy(self) -> bool:
        return self._next is not None

    def start(self, key: int, message: Mapping[str, Any]) -> None:
        self._next = key, message

    def wait(self) -> Answers:
        if self._next is None:
            return []
        (key, message), self._next = self._next, None
        return [(key, self._work(message, self._callbacks))]
