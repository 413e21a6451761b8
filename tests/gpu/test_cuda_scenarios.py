"""Scenes with a known outcome on a GPU: the short ones of docs/physics_accuracy.md."""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import physics_scenarios
from physics_lab.scenario import run

STEPS = 650
"""Of the longest of these scenes."""


def test_scenes_have_their_known_outcome() -> None:
    scenarios = [s for s in physics_scenarios.all_scenarios() if math.isfinite(s.tolerance) and s.steps <= STEPS]
    assert len(scenarios) > 20
    outcomes = run(scenarios, "cuda:0")
    assert [outcome for outcome in outcomes if not outcome.within] == []
