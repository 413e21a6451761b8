"""The mean learning curve of several runs of the same training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from worldloom.learn.experiments.interval import mean_interval
from worldloom.learn.runs.metrics_file import METRICS
from worldloom.learn.runs.run_folder import read_metrics
from worldloom.view.curve import RETURN, Points, series
from worldloom.view.mean_curve import MeanCurve

MAX_POINTS = 500
"""Maximum number of points of a mean curve."""


def mean_curves(folders: Sequence[Path]) -> dict[str, MeanCurve]:
    """The mean return over steps of the runs in ``folders``, by policy; runs without finished episodes do not count."""
    runs = [series(read_metrics(path), RETURN, "steps") for path in folders if (path / METRICS).is_file()]
    policies = dict.fromkeys(policy for points in runs for policy in points)
    return {policy: mean_curve([points[policy] for points in runs if policy in points]) for policy in policies}


def mean_curve(runs: Sequence[Points]) -> MeanCurve:
    """The mean of curves, interpolated linearly; it covers the steps that all of them do.

    Where they have no steps in common, it has no points.
    """
    first, last = max(x[0] for x, _ in runs), min(x[-1] for x, _ in runs)
    grid = np.unique([step for x, _ in runs for step in x if first <= step <= last])
    if len(grid) > MAX_POINTS:
        grid = grid[np.linspace(0, len(grid) - 1, MAX_POINTS).round().astype(int)]
    values = np.array([np.interp(grid, x, y) for x, y in runs])
    points = [mean_interval(column) for column in values.T]
    return MeanCurve(
        grid.tolist(), [p.mean for p in points], [p.low for p in points], [p.high for p in points], list(runs)
    )
