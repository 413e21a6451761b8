"""The comparison of ``--num-envs auto`` with a scan runs, and its calculations."""

import json
import sys
from pathlib import Path

import pytest
from thorough import THOROUGH

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import num_envs


def test_shares_are_those_of_the_median_rates():
    rates = num_envs.WorldRates("World-v0", [16, 8], [1.0, 2.0], {8: [9.0, 1.0, 5.0], 16: [10.0, 12.0]}, {})
    assert rates.medians() == {8: 5.0, 16: 11.0} and rates.shares() == [1.0, pytest.approx(5.0 / 11.0)]


@pytest.mark.usefixtures("quick_compilation")
@pytest.mark.parametrize("clock", ["cpu", "wall"] if THOROUGH else ["cpu"])  # wall: in processes of their own
def test_a_scan_and_a_search(tmp_path, capsys, clock, monkeypatch):
    monkeypatch.setattr("worldloom.learn.experiments.batch_rate.WINDOW_S", 0.001)
    settings = num_envs.Settings(
        "cpu", ("CartPole-v1",), sizes=(4, 8), rounds=2, clock=clock, set={"num_steps": 4, "epochs": 1},
        total_steps=64 * 4 * 30, out=tmp_path / "figures.json", json=True,
    )  # fmt: skip
    num_envs.main(settings)
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(settings.out.read_text())
    (world,) = printed["worlds"]
    assert world["chosen"] == [64, 64], "twice as many worlds would leave fewer than 20 iterations"
    assert set(world["rates"]) == {"4", "8", "64"} and all(len(values) == 2 for values in world["rates"].values())
    assert all(0.0 < share <= 1.0 for share in world["shares"])
