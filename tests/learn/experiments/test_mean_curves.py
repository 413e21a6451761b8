"""The mean learning curve of several runs."""

import json
import math

import pytest

from worldloom.learn.experiments.mean_curves import MAX_POINTS, mean_curve, mean_curves


def test_the_mean_covers_the_steps_that_all_runs_have():
    curve = mean_curve([([0.0, 10.0, 20.0], [0.0, 1.0, 2.0]), ([10.0, 20.0, 30.0], [3.0, 4.0, 5.0])])
    assert curve.x == [10.0, 20.0] and curve.mean == [2.0, 3.0]
    half = 12.706 * math.sqrt(2.0 / 2)  # s is sqrt(2)
    assert curve.high[0] - curve.mean[0] == pytest.approx(half) and curve.low[1] == pytest.approx(3.0 - half)


def test_points_between_those_of_a_run_are_interpolated():
    curve = mean_curve([([0.0, 4.0], [0.0, 8.0]), ([0.0, 1.0, 4.0], [0.0, 0.0, 0.0])])
    assert curve.x == [0.0, 1.0, 4.0] and curve.mean == [0.0, 1.0, 4.0]


def test_long_curves_have_fewer_points():
    x = [float(i) for i in range(5000)]
    curve = mean_curve([(x, x), (x, x)])
    assert len(curve.x) == MAX_POINTS and curve.x[-1] == 4999.0 and curve.mean == curve.x


def test_runs_without_common_steps_have_no_mean():
    assert mean_curve([([0.0, 1.0], [1.0, 1.0]), ([2.0, 3.0], [1.0, 1.0])]).x == []


def test_policies_and_runs_without_metrics(tmp_path):
    for name in ("one", "two", "empty"):
        (tmp_path / name).mkdir()
    rows = [{"iteration": i, "steps": 8 * i, "episode/return/Wolf": None if i == 1 else 2.0 * i} for i in (1, 2, 3)]
    for name in ("one", "two"):
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    curves = mean_curves([tmp_path / name for name in ("one", "two", "empty")])
    assert list(curves) == ["Wolf"] and curves["Wolf"].x == [16, 24] and curves["Wolf"].mean == [4.0, 6.0]
