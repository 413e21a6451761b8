"""``worldloom economy``: figures, totals, and constant policies in one table."""

import json

import pytest
from thorough import only_thorough

from worldloom.core.registry import registry
from worldloom.envs.covid import economy as module
from worldloom.envs.covid.data import load_synthetic
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.runs.training_run import TrainingRequest, run_training

pytest.importorskip("matplotlib")
SHORT = "CovidShort-v0"


@pytest.fixture(scope="module", autouse=True)
def short():
    """An economy of thirty days; it is compiled as the whole one is."""
    yield module.economy(load_synthetic(), SHORT, episode_length=30)
    registry._REGISTRY.pop(SHORT)


@pytest.fixture(scope="module")
def learned(tmp_path_factory, short):
    """The folder of a short training."""
    folder = tmp_path_factory.mktemp("runs") / "learned"
    run_training(
        TrainingRequest(
            SHORT,
            "ppo",
            PPOConfig(num_envs=2, num_steps=10, minibatches=2, epochs=1, total_steps=20, device="cpu"),
            run_dir=folder,
        )
    )
    return folder


def test_a_run_is_drawn_against_what_happened(worldloom, learned, tmp_path):
    code, out, err = worldloom(
        "economy",
        learned,
        "--against",
        "real,constant",
        "--level",
        "3",
        "--states",
        "01,02",
        "--out",
        tmp_path / "out",
        "--json",
    )
    assert code == 0, err
    report = json.loads(out)
    assert list(report["totals"]) == ["learned (learned)", "made-up data", "level 3, subsidy 0"]
    assert (
        report["totals"]["made-up data"]["planner_welfare"] is None
        and report["totals"]["learned (learned)"]["days"] == 30
    )
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(report["files"])
    assert {"country.png", "stringency.png", "totals.json"} < set(report["files"])
    assert json.loads((tmp_path / "out" / "totals.json").read_text())["totals"] == report["totals"]
    assert "no tool for policy making" in err


@only_thorough  # test_covid_policies.py plays all constant policies
def test_a_run_stands_in_one_table_with_all_constant_policies(worldloom, learned, tmp_path):
    code, out, err = worldloom("economy", "sweep", "--against", learned, "--out", tmp_path)
    assert code == 0, err
    assert "the best of 231 constant policies" in " ".join(out.split()) and "learned (learned)" in out
    report = json.loads((tmp_path / "sweep.json").read_text())
    assert len(report["constant"]) == 231 and report["learned"][0]["label"] == "learned (learned)"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "'nowhere' is no folder of a run, and none of constant, real, decided, sweep"),
        (["constant", "--states", "XX"], "there is no state 'XX'"),
        (["constant", "--level", "12"], "a constant level must be between 0 and 10, not 12"),
        (["real", "--against", "sweep"], "a sweep has no history to draw"),
        (["constant", "--env", "CartPole-v1"], "world 'CartPole-v1' is no COVID-19 economy"),
    ],
)
def test_what_cannot_be_done_is_refused(worldloom, tmp_path, arguments, sentence):
    code, _, err = worldloom(
        "economy", *arguments, "--out", tmp_path, *(() if "--env" in arguments else ("--env", SHORT))
    )
    assert code == 2
    assert sentence in err
