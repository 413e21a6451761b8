"""Means with confidence intervals."""

import math

import pytest

from worldloom.learn.experiments.interval import mean_interval, t_quantile


@pytest.mark.parametrize("degrees", [*range(1, 31), 31, 40, 100, 10_000])
def test_quantiles_are_those_of_the_t_distribution(degrees):
    stats = pytest.importorskip("scipy.stats")
    assert t_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), abs=3e-3)


def test_the_interval_of_five_numbers():
    interval = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert interval.mean == 3.0 and interval.count == 5
    assert interval.half_width == pytest.approx(2.776 * math.sqrt(2.5 / 5))
    assert interval.low == pytest.approx(3.0 - interval.half_width)


def test_numbers_that_are_not_finite_do_not_count():
    assert mean_interval([1.0, math.nan, 3.0]).mean == 2.0
    assert mean_interval([math.nan]).count == 0 and math.isnan(mean_interval([]).mean)


def test_one_number_has_no_interval():
    interval = mean_interval([7.0])
    assert interval.mean == 7.0 and math.isnan(interval.low) and math.isnan(interval.high)
