"""``worldloom eval``: its report, and its errors."""

import json
import shutil
from pathlib import Path

import pytest
from payloads import forget

from worldloom.cli.commands.eval import Eval
from worldloom.learn.config.train_config import TrainConfig

pytestmark = pytest.mark.usefixtures("without_curves")

FLOCK = Path(__file__).parent / "flock.py"


def test_json_holds_the_figures(worldloom, trained):
    code, out, _ = worldloom("eval", trained, "--episodes", "6", "--json")
    assert code == 0
    report = json.loads(out)
    assert (
        report["episodes"] == 6
        and report["env"] == "CartPole-v1"
        and report["algorithm"] == "ppo"
        and report["steps"] == 512
    )
    assert report["least_return"] <= report["mean_return"] <= report["greatest_return"]
    assert report["mean_return"] == report["mean_length"]  # CartPole gives 1 for each step
    assert report["returns"] == {"Cart": report["mean_return"]} and report["steps_per_second"] > 0


def test_a_seed_gives_the_same_episodes(worldloom, trained):
    def play(*more):
        found = json.loads(worldloom("eval", trained, "--episodes", "5", "--json", *more)[1])
        return {k: v for k, v in found.items() if k != "steps_per_second"}

    assert play("--seed", "1") == play("--seed", "1")
    assert play("--seed", "1", "--stochastic") == play("--seed", "1", "--stochastic")
    assert play("--seed", "1")["mean_return"] != play("--seed", "1", "--stochastic")["mean_return"]


def test_policies_of_dqn_act_at_random_as_often_as_they_are_told(worldloom, tmp_path):
    few = ("--algo", "dqn", "--device", "cpu", "--num-envs", "4", "--total-steps", "64", "--quiet", "--no-video")
    assert worldloom("train", "CartPole-v1", *few, "--run-dir", tmp_path / "run")[0] == 0

    def play(*more):
        return json.loads(worldloom("eval", tmp_path / "run", "--episodes", "5", "--json", *more)[1])["mean_return"]

    assert play() == play("--epsilon", "0") != play("--epsilon", "1")


def test_other_policies_do_not(worldloom, trained):
    code, _, err = worldloom("eval", trained, "--episodes", "3", "--epsilon", "0.5")
    assert (
        code == 2
        and "only policies of dqn have an epsilon" in err
        and "is of ppo: omit --epsilon" in " ".join(err.split())
    )


def test_another_configuration_than_in_the_training(worldloom, trained):
    def play(*more):
        return json.loads(worldloom("eval", trained, "--episodes", "3", "--json", *more)[1])["mean_length"]

    assert play("--config", "max_steps=4") == 4.0 < play()


def test_people_get_a_sentence(worldloom, trained):
    code, out, _ = worldloom("eval", trained, "--episodes", "3", "--checkpoint", "best")
    assert code == 0
    assert out.startswith("CartPole-v1 after 512 steps of ppo: mean return ") and "over 3 episodes" in out


def test_a_file_of_a_run_is_not_its_folder(worldloom, trained, tmp_path):
    code, _, err = worldloom("eval", trained / "config.json")
    assert code == 2 and f"config.json is a file of a run: name its folder, {trained}" in " ".join(err.split())
    (tmp_path / "note.txt").write_text("nothing")
    code, _, err = worldloom("eval", tmp_path / "note.txt")
    assert code == 2 and "note.txt is a file: name a run's folder" in " ".join(err.split())


