"""Metric names are a file format: they are documented, and none is renamed or removed."""

import re
from pathlib import Path

import pytest

from worldloom.learn.algorithms.registry import ALGORITHMS
from worldloom.learn.opponents.self_play import ELO_METRICS
from worldloom.learn.training.iteration_reports import PHASES
from worldloom.learn.training.progress import METRICS, TIME_METRICS, Progress, tracked_scalars

PUBLISHED = {
    *("episode/return", "episode/length", "episode/count", "episode/faults", "eval/return", "eval/length"),
    *("loss/policy", "loss/value", "loss/entropy"),
    *("update/kl", "update/clip_fraction", "update/learning_rate", "update/explained_variance"),
    *("update/gradient_norm", "update/epsilon", "value/mean", "elo/rating", "elo/pool", "elo/score"),
    "update/temperature",
}
"""Names in run folders, TensorBoard and trackers of users. Add new ones; never change one."""
PUBLISHED_TIMES = {"time/steps_per_second", "time/share_roll-out", "time/share_update"}


def test_no_name_is_lost():
    assert set(METRICS) >= PUBLISHED and set(TIME_METRICS) >= PUBLISHED_TIMES


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_algorithms_report_names_of_the_list(algo):
    trainer = ALGORITHMS[algo][0]
    assert set(trainer.metric_names) <= set(METRICS) and set(ELO_METRICS) <= set(METRICS)


@pytest.mark.parametrize("name", [*METRICS, *TIME_METRICS])
def test_every_name_is_documented(name):
    text = (Path(__file__).parents[2] / "docs" / "learning.md").read_text(encoding="utf-8")
    table = text.split("## Metrics")[1].split("\n## ")[0]
    assert name in re.findall(r"`([^`]+)`", table)


def test_trackers_get_finite_metrics_and_times():
    metrics = {"episode/return": float("nan"), "loss/policy/Wolf": 0.5}
    progress = Progress(1, 10, 20, 1.0, 5.0, metrics, dict(zip(PHASES, (0.75, 0.25), strict=True)))
    times = {"time/steps_per_second": 5.0, "time/share_roll-out": 0.75, "time/share_update": 0.25}
    assert tracked_scalars(progress) == {"loss/policy/Wolf": 0.5, **times} and set(times) == set(TIME_METRICS)
