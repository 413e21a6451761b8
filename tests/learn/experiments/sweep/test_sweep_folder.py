"""The folder of a sweep, its order of trials, and a file that was altered."""

import json

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.experiments.jobs.executor import DIED, Executor
from worldloom.learn.experiments.sweep.sweep_folder import SweepFolder, SweepPlan, read_sweep_folder
from worldloom.learn.experiments.sweep.sweep_run import run_sweep, sweep
from worldloom.learn.experiments.sweep.trial_result import TrialResult
from worldloom.learn.runs.training_request import TrainingRequest

pytest.importorskip("optuna")
SEARCH = ("learning_rate=1e-4:1e-2:log", "policy.hidden=(8,),(8,8)")


def open_sweep(path, **plan):
    path.mkdir(parents=True, exist_ok=True)
    request = TrainingRequest("CartPole-v1", "ppo", PPOConfig(num_envs=8, total_steps=1000, device="cpu"))
    return SweepFolder(path, request, SweepPlan(**{"search": SEARCH, "trials": 12, **plan}))


class Immediate(Executor):
    """Answers jobs in an order of its own; as many at once as it may."""

    def __init__(self, at_once=1, last_first=False, stop_after=100, answer=None):
        self.at_once, self.last_first, self.left, self.answer = at_once, last_first, stop_after, answer
        self.running, self.messages = [], {}

    def is_free(self):
        return len(self.running) < self.at_once and self.left > 0

    def is_busy(self):
        return bool(self.running)

    def start(self, key, message):
        self.running.append(key)
        self.messages[key] = message
        self.left -= 1

    def wait(self):
        if not self.running:
            return []
        key = self.running.pop(-1 if self.last_first else 0)
        if self.answer is not None:
            return [(key, self.answer)]
        rate = self.messages[key]["runs"][0]["request"]["config"]["learning_rate"]
        values = {"state": "complete", "value": 1000.0 * rate, "steps": 1000, "seconds": 1.0, "error": ""}
        return [(key, {**values, "reports": {"20": 1000.0 * rate}})]


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_sweep_that_ends_anywhere_continues_with_the_same_trials(tmp_path, parallel):
    whole = open_sweep(tmp_path / "whole", parallel=parallel)
    run_sweep(whole, Immediate(parallel), {"names": []})
    assert whole.pending() == []
    parts = open_sweep(tmp_path / "parts", parallel=parallel)
    for last_first in (True, False, True, False):
        run_sweep(parts, Immediate(parallel, last_first, stop_after=4), {"names": []})
        parts = read_sweep_folder(tmp_path / "parts") if parts.results else parts
    assert parts.results == whole.results
    assert whole.ranked()[0] is whole.best


def test_trials_side_by_side_do_not_know_each_other(tmp_path):
    sweep = open_sweep(tmp_path, parallel=3)
    assert [len(sweep.known_results(n) or []) for n in range(3)] == [0, 0, 0] and sweep.known_results(3) is None
    run_sweep(sweep, Immediate(3, stop_after=6), {"names": []})
    assert [result.number for result in sweep.known_results(5)] == [0, 1, 2]


def test_a_trial_whose_process_dies_has_failed(tmp_path):
    sweep = open_sweep(tmp_path, trials=2)
    run_sweep(sweep, Immediate(answer={DIED: "its process was killed by SIGKILL"}), {"names": []})
    assert [r.state for r in sweep.results.values()] == ["failed"] * 2 and sweep.best is None
    assert "SIGKILL" in sweep.results[0].error


def test_settings_that_do_not_go_together_fail_alone(tmp_path):
    sweep = open_sweep(tmp_path, trials=6, search=("schedule=linear,constant", "learning_rate=1e-3:1e-2"))
    points = [[0, 1e-3], [500, 1e-4]]
    sweep.message = lambda number, settings, tracking: (
        {"runs": [{"request": {"config": {"learning_rate": 1e-3}}}]}
        if settings["schedule"] == "constant"
        else SweepFolder.message(sweep, number, {**settings, "learning_rate": points}, tracking)
    )
    run_sweep(sweep, Immediate(), {"names": []})
    states = {r.settings["schedule"]: r.state for r in sweep.results.values()}
    assert states == {"linear": "failed", "constant": "complete"}