def test_episodes_that_do_not_end_are_cut_off(worldloom, tmp_path, monkeypatch):
    monkeypatch.chdir(FLOCK.parent)
    few = ("--device", "cpu", "--num-envs", "4", "--total-steps", "128", "--quiet", "--no-video")
    run, endless = tmp_path / "run", ("--config", "max_steps=0")
    assert worldloom("train", "flock.py:Flock-v0", *few, *endless, "--run-dir", run)[0] == 0
    code, out, err = worldloom("eval", run, "--env", FLOCK, "--episodes", "3", "--max-steps", "40", "--json")
    report = json.loads(out)
    assert code == 0 and (report["mean_length"], report["cut_episodes"]) == (40, 3)
    assert "3 of 3 episodes were cut off after 40 steps, and count with the return so far" in " ".join(err.split())
    code, out, err = worldloom(
        "eval", run, run, "--cross-play", "--env", FLOCK, "--episodes", "1", "--max-steps", "9", "--json"
    )
    assert code == 0 and json.loads(out)["cut_episodes"] == 4 and "4 of 4 episodes were cut off after 9 steps" in err
    code, _, err = worldloom("eval", run, "--env", FLOCK, "--max-steps", "0")
    assert code == 2 and "--max-steps must be more than 0" in err
    assert Eval.max_steps == TrainConfig.eval_max_steps


def test_policies_of_one_world_are_told_apart_from_any_folder(worldloom, tmp_path, monkeypatch):
    monkeypatch.chdir(FLOCK.parent)
    run = tmp_path / "run"
    few = ("--device", "cpu", "--num-envs", "4", "--total-steps", "128", "--quiet", "--no-video")
    assert (
        worldloom(
            "train", "flock.py:Flock-v0", *few, "--policies", "a=Wolf;b=Sheep", "--config", "pace=3.0", "--run-dir", run
        )[0]
        == 0
    )
    monkeypatch.chdir(tmp_path)
    code, out, _ = worldloom("eval", run, "--env", FLOCK, "--episodes", "3", "--json")
    report = json.loads(out)
    assert code == 0 and set(report["returns"]) == {"a", "b"} and report["mean_length"] == 5
    assert (
        report["returns"]["a"] % 15.0 == 0.0
    )  # the greedy wolf always does the same, and the world is configured as in the training
    code, out, _ = worldloom("eval", run, "--env", f"{FLOCK}:Flock-v0", "--episodes", "3")
    assert "  a: " in out and "  b: " in out


@pytest.mark.parametrize("command", [("eval", "--episodes", "2"), ("play", "--video", "out.gif", "--max-frames", "3")])
def test_a_file_that_only_the_folder_names_is_not_run(worldloom, trained, tmp_path, monkeypatch, payload, command):
    monkeypatch.chdir(tmp_path)
    file, ran = payload
    shutil.copytree(trained, "run")
    config = json.loads(Path("run/config.json").read_text())
    for env in (f"{file}:Payload-v0", str(file), f"{file}:"):
        Path("run/config.json").write_text(json.dumps({**config, "env": env}))
        code, _, err = worldloom(command[0], "run", *command[1:])
        assert code == 2 and not ran.exists()
        assert f"the world of this run is in {file}, which is a program: say --env {file} to run it" in err
    Path("run/config.json").write_text(json.dumps({**config, "env": f"{file}:Other-v0"}))
    code, _, err = worldloom(command[0], "run", *command[1:], "--env", f"{file}:Payload-v0")
    assert code == 2 and "another world than that of the run, which is Other-v0" in err and not ran.exists()
    code, _, err = worldloom(command[0], "run", *command[1:], "--env", file)
    assert code == 2 and "registers no world 'Other-v0'" in err
    forget(file, ran)
    Path("run/config.json").write_text(json.dumps({**config, "env": "/elsewhere/pond.py:Payload-v0"}))
    code, _, err = worldloom(command[0], "run", *command[1:], "--env", file, "--allow-changed-world")
    assert code == 0 and ran.exists(), err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "nowhere holds no run: it has no config.json"),
        (["{run}", "--episodes", "0"], "--episodes must be more than 0"),
        (["{run}", "--checkpoint", "iteration_7"], "there is no checkpoint 'iteration_7'"),
        (["{run}", "--device", "cuda:77"], "cuda:77"),
        (["{run}", "--config", "wind"], "--config takes a name and a value, such as force=5.0"),
        (["{run}", "{run}", "--cross-play", "--config", "tau=0.1"], "--config is for the evaluation of one run"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(worldloom, trained, arguments, sentence):
    code, _, err = worldloom("eval", *(a.format(run=trained) for a in arguments))
    assert code == 2
    assert sentence in err
