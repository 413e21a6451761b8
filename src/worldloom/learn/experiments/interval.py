"""The mean of a few numbers, and its 95 % confidence interval by Student's t distribution."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

T_QUANTILES = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""The 0.975 quantiles of Student's t distribution with 1 to 30 degrees of freedom."""


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % confidence interval.

    Attributes:
        mean: The mean; NaN of no numbers.
        low, high: Bounds of the interval; NaN of fewer than two numbers.
        count: How many numbers there are.
    """

    mean: float
    low: float
    high: float
    count: int

    @property
    def half_width(self) -> float:
        return 0.5 * (self.high - self.low)


def t_quantile(degrees: int) -> float:
    """The 0.975 quantile of Student's t distribution with ``degrees`` degrees of freedom, to 0.003."""
    return T_QUANTILES[degrees - 1] if degrees <= len(T_QUANTILES) else 1.960 + 2.372 / degrees


def mean_interval(values: Iterable[float]) -> Interval:
    """The mean of the finite ``values`` with its interval: mean ± t · s / √n, s the sample standard deviation."""
    numbers = [value for value in values if math.isfinite(value)]
    count = len(numbers)
    if count == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = math.fsum(numbers) / count
    if count == 1:
        return Interval(mean, math.nan, math.nan, 1)
    variance = math.fsum((number - mean) ** 2 for number in numbers) / (count - 1)
    half = t_quantile(count - 1) * math.sqrt(variance / count)
    return Interval(mean, mean - half, mean + half, count)
