"""``worldloom pbt``: members as runs, tables and files, better settings than at the start, resuming after a kill."""

import csv
import json
import signal
import subprocess
import sys
import time

import pytest
from killed_process import run_until_killed
from runs_compared import FEW, SMALL, assert_equal_runs
from thorough import only_thorough

from worldloom.cli.main import main
from worldloom.learn.experiments.population.member_job import _GenerationRecorder
from worldloom.learn.experiments.population.population_folder import read_population_folder

SHORT = ("CartPole-v1", *FEW, *SMALL["ppo"], "--total-steps", "768", "--generation-steps", "256")
SEARCH = ("--search", "learning_rate=1e-6:1e-1:log", "epochs=1:4", "--population", "3")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished population."""
    folder = tmp_path_factory.mktemp("population") / "runs"
    assert main(["pbt", *SHORT, *SEARCH, "--run-dir", str(folder)]) == 0
    return folder


def test_every_member_is_a_run(worldloom, finished):
    population = read_population_folder(finished)
    assert population.is_over() and len(population.results) == 3 * 3
    assert [r.steps for r in population.generation(2)] == [768] * 3
    assert worldloom("eval", population.member_path(population.best.member), "--episodes", "2")[0] == 0
    changed = [r for r in population.results.values() if r.source != r.member]
    assert changed, "nobody copied another"


def test_tables_files_and_json(worldloom, finished):
    code, out, _ = worldloom("pbt", "--resume", "--run-dir", finished, "--quiet")
    population = read_population_folder(finished)
    rows = [line.split() for line in out.splitlines() if line.strip() and line.split()[0].isdigit()]
    assert code == 0 and [row[:2] for row in rows[:3]] == [[str(g + 1), f"{256 * (g + 1):,}"] for g in range(3)]
    assert rows[3][0] == str(population.best.member) and rows[3][1] == f"{population.best.score:.4g}"
    table = list(csv.DictReader((finished / "history.csv").read_text().splitlines()))
    assert [float(row["learning_rate"]) for row in table] == [
        population.results[key].settings["learning_rate"] for key in sorted(population.results)
    ]
    assert "<svg" in (finished / "population.svg").read_text()
    report = json.loads(worldloom("pbt", "--resume", "--run-dir", finished, "--quiet", "--json")[1])
    assert report["complete"] and report["generations"] == 3 and len(report["history"]) == 9
    assert report["best"]["score"] == population.best.score and report["best"]["folder"].startswith(str(finished))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*SHORT,), "--search needs a setting"),
        ((*SHORT, "--search", "num_envs=8,16"), "num_envs: it cannot change during a training; search real numbers"),
        ((*SHORT, "--search", "policy.hidden=(8,),(16,)"), "policy.hidden: it cannot change during a training"),
        ((*SHORT, "--search", "gamma=[[0,0.9],[9,1]],0.9"), "gamma: members change numbers, and [[0, 0.9], [9, 1]] is"),
        ((*SHORT, *SEARCH, "--population", "1"), "--population must be 2 to 1,000 members, not 1"),
        ((*SHORT, *SEARCH, "--quantile", "0.9"), "--quantile must be above 0 and at most 0.5"),
        ((*SHORT, *SEARCH, "--parallel", "0"), "--parallel must be 1 or more"),
        ((*SHORT, *SEARCH, "--track", "mlflow"), "omit it with worldloom pbt"),
        ((*SHORT, *SEARCH, "--initial", "given", "--epochs", "8"), "epochs is 8, which --search does not contain"),
        ((*SHORT, *SEARCH, "--resume"), "does not hold a population: it has no population.json"),
    ],
)
def test_what_cannot_be_trained_is_one_sentence_and_writes_nothing(worldloom, tmp_path, arguments, message):
    code, _, err = worldloom("pbt", *arguments, "--run-dir", tmp_path / "runs")
    assert code == 2 and message in err.replace("\n", " ") and not (tmp_path / "runs").exists()


def test_a_resumed_population_keeps_its_settings(worldloom, finished):
    for flags in (("--perturb", "2.0"), ("--search", "epochs=1:4"), ("--total-steps", "2048")):
        code, _, err = worldloom("pbt", "--resume", "--run-dir", finished, *flags)
        assert code == 2 and f"{flags[0]} {flags[1]} does not fit" in err


@only_thorough  # a minute; test_evolution.py and test_population_folder.py cover who copies whom
def test_a_bad_learning_rate_is_improved(worldloom, tmp_path):
    """All members start with a learning rate with which nothing is learned."""
    steps = ("--device", "cpu", "--total-steps", "100000", "--generation-steps", "10000", "--quiet")
    search = ("--search", "learning_rate=1e-6:1e-2:log", "--initial", "given", "--learning-rate", "1e-6")
    code, out, err = worldloom("pbt", "CartPole-v1", *steps, *search, "--run-dir", tmp_path / "runs", "--json")
    history = json.loads(out)["history"]
    first = max(row["score"] for row in history if row["generation"] == 0)
    best = json.loads(out)["best"]
    assert code == 0, err
    assert {row["settings"]["learning_rate"] for row in history if row["generation"] == 0} == {1e-6}
    assert max(row["settings"]["learning_rate"] for row in history) > 1e-4 and best["score"] > 3.0 * first


def test_a_training_ends_at_a_score(worldloom, tmp_path):
    code, out, _ = worldloom(
        "pbt", *SHORT, *SEARCH, "--stop-at", "5", "--run-dir", tmp_path / "runs", "--quiet", "--json"
    )
    assert code == 0 and json.loads(out)["generations"] == 1 and json.loads(out)["complete"]


@only_thorough  # as after Ctrl-C, in a process of its own
def test_a_population_that_was_killed_ends_the_same(worldloom, tmp_path, finished):
    folder = tmp_path / "killed"
    command = ["pbt", *SHORT, *SEARCH, "--run-dir", str(folder)]
    run_until_killed(_GenerationRecorder, "member_01", 3, command)
    assert _results(folder) == 4
    assert_resumed_as_finished(worldloom, folder, finished)


@only_thorough  # three processes that import PyTorch
def test_a_parallel_population_that_was_killed_ends_the_same(worldloom, tmp_path, finished):
    folder = tmp_path / "killed"
    flags = [*SHORT, *SEARCH, "--parallel", "2", "--run-dir", str(folder)]
    process = subprocess.Popen([sys.executable, "-m", "worldloom", "pbt", *flags], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline and _results(folder) < 4:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 4 <= _results(folder) < 9, process.stderr.read().decode()
    assert_resumed_as_finished(worldloom, folder, finished)


def assert_resumed_as_finished(worldloom, folder, finished):
    """Assert that a population that was killed and resumed has the results of one that was not."""
    assert worldloom("pbt", "--resume", "--run-dir", folder, "--quiet")[0] == 0
    assert (folder / "history.csv").read_bytes() == (finished / "history.csv").read_bytes()
    for member in range(3):
        assert_equal_runs(folder / f"member_{member:02d}", finished / f"member_{member:02d}")


def _results(folder):
    file = folder / "population.json"
    return len(json.loads(file.read_text())["results"]) if file.is_file() else 0


def test_ctrl_c_ends_the_generation_and_it_is_trained_again(worldloom, tmp_path, finished, monkeypatch):
    on_iteration = _GenerationRecorder.on_iteration

    def interrupt(self, trainer, progress):
        on_iteration(self, trainer, progress)
        if progress.iteration == 3 and self.folder.path.name == "member_01":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_GenerationRecorder, "on_iteration", interrupt)
    code, out, _ = worldloom("pbt", *SHORT, *SEARCH, "--run-dir", tmp_path / "runs", "--json")
    assert code == 130 and len(json.loads(out)["history"]) == 4 and not json.loads(out)["complete"]
    monkeypatch.undo()
    assert worldloom("pbt", "--resume", "--run-dir", tmp_path / "runs", "--quiet")[0] == 0
    assert (tmp_path / "runs" / "history.csv").read_bytes() == (finished / "history.csv").read_bytes()
