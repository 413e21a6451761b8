"""The table of operations: functions of a subject and a random generator, with how often they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldloom.testing.operations.subject import Subject

Generator = np.random.Generator
Apply = Callable[[Subject, Generator], Any]


@dataclass(frozen=True)
class Operation:
    """An operation.

    Attributes:
        apply: Applies it to a subject and returns what all subjects must return alike. All of them get a generator with
            the same seed.
        weight: How often it is drawn, relative to the others.
    """

    apply: Apply
    weight: float


OPERATIONS: dict[str, Operation] = {}
"""The operations, by name."""


def operation(weight: float) -> Callable[[Apply], Apply]:
    """Enter a function into :data:`OPERATIONS` under its name."""

    def enter(apply: Apply) -> Apply:
        OPERATIONS[apply.__name__] = Operation(apply, weight)
        return apply

    return enter


def some_worlds(subject: Subject, rng: Generator, count: int | None = None) -> list[int]:
    """Different worlds of a subject in random order: ``count`` of them, or one to all."""
    worlds = subject.simulation.num_worlds
    count = int(rng.integers(1, worlds + 1)) if count is None else min(count, worlds)
    return [int(world) for world in rng.permutation(worlds)[:count]]
