"""The result of one member of a population in one generation, and its form in ``population.json``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from worldloom.learn.config.json_files import as_float, is_count
from worldloom.learn.experiments.search.dimension import Dimension


@dataclass(frozen=True)
class MemberResult:
    """What a member did in a generation.

    Attributes:
        generation, member: Their numbers, from 0.
        source: The member whose weights it started with; itself where it continued.
        settings: The searched settings by name.
        score: The return at the end, evaluated where there are evaluations; None where there is none.
        steps: Environment steps at the end, since the start of the training.
        seconds: Training time at the end, of the member and those it descends from.
        error: Why it failed; empty where it did not.
    """

    generation: int
    member: int
    source: int
    settings: dict[str, Any]
    score: float | None
    steps: int
    seconds: float
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return asdict(self)


def checked_member(values: Any, space: Sequence[Dimension], population: int) -> MemberResult:
    """The result of :meth:`MemberResult.as_dict`; ValueError where ``values`` are not one."""
    try:
        result = MemberResult(**values)
        numbers = [as_float(result.seconds), *([] if result.score is None else [as_float(result.score)])]
        is_valid = (
            all(map(is_count, (result.generation, result.member, result.source, result.steps)))
            and max(result.member, result.source) < population
            and all(map(math.isfinite, numbers))
            and isinstance(result.error, str)
            and set(result.settings) == {dimension.name for dimension in space}
            and all(dimension.contains(result.settings[dimension.name]) for dimension in space)
        )
    except TypeError as error:
        raise ValueError(str(error)) from None
    if not is_valid:
        raise ValueError("a value is impossible")
    return result
