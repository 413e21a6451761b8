"""``worldloom train``: its flags, its output files, and resuming a run."""

import dataclasses
import inspect
import json
import re
import shutil
import typing
from pathlib import Path

import pytest
from payloads import forget
from runs_compared import FEW, SMALL, STEPS, assert_equal_runs

from worldloom.cli.commands import train_parser
from worldloom.cli.commands.train import Train
from worldloom.learn.algorithms.registry import ALGORITHMS
from worldloom.learn.config import tuned_defaults
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import read_config, read_metrics

FLOCK = Path(__file__).parent / "flock.py"


# -- flags -----------------------------------------------------------------------------------------------------------


def test_the_algorithms_are_those_there_are():
    assert typing.get_args(typing.get_type_hints(Train)["algo"]) == tuple(ALGORITHMS)


def docstring_of(config: type, field: str) -> str:
    """The docstring of a config's field, in one line."""
    match = re.search(rf'^    {field}: .*?"""(.*?)"""', inspect.getsource(config), re.MULTILINE | re.DOTALL)
    assert match is not None
    return " ".join(match[1].split())


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_help_shows_every_setting_of_the_algorithm(worldloom, monkeypatch, algo):
    monkeypatch.setenv("COLUMNS", "400")
    code, out, _ = worldloom("train", "--algo", algo, "--help")
    assert code == 0
    kind = ALGORITHMS[algo][1]
    for field in dataclasses.fields(kind):
        if field.name != "policy":
            assert f"--{field.name.replace('_', '-')}" in out
    words = " ".join(re.sub("[│]", " ", out).split())
    assert "--policy.hidden" in out and docstring_of(PolicyConfig, "hidden") in words
    assert docstring_of(TrainConfig, "num_envs") in words
    assert all(name in out for name in ALGORITHMS)


def test_tuned_settings_are_the_defaults(worldloom, monkeypatch):
    monkeypatch.setitem(
        tuned_defaults.TUNED_SETTINGS, ("CartPole-v1", "a2c"), {"num_envs": 77, "gamma": 0.913, "policy.hidden": (48,)}
    )
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = worldloom("train", "CartPole-v1", "--algo", "a2c", "--help")
    assert (
        "default: 77" in out
        and "0.913" in out
        and "default: 48" in out
        and "tuned for CartPole-v1" in out
        and " ENV" in out
    )
    command = train_parser.parse(["--run-dir", "CartPole-v1", "--algo=a2c", "CartPole-v1", "--gamma", "0.5"])
    assert (command.settings.num_envs, command.settings.gamma, command.settings.policy.hidden) == (77, 0.5, (48,))
    other = train_parser.parse(["--run-dir", "CartPole-v1", "--algo=a2c", "Acrobot-v1"])
    assert (
        train_parser.parse(["--run-dir", "/tmp/new", "CartPole-v1", "--algo=a2c"]).settings.num_envs == 77
    )  # no path of a ROM
    assert other.env == "Acrobot-v1" and other.settings.num_envs == ALGORITHMS["a2c"][1]().num_envs


def test_settings_are_flags():
    command = train_parser.parse(
        [
            "CartPole-v1",
            "--num-envs",
            "3",
            "--policy.hidden",
            "32",
            "8",
            "--policy.shared",
            "--stop-at",
            "9",
            "--resume",
            "auto",
        ]
    )
    request = command.request()
    assert (request.env, request.algorithm, request.stop_at, request.resume, request.run_dir) == (
        "CartPole-v1",
        "ppo",
        9.0,
        "auto",
        None,
    )
    assert (request.config.num_envs, request.config.policy.hidden, request.config.policy.shared) == (3, (32, 8), True)


def test_worlds_of_files_are_kept_by_their_path(monkeypatch):
    monkeypatch.chdir(FLOCK.parent)
    request = train_parser.parse(
        [
            "flock.py:Flock-v0",
            "--config",
            "pace=2.0",
            "--config",
            "max_steps=7",
            "--policies",
            "a=Wolf; b=Sheep[0:2],Sheep[2]",
            "--frozen",
            "b",
        ]
    ).request()
    assert request.env == f"{FLOCK}:Flock-v0"
    assert request.world_config == {"pace": 2.0, "max_steps": 7}
    assert request.policies == {"a": "Wolf", "b": "Sheep[0:2],Sheep[2]"}
    assert {name: team.train for name, team in request.policy_groups().items()} == {"a": True, "b": False}


