"""The folder of a population: order of generations, and a file that was altered."""

import json
from dataclasses import replace

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.experiments.jobs.executor import DIED, InTurn
from worldloom.learn.experiments.population.population_folder import (
    PopulationFolder,
    PopulationPlan,
    read_population_folder,
)
from worldloom.learn.experiments.population.population_run import run_population, train_population
from worldloom.learn.runs.training_request import TrainingRequest

SEARCH = ("learning_rate=1e-4:1e-2:log", "clip=0.1,0.2")


def open_population(path, stop_at=None, **plan):
    path.mkdir(parents=True, exist_ok=True)
    config = PPOConfig(num_envs=8, total_steps=1000, device="cpu")
    request = TrainingRequest("CartPole-v1", "ppo", config, stop_at=stop_at)
    values = {"search": SEARCH, "population": 4, "generation_steps": 300, **plan}
    return PopulationFolder(path, request, PopulationPlan(**values))


def score(message, callbacks):
    """A member whose return is its learning rate."""
    rate = message["request"]["config"]["learning_rate"]
    return {"score": 1000.0 * rate, "steps": message["end"], "seconds": 1.0, "error": ""}


def stopped_after(count):
    left = [count]

    def is_stopped():
        left[0] -= 1
        return left[0] < 0

    return is_stopped


def test_generations_follow_each_other(tmp_path):
    messages = []
    population, generations = open_population(tmp_path), []
    run_population(population, InTurn(lambda m, c: messages.append(m) or score(m, c)), generations.append)
    assert generations == [0, 1, 2, 3] and population.is_over()
    assert [(m["start"], m["end"]) for m in messages[::4]] == [(0, 300), (300, 600), (600, 900), (900, 1000)]
    assert [m["request"]["config"]["seed"] for m in messages[:4]] == [0, 1, 2, 3]
    copied = [r for r in population.results.values() if r.source != r.member]
    assert {r.generation for r in copied} == {1, 2, 3}
    assert all(messages[4 * r.generation + r.member]["source"].endswith(f"member_{r.source:02d}") for r in copied)
    assert population.best.score == max(r.score for r in population.generation(3))


def test_it_goes_on_where_it_was_stopped(tmp_path):
    whole, parts = open_population(tmp_path / "whole"), open_population(tmp_path / "parts")
    run_population(whole, InTurn(score))
    for count in (3, 4, 2, 5, 100):
        run_population(parts, InTurn(score, is_stopped=stopped_after(count)))
        parts = read_population_folder(tmp_path / "parts")
    assert parts.results == whole.results


def test_it_ends_at_a_score(tmp_path):
    population = open_population(tmp_path, stop_at=0.01)
    run_population(population, InTurn(score))
    assert population.finished_generations() == 1 and population.is_over()


def test_a_member_whose_process_dies_ends_the_command(tmp_path):
    with pytest.raises(InputError, match="member 0: killed: continue with --resume"):
        run_population(open_population(tmp_path), InTurn(lambda m, c: {DIED: "killed"}))


def test_given_settings_must_be_searched(tmp_path):
    with pytest.raises(InputError, match=r"--initial given: learning_rate is 0.0003, which --search does not contain"):
        open_population(tmp_path, search=("learning_rate=1e-3:1e-2",), initial="given")
    assert open_population(tmp_path, initial="given").starts(0)[1].settings == {"learning_rate": 3e-4, "clip": 0.2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.update(format=2), "reads up to 1: update worldloom"),
        (lambda v: v.update(search=["num_envs=8,16"]), "num_envs: it cannot change during a training"),
        (lambda v: v.update(population="4"), "'population' in .* cannot be '4'"),
        (lambda v: v.update(population=10**6), "--population must be 2 to 1,000"),
        (lambda v: v.update(quantile=None), "'quantile' in .* cannot be None"),
        (lambda v: v.update(perturb=0.5), "--perturb must be above 1"),
        (lambda v: v.update(initial="exec"), "'initial' in .* cannot be 'exec'"),
        (lambda v: v.update(request=[]), "'request' in .* must be an object"),
        (lambda v: v.update(results=3), "'results' in .* must be a list"),
        (lambda v: v["results"][0].update(member=9), "which is not that of a member"),
        (lambda v: v["results"][0].update(generation=10**9), "which is not that of a member: restore the file"),
        (lambda v: v["results"][0].update(source=-1), "which is not that of a member"),
        (lambda v: v["results"][0].update(score=float("inf")), "which is not that of a member"),
        (lambda v: v["results"][0]["settings"].update(clip=0.3), "which is not that of a member"),
        (lambda v: v["results"][0].pop("steps"), "which is not that of a member"),
    ],
)
def test_an_altered_file_is_refused(tmp_path, change, message):
    population = open_population(tmp_path)
    run_population(population, InTurn(score, is_stopped=stopped_after(3)))
    file = tmp_path / "population.json"
    values = json.loads(file.read_text())
    change(values)
    file.write_text(json.dumps(values))
    with pytest.raises(InputError, match=message):
        read_population_folder(tmp_path)


def test_from_python(tmp_path):
    config = PPOConfig(num_envs=8, num_steps=8, total_steps=128, minibatches=1, device="cpu")
    request = TrainingRequest("CartPole-v1", "ppo", config, run_dir=tmp_path / "population")
    plan, ended = PopulationPlan(("gamma=0.5:0.9",), population=2, generation_steps=64), []
    trained = train_population(request, plan, ended.append)
    assert ended == [0, 1] and trained.is_over() and train_population(request, plan).results == trained.results
    with pytest.raises(InputError, match=r"perturb is 2.0, and 1.25 in .*population.json"):
        train_population(request, replace(plan, perturb=2.0))


def test_settings_that_do_not_go_together_fail_alone(tmp_path):
    config = PPOConfig(num_envs=8, total_steps=1000, device="cpu", schedule="kl")
    request = TrainingRequest("CartPole-v1", "ppo", config)
    plan = PopulationPlan(("epochs=1,2", "minibatches=1,2"), population=16, generation_steps=500)
    folder = PopulationFolder(tmp_path, request, plan)
    run_population(folder, InTurn(score))
    first = folder.generation(0)
    failed = [result for result in first if result.error]
    assert folder.is_over() and 0 < len(failed) < 16 and "use more epochs or minibatches" in failed[0].error
    assert all(folder.results[1, result.member].source != result.member for result in failed)


def test_the_seeds_of_all_members_are_checked(tmp_path):
    request = TrainingRequest("CartPole-v1", "ppo", PPOConfig(seed=2**64 - 2, device="cpu"))
    with pytest.raises(InputError, match="seed must be a whole number"):
        PopulationFolder(tmp_path, request, PopulationPlan(("gamma=0.9,0.99",), population=3))
