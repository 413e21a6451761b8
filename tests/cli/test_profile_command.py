"""``worldloom profile``: a table, JSON and a trace. No test depends on durations."""

import json
from pathlib import Path

import pytest

FAULTY = Path(__file__).parent / "faulty.py"


def test_profile_as_a_table(worldloom):
    code, out, _ = worldloom("profile", "CartPole-v1", "--num-worlds", 32, "--steps", 3)
    assert code == 0
    assert "swing(Cart)" in out
    assert "of bandwidth" in out


def test_bytes_of_populations_are_the_most_there_can_be(worldloom, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    sentence = "Bytes of Spark are counted as if every place were taken"
    assert sentence in worldloom("profile", FAULTY, "--num-worlds", 2, "--steps", 1, "--warm-up", 1)[1]
    assert sentence in worldloom("explain", FAULTY)[1]


def test_profile_as_json_with_a_trace(worldloom, tmp_path):
    code, out, _ = worldloom(
        "profile", "CartPole-v1", "--num-worlds", 32, "--steps", 3, "--json", "--trace", tmp_path / "trace.json"
    )
    report = json.loads(out)
    assert (code, report["env"], report["device"], report["num_worlds"], report["steps"]) == (
        0,
        "CartPole-v1",
        "cpu",
        32,
        3,
    )
    assert "swing(Cart)" in {system["name"] for system in report["systems"]}
    launches = [
        event for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if event["ph"] == "X"
    ]
    assert [event["args"]["step"] for event in launches] == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--trace", "no/such/trace.json"], "there is no folder no/such for --trace"),
        (["--device", "python", "--num-worlds", "2"], "interpreted systems are not timed"),
        (["--steps", "0"], "--steps must be more than 0"),
        (["--num-worlds", "0"], "--num-worlds must be more than 0"),
    ],
)
def test_profile_refuses_in_one_line(worldloom, arguments, message):
    code, out, err = worldloom("profile", "CartPole-v1", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
