"""One searched setting: a range of numbers, or a list of choices."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included.

    Attributes:
        name: The setting, such as ``learning_rate``, ``policy.hidden`` or ``Runner:gamma`` for one policy.
        low, high: The bounds.
        integer: Whether only whole numbers are meant.
        log: Whether the logarithm is uniform, not the number.
        step: Distance of the numbers from ``low`` on; 0 for any.
    """

    name: str
    low: float
    high: float
    integer: bool = False
    log: bool = False
    step: float = 0.0

    def sample(self, random: np.random.Generator) -> Any:
        """A number at random."""
        if self.log:
            return self.nearest(math.exp(random.uniform(math.log(self.low), math.log(self.high))))
        if self.integer or self.step:
            return self.nearest(self.low + (self.step or 1.0) * random.integers(0, self._steps(self.step or 1.0) + 1))
        return self.nearest(random.uniform(self.low, self.high))

    def _steps(self, unit: float) -> int:
        """How often ``unit`` fits into the range; a bound that is a multiple but for rounding is included."""
        return math.floor((self.high - self.low) / unit + 1e-9)

    def nearest(self, number: float) -> Any:
        """The number of the range that is nearest to ``number``."""
        number = min(max(number, self.low), self.high)
        if self.step:
            count = min(round((number - self.low) / self.step), self._steps(self.step))
            number = min(self.low + self.step * count, self.high)  # the last one may be rounded up
        return round(number) if self.integer else float(number)

    def perturbed(self, value: Any, factor: float, random: np.random.Generator) -> Any:
        """``value`` times ``factor``, within the range; a whole number changes by 1 or the step at least."""
        moved = self.nearest(value * factor)
        if moved == value and (self.integer or self.step):
            moved = self.nearest(value + math.copysign(self.step or 1.0, factor - 1.0))
        return moved

    def contains(self, value: Any) -> bool:
        """Whether ``value`` is a number of the range."""
        if type(value) is not (int if self.integer else float):
            return False
        on_grid = not self.step or abs(self.nearest(value) - value) <= 1e-9 * self.step
        return self.low <= value <= self.high and on_grid


@dataclass(frozen=True)
class Choices:
    """Any of a few values.

    Attributes:
        name: The setting, as in :class:`Range`.
        values: The values, as JSON has them: lists for tuples.
    """

    name: str
    values: tuple[Any, ...]

    def sample(self, random: np.random.Generator) -> Any:
        """A value at random."""
        return self.values[random.integers(len(self.values))]

    def perturbed(self, value: Any, factor: float, random: np.random.Generator) -> Any:
        """The next value of the list where ``factor`` is above 1, else the previous; the same one at the end."""
        index = self.values.index(value) + (1 if factor > 1.0 else -1)
        return self.values[min(max(index, 0), len(self.values) - 1)]

    def contains(self, value: Any) -> bool:
        """Whether ``value`` is one of the values."""
        try:
            return json.dumps(value) in self._texts
        except (TypeError, ValueError, RecursionError):  # no value of JSON
            return False

    @cached_property
    def _texts(self) -> frozenset[str]:
        """The values as JSON, which tells 1 from 1.0 and from true."""
        return frozenset(map(json.dumps, self.values))


Dimension = Range | Choices


def format_value(value: Any) -> str:
    """A value of a setting for people: four digits of a number, ``32x32`` for layers."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return "x".join(map(str, value)) or "none"
    return str(value)
