"""The picture of a mean curve."""

import math

import pytest

from worldloom.view import MeanCurve, draw_mean_curves

pytest.importorskip("matplotlib")


def test_curves_of_policies_are_drawn(tmp_path):
    run = ([0.0, 10.0], [1.0, 2.0])
    curves = {
        "Wolf": MeanCurve([0.0, 10.0], [1.0, 2.0], [0.5, 1.5], [1.5, 2.5], [run, run]),
        "Sheep": MeanCurve([0.0, 10.0], [1.0, 2.0], [math.nan] * 2, [math.nan] * 2, [run]),
    }
    draw_mean_curves(curves, tmp_path / "curve.svg", "Meadow-v0 with ppo", "95 % confidence interval", 1.8)
    text = (tmp_path / "curve.svg").read_text()
    for words in ("Wolf", "Sheep", "Meadow-v0 with ppo", "95 % confidence interval", "solved at 1.8"):
        assert f"<!-- {words} -->" in text


def test_without_episodes_the_picture_says_so(tmp_path):
    draw_mean_curves({}, tmp_path / "curve.svg", "nothing", "95 % confidence interval")
    assert "<!-- no episode has ended -->" in (tmp_path / "curve.svg").read_text()
