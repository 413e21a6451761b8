"""The benchmark of rollouts runs with few worlds, and compares every policy with the trainer."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import rollout


@pytest.mark.usefixtures("quick_compilation")
def test_rollouts_and_trainings_are_measured(tmp_path):
    settings = rollout.Settings("cpu", worlds=(4,), steps=3, seconds=0.05, iterations=2, out=tmp_path / "rollout.json")
    rollout.main(settings)
    rows = json.loads((tmp_path / "rollout.json").read_text())["rows"]
    policies = ["trainer", "parts", "fused", "layers"]
    assert [row["policy"] for row in rows] == [*policies, "steps", *policies]
    assert all(row["steps_per_second"] > 0.0 and row["worlds"] == 4 for row in rows)
    assert [row["of_trainer"] for row in rows if row["policy"] == "trainer"] == [1.0, 1.0]