def test_players_of_a_world_may_share_a_policy_unless_others_are_named():
    assert train_parser.parse(["TagGrid-v0", "--algo", "a2c"]).request().policies == {"players": "Tagger,Runner"}
    named = train_parser.parse(["TagGrid-v0", "--policies", "a=Tagger;b=Runner", "--frozen", "b"]).request()
    assert {name: team.train for name, team in named.policy_groups().items()} == {"a": True, "b": False}
    alone = train_parser.parse(["TagContinuousDemo-v0", "--frozen", "Runner"]).request()
    assert alone.policies == {} and {name: team.train for name, team in alone.policy_groups().items()} == {
        "Tagger": True,
        "Runner": False,
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name a world to train in"),
        (["CartPol-v1"], "did you mean CartPole-v1"),
        (["CartPole-v1", "--algo", "sarsa"], "there is no algorithm 'sarsa': there are ppo, a2c, vtrace, dqn"),
        (["CartPole-v1", "--num-envs", "0"], "num_envs must be 1 or more, not 0"),
        (["CartPole-v1", "--num-envs", "many"], "many"),
        (["CartPole-v1", "--number-of-envs", "3"], "--number-of-envs"),
        (["CartPole-v1", "--policy.hidden", "0"], "hidden must hold the units"),
        (["CartPole-v1", "--device", "cuda:77"], "cuda:77"),
        (["CartPole-v1", "--config", "force"], "--config takes a name and a value"),
        (["CartPole-v1", "--config", "farce=1.0", *FEW], "has no configuration 'farce'"),
        (["CartPole-v1", "--policies", "Cart"], "--policies names each policy once"),
        (["CartPole-v1", "--policies", "a=Dog", *FEW], "there are no agents 'Dog'"),
        (["CartPole-v1", "--frozen", "Dog", *FEW], "there is no policy 'Dog'"),
        (["CartPole-v1", "--checkpoint-every", "-1"], "checkpoint_every must be 0 or more"),
        (["CartPole-v1", "--keep", "0"], "keep must be 1 checkpoint or more"),
        (["CartPole-v1", "--resume"], "name the run to resume with --run-dir"),
        (["CartPole-v1", "--resume", "--run-dir", "nowhere"], "nowhere holds no run"),
        (["Pendulum-v1", "--algo", "dqn", *FEW], "DQN takes one choice among several: train with sac, td3 or ppo"),
        (["CartPole-v1", "--algo", "sac", *FEW], "SAC takes real numbers only: train with dqn or ppo"),
        (["nowhere.py"], "there is no file nowhere.py"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(worldloom, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    code, out, err = worldloom("train", *arguments)
    assert code == 2
    assert sentence in out + err
    assert not (tmp_path / "runs").exists()


# -- a whole training ------------------------------------------------------------------------------------------------


def test_a_training_leaves_everything(worldloom, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short = ("--config", "max_steps=100")  # so is the film
    code, out, err = worldloom(
        "train",
        "CartPole-v1",
        "--device",
        "cpu",
        "--num-envs",
        "16",
        "--total-steps",
        "2000",
        "--seed",
        "3",
        *short,
        "--json",
    )
    assert code == 0
    report = json.loads(out)
    folder = tmp_path / "runs" / "CartPole-v1-ppo-s3-1"
    assert tmp_path / report["folder"] == folder
    assert report["steps"] >= 2000 and report["complete"] and report["stopped_by"] is None
    assert report["steps_per_second"] > 0 and 9 < report["mean_return"] < 100
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG") and b"ftyp" in (
        folder / "video.mp4"
    ).read_bytes()[:12]
    assert read_metrics(folder)[-1]["steps"] == report["steps"]
    assert read_config(folder)["config"]["seed"] == 3
    assert any((folder / "events").iterdir())
    assert Checkpoints(folder / "checkpoints").latest() is not None
    assert "training CartPole-v1 with ppo" in err and "iteration 1, " in err


def test_people_are_told_how_it_went(worldloom, tmp_path):
    code, out, err = worldloom("train", "CartPole-v1", "--total-steps", "300", *FEW, "--run-dir", tmp_path / "run")
    assert code == 0
    assert (
        out.startswith("CartPole-v1 with ppo: return ")
        and f"worldloom eval {tmp_path / 'run'}" in out
        and "curve.png" in out
    )
    assert "video.mp4" not in out
    assert "iteration" not in err and "preparing" not in err  # quiet


def test_what_comes_first_is_told_before_anything_is_loaded(worldloom):
    code, _, err = worldloom("train", "CartPole-v2", "--total-steps", "300")
    assert code == 2 and err.index("preparing the training") < err.index("there is no world 'CartPole-v2'")


def test_what_cannot_be_drawn_is_told_and_left_out(worldloom, tmp_path):
    arguments = (
        f"{FLOCK}:Flock-v0",
        "--device",
        "cpu",
        "--num-envs",
        "4",
        "--total-steps",
        "128",
        "--run-dir",
        tmp_path / "run",
        "--json",
    )
    code, out, err = worldloom("train", *arguments)
    assert code == 0
    assert json.loads(out)["video"] is None and json.loads(out)["curve"].endswith("curve.png")
    assert "no video.mp4: world 'Flock-v0' has no renderer" in err


def test_it_ends_early_at_a_return(worldloom, without_curves, tmp_path):
    code, out, _ = worldloom(
        "train",
        "CartPole-v1",
        *FEW,
        "--total-steps",
        "1000000",
        "--stop-at",
        "12",
        "--run-dir",
        tmp_path / "run",
        "--json",
    )
    report = json.loads(out)
    assert code == 0 and not report["complete"] and report["mean_return"] >= 12 and report["stopped_by"] is None


# -- going on --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_run_goes_on_as_if_it_had_never_stopped(worldloom, without_curves, tmp_path, algo):
    world = "Pendulum-v1" if algo in ("sac", "td3") else "CartPole-v1"
    common = (world, "--algo", algo, *FEW, *SMALL[algo])
    if algo == "dqn":
        common = (
            *common,
            "--schedule",
            "constant",
            "--epsilon-fraction",
            "0",
        )  # both follow --total-steps, which stops it here
    four, eight = str(4 * STEPS[algo]), str(8 * STEPS[algo])
    assert worldloom("train", *common, "--total-steps", eight, "--run-dir", tmp_path / "straight")[0] == 0
    assert worldloom("train", *common, "--total-steps", four, "--run-dir", tmp_path / "parts")[0] == 0
    assert read_metrics(tmp_path / "parts")[-1]["iteration"] == 4
    assert (
        worldloom(
            "train", "--resume", "--run-dir", tmp_path / "parts", "--total-steps", eight, "--no-video", "--quiet"
        )[0]
        == 0
    )
    assert read_metrics(tmp_path / "parts")[-1]["iteration"] == 8
    assert read_config(tmp_path / "parts") == read_config(tmp_path / "straight")
    assert_equal_runs(tmp_path / "parts", tmp_path / "straight")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seed", "5"], "--seed 5 does not fit the run"),
        (["--algo", "a2c"], "--algo a2c does not fit the run"),
        (["--policy.hidden", "5"], "--policy.hidden (5,) does not fit the run"),
        (["Acrobot-v1"], "Acrobot-v1 is another world than that of the run, which is CartPole-v1"),
        (["--config", "force=5.0"], "--config force=5.0 does not fit the run in"),
        (["--frozen", "Cart"], "--frozen ('Cart',) does not fit the run"),
        ([], "has taken 512 steps: give more --total-steps"),
    ],
)
def test_a_run_keeps_its_settings(worldloom, trained, arguments, sentence):
    before = read_config(trained)
    code, _, err = worldloom("train", "--resume", "--run-dir", trained, *arguments)
    assert code == 2
    assert sentence in err
    assert read_config(trained) == before


def test_a_world_in_a_file_is_only_run_where_it_is_named(worldloom, without_curves, tmp_path, payload):
    file, ran = payload
    few = (*FEW, "--num-steps", "8")
    code, out, _ = worldloom("train", file, *few, "--total-steps", "64", "--run-dir", tmp_path / "run")
    assert code == 0 and f"worldloom eval {tmp_path / 'run'} --env {file}" in out
    again = ("--resume", "--run-dir", tmp_path / "run", "--total-steps", "128", "--quiet", "--no-video")
    forget(file, ran)
    copied = shutil.copytree(tmp_path / "run", tmp_path / "elsewhere")  # a folder that this user has not trained in
    code, _, err = worldloom("train", "--resume", "--run-dir", copied, *again[3:])
    assert code == 2 and not ran.exists()
    asked = f"worldloom train {file} --resume --run-dir {copied}"
    assert f"the world of this run is in {file}, which is a program: say {asked} to run it" in err
    assert worldloom("train", "CartPole-v1", *again)[0] == 2 and not ran.exists()
    moved = file.rename(file.with_name("moved.py"))
    code, _, err = worldloom("train", *again)
    asked = f"say worldloom train FILE --resume --run-dir {tmp_path / 'run'} with its new path"
    assert code == 2 and f"was in {file}, which is no longer there: {asked}" in err and not ran.exists()
    assert worldloom("train", moved, *again)[0] == 0 and ran.exists()
    assert read_metrics(tmp_path / "run")[-1]["iteration"] == 2
    assert read_config(tmp_path / "run")["env"] == f"{moved}:Payload-v0"


def test_of_a_file_with_several_worlds_the_run_knows_its_own(worldloom, without_curves, tmp_path):
    few = (*FEW, "--num-steps", "8", "--run-dir", tmp_path / "run")
    assert worldloom("train", f"{FLOCK}:Flock-v0", *few, "--total-steps", "64")[0] == 0
    assert worldloom("train", FLOCK, "--resume", *few, "--total-steps", "128")[0] == 0
    code, _, err = worldloom("train", f"{FLOCK}:FlockSeen-v0", "--resume", *few, "--total-steps", "192")
    assert code == 2 and "FlockSeen-v0 is another world than that of the run, which is Flock-v0" in err


def test_a_folder_is_not_used_twice(worldloom, trained):
    code, _, err = worldloom("train", "CartPole-v1", "--run-dir", trained, "--device", "cpu")
    assert code == 2
    assert "already holds a run: give --resume" in err


def test_auto_begins_where_there_is_no_run(worldloom, without_curves, tmp_path):
    code, _, _ = worldloom(
        "train", "CartPole-v1", *FEW, "--total-steps", "300", "--resume", "auto", "--run-dir", tmp_path / "run"
    )
    assert code == 0
    code, _, _ = worldloom(
        "train", "CartPole-v1", *FEW, "--total-steps", "300", "--resume", "auto", "--run-dir", tmp_path / "run"
    )
    assert code == 0  # there is nothing left to do
