"""``worldloom train --seeds``: folders, table, curve, and resuming after a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs_compared import FEW, SMALL, assert_equal_runs
from thorough import only_thorough

from worldloom.cli.training import parallel_seeds
from worldloom.cli.training.parallel_seeds import train_side_by_side
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.experiments.jobs.core_shares import core_shares
from worldloom.learn.experiments.seed_folder import open_seed_folder, read_seed_folder
from worldloom.learn.runs import run_folder
from worldloom.learn.runs.run_folder import read_metrics
from worldloom.learn.runs.training_run import TrainingRequest

SHORT = ("CartPole-v1", *FEW, *SMALL["ppo"])


def opened(request, seeds):
    """The folder of seeds, no longer locked."""
    with open_seed_folder(request, seeds) as folder:
        return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of two finished seeds, and what the command printed."""
    from worldloom.cli.main import main

    folder = tmp_path_factory.mktemp("seeds") / "runs"
    assert main(["train", *SHORT, "--total-steps", "512", "--seeds", "0:2", "--run-dir", str(folder)]) == 0
    return folder


def test_every_seed_is_a_run_of_its_own(worldloom, finished, tmp_path):
    alone = tmp_path / "alone"
    assert worldloom("train", *SHORT, "--total-steps", "512", "--seed", "1", "--run-dir", alone)[0] == 0
    assert_equal_runs(alone, finished / "seed_1")
    assert (alone / "config.json").read_bytes() == (finished / "seed_1" / "config.json").read_bytes()
    assert worldloom("eval", finished / "seed_0", "--episodes", "2")[0] == 0


def test_the_curve_is_drawn(finished):
    assert (finished / "curve.png").stat().st_size > 10_000


def test_finished_seeds_are_kept_and_others_are_added(worldloom, finished):
    before = {seed: (finished / f"seed_{seed}" / "metrics.jsonl").stat().st_mtime_ns for seed in (0, 1)}
    code, out, _ = worldloom("train", "--resume", "--run-dir", finished, "--seeds", "0:3", "--quiet", "--json")
    report = json.loads(out)
    assert code == 0 and [run["seed"] for run in report["seeds"]] == [0, 1, 2] and report["complete"]
    assert before == {seed: (finished / f"seed_{seed}" / "metrics.jsonl").stat().st_mtime_ns for seed in (0, 1)}
    returns = [run["mean_return"] for run in report["seeds"]]
    assert report["mean_return"]["mean"] == pytest.approx(sum(returns) / 3) and report["mean_return"]["count"] == 3
    assert report["mean_return"]["low"] < report["mean_return"]["mean"] < report["mean_return"]["high"]
    assert report["curve"] == str(finished / "curve.png") and report["eval_return"]["mean"] is None


def test_the_table_has_a_row_for_every_seed(worldloom, finished):
    code, out, _ = worldloom("train", "--resume", "--run-dir", finished, "--quiet")
    lines = out.splitlines()
    results = read_seed_folder(finished).results
    for seed in (0, 1):
        assert any(line.split()[:2] == [str(seed), f"{results[seed].mean_return:.4g}"] for line in lines)
    assert code == 0 and "mean ± 95 %" in out and str(finished) in out.replace("\n", "")


def test_a_training_that_diverges_leaves_the_others_alone(worldloom, tmp_path, monkeypatch):
    from worldloom.learn.runs import training_run
    from worldloom.learn.training.divergence_check import DivergedError

    run_training = training_run.run_training

    def diverge_once(request, *arguments):
        if request.config.seed == 0:
            raise DivergedError(3, "the policy loss")
        return run_training(request, *arguments)

    monkeypatch.setattr(training_run, "run_training", diverge_once)
    command = ("train", *SHORT, "--total-steps", "128", "--run-dir", tmp_path / "runs")
    code, out, err = worldloom(*command, "--seeds", "0:2")
    assert code == 2 and "failed" in out and "seed 0: the policy loss is not finite in iteration 3" in err
    assert read_seed_folder(tmp_path / "runs").pending() == [0]
    monkeypatch.undo()
    assert worldloom("train", "--resume", "--run-dir", tmp_path / "runs", "--quiet")[0] == 0
    assert read_seed_folder(tmp_path / "runs").pending() == []