def test_every_seed_has_a_run(tmp_path):
    sweep = open_sweep(tmp_path, seeds=(3, 5))
    runs = sweep.message(7, sweep.propose(0), {"names": []})["runs"]
    assert [run["request"]["config"]["seed"] for run in runs] == [3, 5]
    assert [run["folder"] for run in runs] == [str(tmp_path / "trial_0007" / f"seed_{seed}") for seed in (3, 5)]


def test_the_best_is_the_highest_or_the_fastest_and_complete(tmp_path):
    settings = {"learning_rate": 1e-3, "policy.hidden": [8]}
    high, low = open_sweep(tmp_path / "high"), open_sweep(tmp_path / "low", objective="steps", target=9.0)
    for folder in (high, low):
        for number, (state, value) in enumerate(
            [("complete", 3.0), ("complete", 5.0), ("pruned", 7.0), ("complete", None), ("failed", None)]
        ):
            folder.results[number] = TrialResult(number, settings, state, value)
    assert [r.number for r in high.ranked()] == [1, 0, 2, 3, 4] and high.best.number == 1
    assert [r.number for r in low.ranked()] == [0, 1, 2, 3, 4] and low.best.number == 0


@pytest.fixture
def saved(tmp_path):
    sweep = open_sweep(tmp_path)
    run_sweep(sweep, Immediate(stop_after=2), {"names": []})
    return sweep


def test_it_is_read_as_it_was_written(saved):
    read = read_sweep_folder(saved.path)
    assert (read.request, read.plan, read.results) == (
        saved.request.__class__(**{**vars(saved.request), "run_dir": saved.path}),
        saved.plan,
        saved.results,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.update(format=2), "reads up to 1: update worldloom"),
        (lambda v: v.pop("format"), "was not written by a sweep"),
        (lambda v: v.update(search=["os.system=1,2"]), "ppo has no setting 'os.system'"),
        (lambda v: v.update(search="x"), "'search' in .* cannot be 'x'"),
        (lambda v: v.update(trials=-1), "'trials' in .* cannot be -1"),
        (lambda v: v.update(trials=10**9), "trials must be 1 to 100,000"),
        (lambda v: v.update(seeds=[]), "needs a seed"),
        (lambda v: v.update(sampler="exec"), "'sampler' in .* cannot be 'exec'"),
        (lambda v: v.update(target=3.0), "has no return to reach"),
        (lambda v: v.update(request=3), "'request' in .* must be an object"),
        (lambda v: v.update(results={}), "'results' in .* must be a list"),
        (lambda v: v["results"][0].update(number="0"), "which is not that of a trial"),
        (lambda v: v["results"][0].update(number=12), "which is not that of a trial"),
        (lambda v: v["results"][0].update(state="great"), "which is not that of a trial"),
        (lambda v: v["results"][0].update(value=float("nan")), "which is not that of a trial"),
        (lambda v: v["results"][0].update(extra=1), "which is not that of a trial"),
        (lambda v: v["results"][0].update(reports={"x": 1.0}), "which is not that of a trial"),
        (lambda v: v["results"][0]["settings"].update(learning_rate=5.0), "which is not that of a trial"),
        (lambda v: v["results"][0]["settings"].update(other=1), "which is not that of a trial"),
    ],
)
def test_an_altered_file_is_refused(saved, change, message):
    file = saved.path / "sweep.json"
    values = json.loads(file.read_text())
    change(values)
    file.write_text(json.dumps(values))
    with pytest.raises(InputError, match=message) as error:
        read_sweep_folder(saved.path)
    assert str(file) in str(error.value) or "--search" in str(error.value)


def test_a_link_is_not_followed(saved, tmp_path):
    file = saved.path / "sweep.json"
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(InputError, match="symbolic link"):
        read_sweep_folder(saved.path)


def test_from_python(tmp_path):
    config = PPOConfig(num_envs=8, num_steps=8, total_steps=128, minibatches=1, device="cpu")
    request = TrainingRequest("CartPole-v1", "ppo", config, run_dir=tmp_path / "sweep")
    seen = []
    finished = sweep(request, SweepPlan(("epochs=1,2",), trials=1), seen.append)
    assert [finished.results[0]] == seen and finished.results[0].state == "complete"
    more = sweep(request, SweepPlan(("epochs=1,2",), trials=2), seen.append)
    assert len(more.results) == len(seen) == 2 and more.results[0] == seen[0]
    with pytest.raises(InputError, match=r"sampler is 'random', and 'tpe' in .*sweep.json: give the same to continue"):
        sweep(request, SweepPlan(("epochs=1,2",), trials=2, sampler="random"))
