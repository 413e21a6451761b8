"""The result of one trial of a sweep, and its form in ``sweep.json``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from worldloom.learn.config.json_files import as_float, is_count
from worldloom.learn.experiments.search.dimension import Dimension

State = Literal["complete", "pruned", "failed"]


@dataclass(frozen=True)
class TrialResult:
    """The result of one trial.

    Attributes:
        number: Its number, from 0.
        settings: The searched settings by name.
        state: ``complete``; ``pruned``, stopped since it fell behind; or ``failed``.
        value: The objective, the mean over the seeds; None where there is none, as where a target was not reached.
        steps: Environment steps, summed over the seeds, at the end or where it was stopped.
        seconds: Training time, summed over the seeds.
        reports: The reported returns by the number of the report; those of the next seed have the next numbers.
        error: Why it failed; empty where it did not.
    """

    number: int
    settings: dict[str, Any]
    state: State
    value: float | None = None
    steps: int = 0
    seconds: float = 0.0
    reports: dict[int, float] = field(default_factory=dict)
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {**asdict(self), "reports": {str(index): value for index, value in self.reports.items()}}


def checked_result(values: Any, space: Sequence[Dimension]) -> TrialResult:
    """The result of :meth:`TrialResult.as_dict`; ValueError where ``values`` are not one of a sweep over ``space``."""
    try:
        reports = {int(index): as_float(value) for index, value in values["reports"].items()}
        result = TrialResult(**{**values, "reports": reports})
        numbers = [*reports.values(), as_float(result.seconds), *([] if result.value is None else [result.value])]
        is_valid = (
            is_count(result.number)
            and is_count(result.steps)
            and all(math.isfinite(as_float(number)) for number in numbers)
            and result.state in ("complete", "pruned", "failed")
            and isinstance(result.error, str)
            and set(result.settings) == {dimension.name for dimension in space}
            and all(dimension.contains(result.settings[dimension.name]) for dimension in space)
            and all(map(is_count, reports))
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(str(error)) from None
    if not is_valid:
        raise ValueError("a value is impossible")
    return result