@only_thorough  # four processes that import PyTorch; killed sweeps and trainers are tested on their own
def test_seeds_side_by_side_survive_a_kill(worldloom, tmp_path):
    """The command is killed while two seeds are trained; resumed, all three equal uninterrupted runs."""
    folder, steps = tmp_path / "runs", ("--total-steps", str(128 * 200))
    command = [*SHORT, *steps, "--seeds", "0:3", "--checkpoint-every", "0.05", "--run-dir", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "-m", "worldloom", "train", *command, "--parallel-seeds", "2"], stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        if all(_iterations(folder / f"seed_{seed}") >= 3 for seed in (0, 1)):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert all(_iterations(folder / f"seed_{seed}") >= 3 for seed in (0, 1)), process.stderr.read().decode()
    assert read_seed_folder(folder).pending() == [0, 1, 2], "the test must kill the command before a seed is done"
    code, out, err = worldloom("train", "--resume", "--run-dir", folder, "--quiet", "--json")
    assert code == 0, err
    assert [run["steps"] for run in json.loads(out)["seeds"]] == [128 * 200] * 3
    alone = tmp_path / "alone"
    assert worldloom("train", *SHORT, *steps, "--seed", "0", "--run-dir", alone)[0] == 0
    assert_equal_runs(alone, folder / "seed_0")


def test_a_signal_is_passed_on_to_every_seed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(parallel_seeds, "WORKER", "patient_worker")
    config = PPOConfig(num_envs=8, total_steps=1000, device="cpu")
    folder = opened(TrainingRequest("CartPole-v1", "ppo", config, run_dir=tmp_path / "runs"), (0, 1, 2))

    def received():
        ready = all((tmp_path / "runs" / f"ready_{seed}").exists() for seed in (0, 1))
        return signal.SIGINT if ready else None

    train_side_by_side(folder, 2, {"names": []}, lambda progress: None, received)
    assert folder.pending() == [0, 1, 2]
    assert {seed: (r.steps, r.finished) for seed, r in folder.results.items()} == {0: (100, False), 1: (100, False)}


def test_a_seed_whose_process_is_killed_has_failed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(parallel_seeds, "WORKER", "patient_worker")
    config = PPOConfig(num_envs=8, total_steps=1000, device="cpu", gamma=0.0)  # which the worker takes as its cue
    folder = opened(TrainingRequest("CartPole-v1", "ppo", config, run_dir=tmp_path / "runs"), (0,))
    train_side_by_side(folder, 1, {"names": []}, lambda progress: None, lambda: None)
    assert "its process was killed by SIGKILL" in folder.results[0].error and "seed_0.log" in folder.results[0].error


def _iterations(folder):
    return len(read_metrics(folder)) if (folder / "metrics.jsonl").is_file() else 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seeds", "0:2", "--seed", "3"), "give one of the two"),
        (("--seeds", "two"), "--seeds is a list such as 0:5"),
        (("--seeds", "0:2", "--parallel-seeds", "0"), "--parallel-seeds must be 1 or more"),
        (("--seeds", "0:2", "--launcher", "ray"), "omit --launcher ray"),
    ],
)
def test_flags_that_do_not_fit_are_refused(worldloom, tmp_path, arguments, message):
    code, _, err = worldloom("train", *SHORT, "--run-dir", tmp_path / "runs", *arguments)
    assert code == 2 and message in " ".join(err.split()) and not (tmp_path / "runs").exists()


def test_a_folder_of_seeds_is_no_run(worldloom, finished):
    code, _, err = worldloom("eval", finished)
    assert code == 2 and "holds the runs of several seeds: name one of its folders seed_*" in " ".join(err.split())
    code, _, err = worldloom("train", "--resume", "--run-dir", finished / "seed_0", "--seeds", "0:2")
    assert code == 2 and "there are no seeds to resume" in " ".join(err.split())


def test_a_seed_is_not_trained_beside_its_launch(worldloom, tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "LOCK_WAIT_S", 0.0)
    config = PPOConfig(num_envs=8, total_steps=128, device="cpu")
    request = TrainingRequest("CartPole-v1", "ppo", config, run_dir=tmp_path / "runs")
    command = ("train", *SHORT, "--total-steps", "128", "--run-dir", tmp_path / "runs" / "seed_2")
    with open_seed_folder(request, (0, 1)):
        code, _, err = worldloom(*command)
    assert code == 2 and f"another process is training in {tmp_path / 'runs'}: wait until it ends" in err
    assert not (tmp_path / "runs" / "seed_2").exists()
    assert worldloom(*command)[0] == 0


def test_settings_cannot_change(worldloom, finished):
    code, _, err = worldloom("train", "--resume", "--run-dir", finished, "--gamma", "0.5")
    assert code == 2 and "--gamma 0.5 does not fit the run" in " ".join(err.split())


def test_cores_are_shared_evenly(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4})
    assert core_shares(2) == [[0, 1], [2, 3, 4]]
    more = core_shares(7)
    assert all(len(share) == 1 for share in more) and {core for share in more for core in share} == {0, 1, 2, 3, 4}
