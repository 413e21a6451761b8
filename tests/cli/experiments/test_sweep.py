"""``worldloom sweep``: trials as runs, table, files, pruning, several seeds, and resuming after a kill."""

import csv
import errno
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import safetensors.torch
from killed_process import run_until_killed
from runs_compared import FEW, SMALL, assert_equal_runs
from thorough import only_thorough

from worldloom.cli.experiments.sweep import Sweep
from worldloom.cli.main import main
from worldloom.learn.experiments.sweep.score_callback import ScoreCallback
from worldloom.learn.experiments.sweep.sweep_folder import read_sweep_folder

pytest.importorskip("optuna")
SHORT = ("CartPole-v1", *FEW, *SMALL["ppo"], "--total-steps", "512")
SEARCH = ("--search", "learning_rate=1e-4:1e-2:log", "epochs=1,2")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished sweep."""
    folder = tmp_path_factory.mktemp("sweep") / "runs"
    assert main(["sweep", *SHORT, *SEARCH, "--trials", "3", "--pruner", "none", "--run-dir", str(folder)]) == 0
    return folder


def test_every_trial_is_a_run_of_its_own(worldloom, finished, tmp_path):
    settings = read_sweep_folder(finished).results[1].settings
    flags = ("--learning-rate", str(settings["learning_rate"]), "--epochs", str(settings["epochs"]))
    assert worldloom("train", *SHORT, *flags, "--run-dir", tmp_path / "alone")[0] == 0
    assert_equal_runs(tmp_path / "alone", finished / "trial_0001")
    assert worldloom("eval", finished / "trial_0001", "--episodes", "2")[0] == 0


def test_table_files_and_json(worldloom, finished):
    results = read_sweep_folder(finished).results
    code, out, _ = worldloom("sweep", "--resume", "--run-dir", finished, "--quiet")
    assert code == 0 and "final return" in out and f"worldloom eval {finished}" in out.replace("\n", "")
    first = [line.split()[0] for line in out.splitlines() if line.strip() and line.split()[0].isdigit()]
    assert first == [str(n) for n in sorted(results, key=lambda n: -results[n].value)]
    rows = list(csv.DictReader((finished / "trials.csv").read_text().splitlines()))
    assert [float(row["value"]) for row in rows] == [results[n].value for n in range(3)]
    assert [float(row["learning_rate"]) for row in rows] == [results[n].settings["learning_rate"] for n in range(3)]
    figure = (finished / "parallel_coordinates.svg").read_text()
    assert "<svg" in figure and figure.count("<path") > 10
    report = json.loads(worldloom("sweep", "--resume", "--run-dir", finished, "--quiet", "--json")[1])
    assert report["complete"] and report["best"]["number"] == int(first[0]) and len(report["trials"]) == 3
    assert report["csv"] == str(finished / "trials.csv") and report["figure"].endswith(".svg")


def test_trials_are_added_and_earlier_ones_kept(worldloom, finished):
    before = read_sweep_folder(finished).results
    assert worldloom("sweep", "--resume", "--run-dir", finished, "--trials", "4", "--quiet")[0] == 0
    after = read_sweep_folder(finished).results
    assert len(after) == 4 and all(after[number] == before[number] for number in before)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--search", "epochs=1:4"), "--search epochs=1:4 does not fit"),
        (("--sampler", "random"), "--sampler random does not fit"),
        (("--total-steps", "1024"), "--total-steps 1024 does not fit"),
        (("--trials", "1"), "--trials 1 does not fit"),
        (("--gamma", "0.5"), "--gamma 0.5 does not fit"),
    ],
)
def test_a_resumed_sweep_keeps_its_settings(worldloom, finished, flags, message):
    code, _, err = worldloom("sweep", "--resume", "--run-dir", finished, *flags)
    assert code == 2 and message in err and err.count("\n") <= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*SHORT,), "--search needs a setting"),
        ((*SHORT, "--search", "epoch=1,2"), "ppo has no setting 'epoch'"),
        ((*SHORT, *SEARCH, "--trials", "0"), "trials must be 1 to"),
        ((*SHORT, *SEARCH, "--parallel", "0"), "parallel must be 1 to"),
        ((*SHORT, *SEARCH, "--objective", "steps"), "give --target"),
        ((*SHORT, *SEARCH, "--seeds", "0:2", "--seed", "1"), "give one of the two"),
        ((*FEW, *SEARCH), "name a world to train in, as in worldloom sweep CartPole-v1"),
        ((*SHORT, *SEARCH, "--resume"), "does not hold a sweep: it has no sweep.json"),
    ],
)
def test_what_cannot_be_swept_is_one_sentence_and_writes_nothing(worldloom, tmp_path, arguments, message):
    code, _, err = worldloom("sweep", *arguments, "--run-dir", tmp_path / "runs")
    assert code == 2 and message in err.replace("\n", " ") and not (tmp_path / "runs").exists()


def test_other_commands_name_the_folder_to_use(worldloom, finished, trained):
    assert "name one of its folders trial_*" in worldloom("eval", finished)[2].replace("\n", " ")
    code, _, err = worldloom("sweep", *SHORT, *SEARCH, "--run-dir", trained)
    assert code == 2 and "already holds other trainings" in err


def test_missing_optuna_is_one_clear_sentence(worldloom, tmp_path, monkeypatch):
    import importlib.util

    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "optuna" else find_spec(name, *a))
    code, _, err = worldloom("sweep", *SHORT, *SEARCH, "--run-dir", tmp_path / "runs")
    assert code == 2 and "a sweep needs Optuna: pip install 'worldloom[sweep]' adds it" in err


def test_trials_that_fall_behind_are_pruned(worldloom, tmp_path, monkeypatch):
    """Once two are complete, those with the low learning rate are pruned: nothing is learned with it."""
    from worldloom.learn.experiments.sweep import proposals

    monkeypatch.setattr(proposals, "STARTUP_TRIALS", 2)
    steps = ("--num-envs", "16", "--num-steps", "32", "--total-steps", "10240", "--policy.hidden", "32")
    search = ("--search", "learning_rate=1e-6,1e-2", "--sampler", "random", "--trials", "6", "--seed", "1")
    code, out, _ = worldloom("sweep", *SHORT, *steps, *search, "--run-dir", tmp_path / "runs", "--json")
    trials = json.loads(out)["trials"]
    pruned = [trial for trial in trials if trial["state"] == "pruned"]
    assert code == 0 and pruned and json.loads(out)["best"]["settings"]["learning_rate"] == 1e-2
    assert any(trial["settings"]["learning_rate"] == 1e-6 for trial in pruned)
    assert all(2560 <= trial["steps"] < 10240 for trial in pruned), "not before a quarter, and not at the end"


def test_the_mean_of_several_seeds(worldloom, tmp_path):
    flags = (*SHORT, "--search", "epochs=1,2", "--trials", "1", "--seeds", "4,7")
    code, out, _ = worldloom("sweep", *flags, "--run-dir", tmp_path / "runs", "--json")
    (trial,) = json.loads(out)["trials"]
    returns = []
    for seed in (4, 7):
        last = (tmp_path / "runs" / "trial_0000" / f"seed_{seed}" / "metrics.jsonl").read_text().splitlines()[-1]
        returns.append(json.loads(last)["episode/return"])
    assert code == 0 and trial["value"] == pytest.approx(sum(returns) / 2) and trial["steps"] == 2 * 512


def test_steps_until_a_return(worldloom, tmp_path):
    flags = ("--objective", "steps", "--target", "5", "--trials", "2")
    code, out, _ = worldloom("sweep", *SHORT, *SEARCH, *flags, "--run-dir", tmp_path / "runs", "--json")
    assert code == 0 and {trial["value"] for trial in json.loads(out)["trials"]} == {128.0}
    code, out, err = worldloom(
        "sweep", *SHORT, *SEARCH, *flags, "--target", "1e6", "--run-dir", tmp_path / "never", "--json"
    )
    report = json.loads(out)
    assert "no trial reached a return of 1e+06: use a lower --target" in err
    assert code == 2 and report["best"] is None and [trial["state"] for trial in report["trials"]] == ["complete"] * 2


def test_a_trial_that_diverges_has_failed(worldloom, tmp_path):
    search = ("--search", "learning_rate=1e-3,1e30", "--sampler", "random", "--trials", "4")
    code, out, _ = worldloom("sweep", *SHORT, *search, "--run-dir", tmp_path / "runs", "--json")
    trials = json.loads(out)["trials"]
    assert {trial["settings"]["learning_rate"]: trial["state"] for trial in trials} == {
        1e-3: "complete",
        1e30: "failed",
    }
    assert code == 0 and all("not finite" in trial["error"] for trial in trials if trial["state"] == "failed")


def test_a_sweep_that_was_killed_ends_with_the_same_table(worldloom, tmp_path):
    flags = [*SHORT, "--checkpoint-every", "1e-6", "--trials", "3", *SEARCH]
    folder = tmp_path / "killed"
    run_until_killed(ScoreCallback, "trial_0001", 2, ["sweep", *flags, "--run-dir", str(folder)])
    assert list(read_sweep_folder(folder).results) == [0]
    assert_resumed_as_whole(worldloom, folder, flags, tmp_path)


@only_thorough  # three processes that import PyTorch
def test_a_parallel_sweep_that_was_killed_ends_with_the_same_table(worldloom, tmp_path):
    flags = [*SHORT, "--total-steps", str(128 * 24), "--checkpoint-every", "0.1", "--trials", "3", *SEARCH]
    flags += ["--parallel", "2"]
    folder = tmp_path / "killed"
    command = [sys.executable, "-m", "worldloom", "sweep", *flags, "--run-dir", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline and _lines(folder / "trial_0001") < 5:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(read_sweep_folder(folder).results) < 3, process.stderr.read().decode()
    assert_resumed_as_whole(worldloom, folder, flags, tmp_path)


def assert_resumed_as_whole(worldloom, folder, flags, tmp_path):
    """Assert that a sweep that was killed and resumed has the results of one that was not."""
    assert worldloom("sweep", "--resume", "--run-dir", folder)[0] == 0
    assert worldloom("sweep", *flags, "--run-dir", tmp_path / "whole")[0] == 0
    assert (folder / "trials.csv").read_bytes() == (tmp_path / "whole" / "trials.csv").read_bytes()
    assert_equal_runs(folder / "trial_0001", tmp_path / "whole" / "trial_0001")


def _lines(folder):
    file = folder / "metrics.jsonl"
    return len(file.read_text().splitlines()) if file.is_file() else 0


@only_thorough  # processes that import PyTorch
def test_a_worker_that_is_killed_changes_no_result(worldloom, finished, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(Sweep, "worker", "killed_trial_worker")
    flags = (*SEARCH, "--trials", "2", "--pruner", "none", "--parallel", "2")
    code, _, err = worldloom("sweep", *SHORT, *flags, "--run-dir", tmp_path / "runs")
    said = err.replace("\n", " ")
    for number in range(2):
        assert (tmp_path / "runs" / f"trial_{number:04d}.killed").exists()
        assert f"trial {number}: its process was killed by SIGKILL" in said
    assert code == 0 and said.count("it starts again from its last checkpoint") == 2
    expected, results = read_sweep_folder(finished).results, read_sweep_folder(tmp_path / "runs").results
    for number, result in results.items():
        assert (result.state, result.value, result.reports) == (
            "complete",
            expected[number].value,
            expected[number].reports,
        )


def test_ctrl_c_stops_after_the_iteration_and_resumes(worldloom, tmp_path, monkeypatch):
    on_iteration = ScoreCallback.on_iteration

    def interrupt(self, trainer, progress):
        on_iteration(self, trainer, progress)
        if progress.iteration == 2 and self.folder.name == "trial_0001":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ScoreCallback, "on_iteration", interrupt)
    code, out, _ = worldloom("sweep", *SHORT, *SEARCH, "--trials", "3", "--run-dir", tmp_path / "runs", "--json")
    report = json.loads(out)
    assert code == 130 and report["stopped_by"] == "SIGINT" and len(report["trials"]) == 1 and not report["complete"]
    monkeypatch.undo()
    assert worldloom("sweep", "--resume", "--run-dir", tmp_path / "runs", "--quiet")[0] == 0
    assert read_sweep_folder(tmp_path / "runs").pending() == []


def test_a_folder_that_cannot_be_written_fails_no_trial(worldloom, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "trial_0000").write_text("in the way")
    flags = [*SHORT, *SEARCH, "--trials", "1", "--run-dir", folder]
    code, _, err = worldloom("sweep", *flags)
    assert code == 2 and "trial 0: " in err and "trial_0000 cannot be used" in err.replace("\n", " ")
    assert read_sweep_folder(folder).results == {}
    (folder / "trial_0000").unlink()
    assert worldloom("sweep", "--resume", "--run-dir", folder)[0] == 0


def test_a_sweep_on_a_full_disk_ends_in_one_sentence_and_goes_on(worldloom, finished, tmp_path, monkeypatch):
    """The checkpoint of the second trial does not fit."""
    folder, saved = tmp_path / "runs", []

    def save(tensors, path):
        saved.append(path)
        if len(saved) > 1:
            Path(path).write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        Path(path).write_bytes(safetensors.torch.save(tensors))

    flags = (*SHORT, *SEARCH, "--trials", "3", "--pruner", "none", "--run-dir", folder)
    with monkeypatch.context() as patch:
        patch.setattr(safetensors.torch, "save_file", save)
        code, _, err = worldloom("sweep", *flags, "--quiet")
    assert code == 2 and "Traceback" not in err
    assert "trial 1: checkpoint" in err and "No space left on device" in err and "make room" in err.replace("\n", " ")
    assert list(read_sweep_folder(folder).results) == [0]
    assert worldloom("sweep", "--resume", "--run-dir", folder, "--quiet")[0] == 0
    results, whole = read_sweep_folder(folder).results, read_sweep_folder(finished).results
    assert [results[n].value for n in range(3)] == [whole[n].value for n in range(3)]


def test_too_many_processes_side_by_side_are_one_sentence(worldloom, tmp_path, monkeypatch):
    """As with ``ulimit -n 64`` and ``--parallel 30``."""

    def refuse(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    flags = (*SHORT, *SEARCH, "--trials", "2", "--run-dir", tmp_path / "runs", "--quiet")
    code, _, err = worldloom("sweep", *flags, "--parallel", "2")
    assert code == 2 and "run fewer side by side" in err.replace("\n", " ") and "Traceback" not in err


def test_one_process_at_a_time_has_a_sweep(worldloom, finished, monkeypatch):
    from worldloom.learn.runs import run_folder

    monkeypatch.setattr(run_folder, "LOCK_WAIT_S", 0.0)
    with run_folder.locked(finished):
        code, _, err = worldloom("sweep", "--resume", "--run-dir", finished, "--trials", "9")
    assert code == 2 and f"another process is training in {finished}" in err.replace("\n", "")
    assert read_sweep_folder(finished).plan.trials < 9
