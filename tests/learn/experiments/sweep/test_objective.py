"""What a sweep optimizes, from rows of metrics."""

import math

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.sweep.objective import REPORTS, Objective, ReportTimes, Score

NONE = math.nan


def fed(score, returns, steps=10):
    for number, value in enumerate(returns, start=1):
        score.add(number * steps, number * 0.5, value, NONE)
    return score


def test_final_and_best():
    returns = [NONE, 1.0, 5.0, 3.0]
    assert fed(Score(Objective("final"), ReportTimes(40)), returns).value == 3.0
    assert fed(Score(Objective("best"), ReportTimes(40)), returns).value == 5.0
    assert fed(Score(Objective("final"), ReportTimes(40)), [NONE]).value is None


def test_steps_and_seconds_until_a_return():
    steps, seconds = (Score(Objective(name, 4.0), ReportTimes(40)) for name in ("steps", "seconds"))
    assert fed(steps, [1.0, 5.0, 3.0]).value == 20.0 and steps.over and steps.steps == 20
    assert fed(seconds, [1.0, 5.0, 3.0]).value == 1.0
    late = fed(Score(Objective("steps", 4.0), ReportTimes(40)), [1.0, 3.0])
    assert late.value is None and not late.over


def test_evaluations_count_where_there_are_any():
    score = Score(Objective("final"), ReportTimes(100, eval_every=40))
    for steps, evaluated in ((20, NONE), (40, 7.0), (60, NONE), (80, 8.0), (100, 9.0)):
        score.add(steps, 0.0, 1.0, evaluated)
    assert score.value == 9.0 and score.reports == {1: 7.0, 2: 8.0, 3: 9.0} and score.times.count == 3


def test_returns_are_reported_at_equal_fractions():
    score = fed(Score(Objective("final"), ReportTimes(1000)), [float(n) for n in range(1, 101)])
    assert list(score.reports) == list(range(1, REPORTS + 1))
    assert score.reports[1] == 5.0 and score.reports[REPORTS] == 100.0


def test_a_run_that_falls_behind_is_over_and_later_rows_do_not_count():
    score = Score(Objective("best"), ReportTimes(1000), is_behind=lambda index, value: index == 3)
    fed(score, [float(n) for n in range(1, 101)])
    assert score.pruned and score.over and score.steps == 150 and score.value == 15.0


def test_a_run_that_ends_at_a_score_is_over():
    score = fed(Score(Objective("final"), ReportTimes(1000), stop_at=7.0), [5.0, 7.5, 9.0])
    assert score.over and not score.pruned and score.value == 7.5


@pytest.mark.parametrize(
    ("name", "target", "message"),
    [
        ("steps", None, "--objective steps needs the return to reach: give --target"),
        ("final", 3.0, "--objective final has no return to reach: omit --target"),
        ("seconds", math.inf, "--target must be a finite return"),
    ],
)
def test_a_target_belongs_to_steps_and_seconds(name, target, message):
    with pytest.raises(InputError, match=message):
        Objective(name, target)
