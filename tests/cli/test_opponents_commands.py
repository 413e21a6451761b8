"""``--opponent``, ``--self-play``, ``--set`` of ``worldloom train``, and ``worldloom eval --cross-play``."""

import json
import shutil
from pathlib import Path

import pytest
from runs_compared import assert_equal_runs

from worldloom.cli.commands import train_parser

pytestmark = pytest.mark.usefixtures("without_curves")

FLOCK = Path(__file__).parent / "flock.py"
FEW = [
    *("--num-envs", "8", "--num-steps", "4", "--minibatches", "2", "--epochs", "1", "--device", "cpu"),
    *("--quiet", "--no-video", "--policy.hidden", "8"),
]
TAG = "TagContinuous-v0"


@pytest.fixture(scope="module")
def tag_run(tmp_path_factory):
    """A short training of Tag."""
    from worldloom.cli.main import main

    folder = tmp_path_factory.mktemp("runs") / "first"
    assert main(["train", TAG, *FEW, "--total-steps", "64", "--run-dir", str(folder)]) == 0
    return folder


def test_flags_become_the_request(tmp_path):
    request = train_parser.parse(
        [
            *(TAG, "--opponent", "Tagger=some/run:best", "--self-play", "Runner", "--pool.share", "0.5"),
            *("--set", "Runner:learning_rate=1e-5", "--set", "Runner:policy.hidden=(16,16)"),
            *("--set", "Runner:policy.activation=relu"),
        ]
    ).request()
    assert request.opponents == {"Tagger": str(Path("some/run:best").absolute())}
    assert request.self_play == ("Runner",) and request.pool.share == 0.5
    own = request.config_of("Runner")
    assert (own.learning_rate, own.policy.hidden, own.policy.activation) == (1e-5, (16, 16), "relu")
    assert request.config_of("Tagger") == request.config


def test_a_run_with_an_opponent_and_a_pool_resumes_bit_for_bit(worldloom, tag_run, tmp_path):
    earlier, folder, straight = tmp_path / "earlier", tmp_path / "second", tmp_path / "straight"
    shutil.copytree(tag_run, earlier)
    flags = ["--self-play", "Runner", "--pool.every", "2", "--pool.swap-every", "1", "--set", "Runner:gamma=0.9"]
    new = ["train", TAG, *FEW, "--opponent", f"Tagger={earlier}", *flags, "--overlap", "--schedule", "constant"]
    assert worldloom(*new, "--total-steps", "160", "--run-dir", straight)[0] == 0
    code, _, err = worldloom(*new, "--total-steps", "96", "--run-dir", folder)
    assert code == 0, err
    shutil.rmtree(earlier)
    config = json.loads((folder / "config.json").read_text())
    assert config["self_play"] == ["Runner"] and config["pool"]["every"] == 2
    assert config["policy_settings"] == {"Runner": {"gamma": 0.9}} and list(config["opponents"]) == ["Tagger"]
    code, _, err = worldloom("train", "--resume", "--run-dir", folder, "--total-steps", "160", "--quiet", "--no-video")
    assert code == 0, err
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert_equal_runs(folder, straight)
    assert len(rows) == 5 and "elo/rating/Runner" in rows[-1] and rows[-1]["elo/pool/Runner"] is not None
    for flag in (["--pool.share", "0.5"], ["--self-play", "Tagger"], ["--set", "Runner:gamma=0.8"]):
        code, _, err = worldloom("train", "--resume", "--run-dir", folder, "--total-steps", "999", *flag)
        assert code != 0 and "does not fit the run" in err


def test_runs_without_them_are_recorded_as_before(tag_run):
    config = json.loads((tag_run / "config.json").read_text())
    assert not {"opponents", "self_play", "pool", "policy_settings"} & set(config)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--opponent", "Tagger"], "--opponent names each policy once with a run"),
        (["--opponent", "Tagger=nowhere"], "nowhere holds no run"),
        (["--opponent", "Taggr={run}"], "there is no policy 'Taggr' for --opponent: there are Tagger, Runner"),
        (["--opponent", "Tagger={run}/config.json"], "is a file of a run: name its folder, "),
        (["--set", "gamma=0.9"], "--set takes a policy, a setting and a value"),
        (["--self-play", "Ghost"], "there is no policy 'Ghost' for --self-play"),
    ],
)
def test_mistakes_are_explained(worldloom, tag_run, tmp_path, flags, sentence):
    flags = [flag.replace("{run}", str(tag_run)) for flag in flags]
    code, _, err = worldloom("train", TAG, *FEW, *flags, "--run-dir", tmp_path / "run")
    assert code != 0 and sentence in " ".join(err.split())
    assert not (tmp_path / "run" / "config.json").exists()


def test_cross_play_prints_a_matrix_and_draws_it(worldloom, tag_run, tmp_path):
    picture = tmp_path / "matrix.png"
    pytest.importorskip("matplotlib")
    play = ("eval", tag_run, tag_run, "--cross-play", "--episodes", "3", "--side", "Runner")
    code, out, err = worldloom(*play, "--plot", picture, "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["side"] == "Runner" and report["episodes"] == 3 and report["runs"] == [str(tag_run)] * 2
    assert len(report["rows"]) == 2 and len(report["columns"][1]) == 2
    assert report["rows"][0] == report["rows"][1]  # the same runs, from the same states
    assert picture.read_bytes().startswith(b"\x89PNG")
    code, out, _ = worldloom("eval", tag_run, "--cross-play", "--episodes", "2")
    assert code == 0 and "Tagger of the row's run" in out and "±" in out


def test_several_runs_need_cross_play(worldloom, tag_run):
    code, _, err = worldloom("eval", tag_run, tag_run)
    assert code != 0 and "several runs need --cross-play" in err
    code, _, err = worldloom("eval", tag_run, "--side", "Runner")
    assert code != 0 and "--side need --cross-play" in err


def test_settings_of_a_pool_need_past_selves(worldloom):
    code, _, err = worldloom("train", "CartPole-v1", "--pool.size", "3")
    assert code == 2
    assert "settings of a pool have no effect without past selves: add --self-play POLICY" in err
