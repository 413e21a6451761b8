"""Numbers, schedules and worlds in files on the command line, and a run with every option."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from payloads import forget
from runs_compared import FEW, SMALL, STEPS, ended

from worldloom.cli.commands.train_parser import parse
from worldloom.cli.training.console_callback import format_kernels
from worldloom.learn.runs.run_folder import read_config
from worldloom.learn.runs.training_request import request_to_dict

pytestmark = pytest.mark.usefixtures("without_curves")

FLOCK = Path(__file__).parent / "flock.py"


def test_a_run_finds_the_file_of_its_world_again(worldloom, tmp_path, payload):
    file, ran = payload
    run = tmp_path / "run"
    assert worldloom("train", file, *FEW, "--num-steps", "8", "--total-steps", "64", "--run-dir", run)[0] == 0
    for command in (
        ("eval", run, "--episodes", "2"),
        ("play", run, "--video", tmp_path / "out.gif", "--max-frames", "3"),
        ("train", "--resume", "--run-dir", run, "--total-steps", "128", "--quiet", "--no-video"),
    ):
        forget(file, ran)
        code, _, err = worldloom(*command)
        assert code == 0 and ran.exists(), err


@pytest.mark.parametrize(("text", "steps"), [("1e2", 100), ("2.5e2", 250), ("1_00", 100)])
def test_integers_may_have_exponents(worldloom, tmp_path, text, steps):
    code, _, _ = worldloom("train", "CartPole-v1", *FEW, "--total-steps", text, "--run-dir", tmp_path / "run")
    assert code == 0 and read_config(tmp_path / "run")["config"]["total_steps"] == steps


@pytest.mark.parametrize("text", ["1.5", "1e-3", "1e40", "many", "nan"])
def test_other_numbers_of_steps_are_refused(worldloom, text):
    code, out, err = worldloom("train", "CartPole-v1", "--total-steps", text)
    assert code == 2 and "is not a whole number" in " ".join((out + err).split())


def test_a_schedule_on_the_command_line_is_that_of_the_run(worldloom, tmp_path):
    common = ("CartPole-v1", *FEW, *SMALL["ppo"], "--entropy-weight", "0:0.5,1e3:0.05", "--run-dir", tmp_path / "run")
    assert worldloom("train", *common, "--total-steps", "128")[0] == 0
    assert read_config(tmp_path / "run")["config"]["entropy_weight"] == [[0, 0.5], [1000, 0.05]]
    again = ("--resume", "--run-dir", tmp_path / "run", "--total-steps", "256", "--quiet", "--no-video")
    code, _, err = worldloom("train", *again, "--entropy-weight", "0:0.5,1e3:0.06")
    assert code == 2 and "--entropy-weight 0:0.5,1000:0.06 does not fit the run" in err
    assert worldloom("train", *again)[0] == 0
    code, _, err = worldloom("train", "CartPole-v1", "--stop-at", "0:1,5:2")
    assert code == 2 and "--stop-at takes one number, not points" in err


ALL_OPTIONS = (
    *("--entropy-weight", "0:0.01,300:0.001", "--clip", "0:0.2,400:0.1", "--gamma", "0:0.9,500:0.99"),
    *("--normalize-values", "--reward-scale", "0.5", "--max-kl", "0.005", "--stagger", "--normalize-rewards"),
    *("--eval-every", "200", "--eval-episodes", "2"),
)


def test_a_run_with_all_of_it_resumes_bit_for_bit(worldloom, tmp_path):
    steps = STEPS["ppo"]
    common = ("CartPole-v1", *FEW, *SMALL["ppo"], *ALL_OPTIONS)
    assert worldloom("train", *common, "--total-steps", str(6 * steps), "--run-dir", tmp_path / "straight")[0] == 0
    run = tmp_path / "parts"
    code, out, _ = worldloom("train", *common, "--total-steps", str(4 * steps), "--run-dir", run, "--json")
    assert code == 0 and json.loads(out)["eval_return"] > 0.0 and json.loads(out)["unfinished_episodes"] > 0
    resumed = ("--resume", "--run-dir", run, "--total-steps", str(6 * steps), "--quiet", "--no-video")
    assert worldloom("train", *resumed)[0] == 0
    one, other = ended(run), ended(tmp_path / "straight")
    assert one[0].keys() == other[0].keys()
    assert all(torch.equal(tensor, other[0][name]) for name, tensor in one[0].items())
    assert one[1] == other[1]


def test_a_policy_has_a_schedule_of_its_own(worldloom, tmp_path):
    run, common = tmp_path / "run", ("--quiet", "--no-video")
    options = (*FEW, "--num-steps", "8", "--run-dir", run, "--set", "Wolf:entropy_weight=0:0.5,1e3:0.05")
    assert worldloom("train", f"{FLOCK}:Flock-v0", *options, "--total-steps", "64")[0] == 0
    assert read_config(run)["policy_settings"] == {"Wolf": {"entropy_weight": [[0, 0.5], [1000, 0.05]]}}
    again = ("train", f"{FLOCK}:Flock-v0", "--resume", "--run-dir", run, "--total-steps", "128", *common)
    assert worldloom(*again)[0] == 0
    code, _, err = worldloom("train", f"{FLOCK}:Flock-v0", *FEW, "--set", "Wolf:lam=0:0.5,1e3:2.0")
    assert code == 2 and "lam must lie between 0 and 1" in err


ECONOMY = ("CovidEconomySynthetic-v0", "--algo", "a2c")


@pytest.mark.parametrize(
    ("options", "planner"),
    [
        ((), {"entropy_weight": [[0, 0.5], [50_000_000, 0.05]]}),
        (("--set", "Planner:gamma=0.9"), {"entropy_weight": [[0, 0.5], [50_000_000, 0.05]], "gamma": 0.9}),
        (("--set", "Planner:entropy_weight=0.1"), {"entropy_weight": 0.1}),
        (("--entropy-weight", "0.2"), None),
        (("--policies", "all=Governor;rest=Planner"), None),
        (("--frozen", "Planner"), None),
    ],
)
def test_the_planner_of_the_economy_has_the_published_entropy_schedule(options, planner):
    request = parse([*ECONOMY, *options]).request()
    assert request.policy_settings == ({} if planner is None else {"Planner": planner})
    if not options:
        config = request.config_of("Planner")
        assert (config.entropy_weight.at(25_000_000), request.config.entropy_weight) == (pytest.approx(0.275), 0.05)


def test_runs_without_settings_of_single_policies_resume_without_them(tmp_path):
    """Those of earlier versions: their config.json holds all of their settings."""
    request = parse([*ECONOMY, "--run-dir", str(tmp_path)]).request()
    config = request_to_dict(replace(request, policy_settings={}))
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert parse(["--resume", "--run-dir", str(tmp_path)]).request().policy_settings == {}


@pytest.mark.parametrize(
    ("options", "kernels"),
    [
        ((), "native"),
        (("--max-kl", "0.01", "--normalize-values", "--max-gradient-norm", "0:0.5,64:0.1"), "native"),
        (("--no-native",), "PyTorch (native is off)"),
        (("--policy.memory", "gru"), "PyTorch (its network is recurrent)"),
    ],
)
def test_header_and_report_say_what_computes_the_policy(worldloom, tmp_path, options, kernels):
    loud = [word for word in FEW if word != "--quiet"]
    common = ("CartPole-v1", *loud, *SMALL["ppo"], "--total-steps", "64", "--json", "--run-dir", tmp_path / "run")
    code, out, err = worldloom("train", *common, *options)
    assert code == 0 and f", kernels {kernels}, folder" in err
    assert json.loads(out)["kernels"] == {"Cart": kernels}


def test_quiet_prints_warnings_and_the_result_only(worldloom, tmp_path):
    common = ("CartPole-v1", *FEW, *SMALL["ppo"], "--config", "max_steps=20")
    code, out, err = worldloom("train", *common, "--total-steps", "512", "--run-dir", tmp_path / "run")
    assert code == 0 and err == "" and out.startswith("CartPole-v1 with ppo: ")


def test_a_resumed_run_remembers_that_it_has_no_video(worldloom, tmp_path):
    run = tmp_path / "run"
    assert worldloom("train", "CartPole-v1", *FEW, *SMALL["ppo"], "--total-steps", "128", "--run-dir", run)[0] == 0
    assert read_config(run)["video"] is False
    code, out, _ = worldloom("train", "--resume", "--run-dir", run, "--total-steps", "256", "--quiet")
    assert code == 0 and "video.mp4" not in out and not (run / "video.mp4").exists()
    code, _, err = worldloom("eval", run, "--episodes", "1")
    assert code == 0, err


def test_a_resumed_run_may_be_evaluated_more_often(worldloom, tmp_path):
    steps, run, straight = STEPS["ppo"], tmp_path / "run", tmp_path / "straight"
    common = ("CartPole-v1", *FEW, *SMALL["ppo"])
    assert worldloom("train", *common, "--total-steps", str(4 * steps), "--run-dir", straight)[0] == 0
    assert worldloom("train", *common, "--total-steps", str(2 * steps), "--run-dir", run)[0] == 0
    again = ("--resume", "--run-dir", run, "--total-steps", str(4 * steps), "--quiet")
    code, out, err = worldloom("train", *again, "--eval-every", str(steps), "--eval-episodes", "2", "--json")
    assert code == 0 and json.loads(out)["eval_return"] > 0.0, err
    assert read_config(run)["config"]["eval_every"] == steps
    one, other = ended(run)[0], ended(straight)[0]
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    code, _, err = worldloom("train", *again, "--gamma", "0.5")
    assert code == 2 and "--gamma 0.5 does not fit the run" in err


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("policy.hidden=32", "'policy.hidden' cannot be 32: give a whole number for every layer, such as (64, 64)"),
        ("policy.hidden=(3.5,)", "'policy.hidden' cannot be [3.5]: give a whole number for every layer"),
        ("gamma=[1,2]", "'gamma' cannot be [1, 2]: give a number"),
        ("epochs=2.5", "'epochs' cannot be 2.5: give a whole number"),
        ("schedule=steep", "'schedule' cannot be 'steep': give one of constant, linear, kl"),
    ],
)
def test_a_wrong_value_of_one_policy_is_explained(worldloom, setting, sentence):
    code, _, err = worldloom("train", f"{FLOCK}:Flock-v0", *FEW, "--set", f"Wolf:{setting}")
    assert code == 2 and sentence in " ".join(err.split())


def test_self_play_with_dqn_is_explained(worldloom, tmp_path):
    code, _, err = worldloom(
        "train", f"{FLOCK}:Flock-v0", *FEW, "--algo", "dqn", "--self-play", "Wolf", "--run-dir", tmp_path / "run"
    )
    assert code == 2 and "train with ppo, a2c or vtrace, or omit its pool (--self-play)" in " ".join(err.split())


def test_kernels_of_several_policies_are_named():
    assert format_kernels({"a": "native", "b": "native"}) == "native"
    assert format_kernels({"a": "native", "b": "PyTorch (x)"}) == "native for a, PyTorch (x) for b"
