"""The benchmark of opponent pools runs end to end with small sizes."""

import json
import sys
from pathlib import Path

import pytest
from thorough import only_thorough

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import opponent_pool


@only_thorough  # a whole benchmark
def test_both_trainings_meet_in_a_matrix(tmp_path):
    pytest.importorskip("matplotlib")
    sizes = {"num_envs": 8, "num_steps": 10, "minibatches": 2, "epochs": 1, "total_steps": 320, "hidden": (8,)}
    pool = {"every": 1, "simultaneous": 1, "swap_every": 2, "margin": 5.0}
    settings = opponent_pool.Settings(
        "TagContinuous-v0", "cpu", seeds=(0,), episodes=2, out=tmp_path / "out", **sizes, **pool
    )
    report = opponent_pool.main(settings)
    saved = json.loads((tmp_path / "out" / "opponent_pool.json").read_text())
    assert saved["rows"] == report["rows"] and (tmp_path / "out" / "opponent_pool.png").is_file()
    assert report["runs"] == ["current-s0", "past-s0"] and set(report["elo"]) == {"past-s0"}
    means = report["mean_return_by_mode"]
    rows = [[cell["mean"] for cell in row] for row in report["rows"]]
    assert means["past"]["Tagger"] == pytest.approx(sum(rows[1]) / 2)
    columns = [[cell["mean"] for cell in row] for row in report["columns"]]
    assert means["past"]["Runner"] == pytest.approx((columns[0][1] + columns[1][1]) / 2)
