"""``worldloom train --num-envs auto``: the number is measured once, and kept."""

import json

import pytest
from runs_compared import FEW, assert_equal_runs

from worldloom.cli.commands import train_parser
from worldloom.cli.training import auto_num_envs
from worldloom.learn.experiments.batch_rate import BatchRate
from worldloom.learn.experiments.num_envs_search import NumEnvsSearch
from worldloom.learn.runs.run_folder import read_config

pytestmark = pytest.mark.usefixtures("without_curves")
SHORT = ("CartPole-v1", "--device", "cpu", "--no-video", "--num-steps", "8", "--policy.hidden", "16")


@pytest.fixture
def measured(monkeypatch):
    """A machine on which 16 worlds are the fastest; returns the requests that were measured."""
    requests = []

    def search(request, on_rate):
        requests.append(request)
        rates = (BatchRate(8, 90.0, 64, 1 << 20), BatchRate(16, 100.0, 128, 2 << 20), BatchRate(32, problem="no room"))
        for rate in rates:
            on_rate(rate)
        return NumEnvsSearch(rates, "no room")

    monkeypatch.setattr(auto_num_envs, "search_num_envs", search)
    return requests


def test_the_fastest_number_is_trained_and_kept(worldloom, tmp_path, measured):
    run, alone = tmp_path / "run", tmp_path / "alone"
    code, _, err = worldloom("train", *SHORT, "--num-envs", "auto", "--total-steps", "256", "--run-dir", run)
    assert code == 0 and read_config(run)["config"]["num_envs"] == 16
    lines = [line.split() for line in err.splitlines()]
    assert ["16", "100", "100%", "2.0", "MiB", "fastest"] in lines and ["32", "no", "room"] in lines
    assert "the search ended there: no room" in err
    assert worldloom("train", *SHORT, "--num-envs", "16", "--total-steps", "256", "--run-dir", alone, "--quiet")[0] == 0
    assert_equal_runs(run, alone)
    again = ("--resume", "auto", "--num-envs", "auto", "--run-dir", run, "--total-steps", "512", "--quiet")
    code, _, err = worldloom("train", *again)
    assert code == 0, err
    assert len(measured) == 1 and read_config(run)["config"]["num_envs"] == 16


def test_the_report_holds_the_measurements(worldloom, tmp_path, measured):
    options = ("--num-envs=auto", "--total-steps", "256", "--quiet", "--json")
    code, out, err = worldloom("train", *SHORT, *options, "--run-dir", tmp_path / "run")
    report = json.loads(out)
    assert code == 0 and report["num_envs"] == 16 and "measuring" not in err
    search = report["num_envs_search"]
    assert search["chosen"] == 16 and search["end"] == "no room"
    assert [row["steps_per_second"] for row in search["measured"]] == [90.0, 100.0, None]
    code, out, _ = worldloom(
        "train", *SHORT, *options, "--seeds", "0:2", "--run-dir", tmp_path / "seeds", "--checkpoint-every", "0"
    )
    report = json.loads(out)
    assert code == 0 and report["num_envs"] == 16 and report["num_envs_search"]["chosen"] == 16
    assert len(measured) == 2, "once for all seeds"


def test_a_number_is_not_measured(worldloom, tmp_path, measured):
    code, out, _ = worldloom(
        "train", "CartPole-v1", *FEW, "--total-steps", "256", "--json", "--run-dir", tmp_path / "r"
    )
    assert code == 0 and json.loads(out)["num_envs_search"] is None and json.loads(out)["num_envs"] == 8
    assert measured == []


def test_what_cannot_be_measured_is_refused_first(worldloom, tmp_path, trained, measured, monkeypatch):
    code, _, err = worldloom("train", *SHORT, "--num-envs", "auto", "--run-dir", trained)
    assert code == 2 and "already holds a run" in " ".join(err.split())
    code, _, err = worldloom("train", *SHORT, "--num-envs", "auto", "--launcher", "ray")
    assert code == 2 and "give a number with --launcher ray" in " ".join(err.split())
    monkeypatch.setenv("WORLD_SIZE", "2")
    code, _, err = worldloom("train", *SHORT, "--num-envs", "auto")
    assert code == 2 and "give a number with torchrun" in " ".join(err.split())
    assert measured == []


def test_other_words_are_no_number(capsys):
    with pytest.raises(SystemExit):
        train_parser.parse(["CartPole-v1", "--num-envs", "many"])
    assert "not a whole number" in " ".join(capsys.readouterr().err.replace("│", " ").split())
