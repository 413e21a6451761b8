"""The benchmark of the step's overhead runs every interface, and writes its figures."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import step_overhead


@pytest.mark.usefixtures("quick_compilation")
def test_every_interface_is_timed_beside_the_simulation(tmp_path, capsys):
    settings = step_overhead.Settings("cpu", worlds=(3,), steps=5, rounds=2, out=tmp_path / "figures.json", json=True)
    step_overhead.main(settings)
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(settings.out.read_text())
    rows = printed["rows"]
    assert [row["call"] for row in rows[:2]] == ["Simulation.step", "gymnasium"] and rows[0]["ratio"] == 1.0
    assert len({(row["call"], row["actions"], row["copy"]) for row in rows}) == 1 + 8 + 2
    for row in rows:
        base = rows[0] if row["worlds"] == 3 else rows[-2]
        assert 0.0 < row["microseconds"] <= row["median"]
        assert row["ratio"] == pytest.approx(row["microseconds"] / base["microseconds"])
