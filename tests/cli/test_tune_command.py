"""``worldloom tune`` without a GPU; the search is tested elsewhere, the rest with a GPU."""

import json

import pytest


def test_the_cpu_has_nothing_to_tune(worldloom, monkeypatch):
    monkeypatch.delattr("worldloom.cli.commands.tune.Simulation")  # it is said before any is made
    code, out, _ = worldloom("tune", "CartPole-v1", "--device", "cpu", "--num-worlds", 4, "--warm-up", 1)
    assert code == 0
    assert out.startswith("There is nothing to tune on cpu: ")


def test_the_same_as_json(worldloom):
    code, out, _ = worldloom("tune", "CartPole-v1", "--device", "cpu", "--num-worlds", 4, "--warm-up", 1, "--json")
    report = json.loads(out)
    assert code == 0
    assert set(report) == {
        "env", "device", "num_worlds", "kernels", "seconds_before", "seconds_after", "gain", "note",
        "alternatives",
    }  # fmt: skip
    assert (report["device"], report["num_worlds"], report["kernels"]) == ("cpu", 4, [])
    assert report["seconds_before"] is report["seconds_after"] is report["gain"] is None


@pytest.mark.parametrize("flag", ["--num-worlds", "--warm-up"])
def test_tune_refuses_in_one_line(worldloom, flag):
    code, out, err = worldloom("tune", "CartPole-v1", flag, 0)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{flag} must be more than 0" in err
