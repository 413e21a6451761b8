"""What can go wrong in a worker process, and the exception that reports it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worldloom.core.base.errors import WorldloomError


@dataclass(frozen=True)
class Fault:
    """What went wrong in one worker.

    Attributes:
        reason: ``raised``, ``ended`` (the process was killed or exited) or ``hung``.
        env_id: The environment that the worker was stepping or resetting; None if there was none.
        env_ids: All environments of that worker, which were reset.
        problem: One sentence.
        traceback: The worker's traceback, or an empty string.
    """

    reason: str
    env_id: int | None
    env_ids: tuple[int, ...]
    problem: str
    traceback: str = ""

    def __str__(self) -> str:
        return self.problem + (f"\n\n{self.traceback.rstrip()}" if self.traceback else "")


class WorkerError(WorldloomError):
    """A worker of a pool raised, exited or hung.

    Attributes:
        faults: What went wrong, one per worker.
        env_id: The environment of the first fault, if any.
    """

    def __init__(self, faults: Sequence[Fault], consequence: str) -> None:
        self.faults = tuple(faults)
        self.env_id = self.faults[0].env_id
        first, *others = self.faults
        super().__init__(
            "\n".join(
                [
                    f"{first.problem}; {consequence}",
                    *([f"\n{first.traceback.rstrip()}"] if first.traceback else []),
                    *map(str, others),
                ]
            )
        )


class WorkerAttributeError(WorkerError, AttributeError):
    """An attribute that the environments of a pool do not have."""


def describe_envs(env_ids: Sequence[int]) -> str:
    """Consecutive environments, in words."""
    return f"environment {env_ids[0]}" if len(env_ids) == 1 else f"environments {env_ids[0]} to {env_ids[-1]}"


def raised_fault(env_ids: tuple[int, ...], env_id: int, doing: str, text: str) -> Fault:
    """The fault of an environment that raised.

    Args:
        env_ids: All environments of its worker.
        env_id: The environment.
        doing: The operation, such as ``was stepped``.
        text: The traceback.
    """
    problem = f"environment {env_id} raised when it {doing}: {text.strip().splitlines()[-1]}"
    return Fault("raised", env_id, env_ids, problem, text)


def exited_fault(env_ids: tuple[int, ...], env_id: int | None, exit_description: str, when: str = "") -> Fault:
    """The fault of a worker whose process ended.

    Args:
        env_ids: All its environments.
        env_id: The environment that it worked on, if any.
        exit_description: The signal or exit code, in words.
        when: When it exited, in words that follow ``exit_description``.
    """
    when = when or ("" if env_id is None else f" while it worked on environment {env_id}")
    return Fault("ended", env_id, env_ids, f"the worker of {describe_envs(env_ids)} {exit_description}{when}")


def hung_fault(env_ids: tuple[int, ...], env_id: int | None, timeout: float, when: str = "") -> Fault:
    """The fault of a worker that did not respond within ``timeout`` seconds.

    Args:
        env_ids: All its environments.
        env_id: The environment that it worked on, if any.
        timeout: The limit in seconds.
        when: The operation, in words that follow the limit.
    """
    subject = f"the worker of {describe_envs(env_ids)}" if env_id is None else f"environment {env_id}"
    return Fault("hung", env_id, env_ids, f"{subject} did not respond within {timeout:g} s{when}")
