"""Population-based training on a GPU: captured graphs use the current settings and the adopted weights."""

import json

import pytest
import torch

from worldloom.cli.main import main
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.experiments.population.evolution import Start
from worldloom.learn.experiments.population.member_job import train_member
from worldloom.learn.experiments.population.member_result import MemberResult
from worldloom.learn.experiments.population.population_folder import PopulationFolder, PopulationPlan
from worldloom.learn.runs.run_folder import read_metrics
from worldloom.learn.runs.training_request import TrainingRequest

ITERATION = 64 * 16
CONFIG = PPOConfig(
    num_envs=64,
    num_steps=16,
    epochs=1,
    minibatches=1,
    total_steps=12 * ITERATION,
    device="cuda:0",
    policy=PolicyConfig(hidden=(16,)),
)
SEARCH = ("learning_rate=1e-8:1e-1:log", "entropy_weight=0:1", "clip=0.05:0.4", "gamma=0.5:1")
FIRST = {"learning_rate": 1e-3, "entropy_weight": 0.0, "clip": 0.2, "gamma": 0.9}


def population(path, search=SEARCH, config=CONFIG):
    request = TrainingRequest("CartPole-v1", "ppo", config)
    return PopulationFolder(path, request, PopulationPlan(search, population=2, generation_steps=6 * ITERATION))


def parameters(trainer):
    return trainer.learners["Cart"].optimizer.flat.clone()


def test_a_captured_graph_uses_the_new_settings(tmp_path):
    own, members = population(tmp_path), {}
    train_member(own.message(0, 0, Start(0, FIRST)), (), members)
    (trainer,) = [member.trainer for member in members.values()]
    assert trainer._learn._graph is not None, "the update is not captured"
    graph, before = trainer._learn._graph, parameters(trainer)
    own.results[0, 0] = MemberResult(0, 0, 0, FIRST, 1.0, trainer.steps, 1.0)
    still = {**FIRST, "learning_rate": 1e-8}
    train_member(own.message(1, 0, Start(0, still)), (), members)
    (again,) = [member.trainer for member in members.values()]
    assert again is trainer and again._learn._graph is graph, "it was captured again"
    assert torch.allclose(parameters(trainer), before, atol=1e-5), "the graph uses the old learning rate"
    rates = [row["update/learning_rate"] for row in read_metrics(own.member_path(0))]
    assert rates == pytest.approx([1e-3] * 6 + [1e-8] * 6)
    for member in members.values():
        member.close()


def test_every_number_of_a_captured_graph_changes(tmp_path):
    changed = {"learning_rate": 5e-3, "entropy_weight": 0.5, "clip": 0.1, "gamma": 0.6}
    own, members = population(tmp_path), {}
    answer = train_member(own.message(0, 0, Start(0, FIRST)), (), members)
    own.results[0, 0] = MemberResult(0, 0, 0, FIRST, 1.0, answer["steps"], 1.0)
    (trainer,) = [member.trainer for member in members.values()]
    learner = trainer.learners["Cart"]
    numbers = {name: learner.setting(name) for name in ("entropy_weight", "clip", "gamma")}
    assert {name: float(number) for name, number in numbers.items()} == pytest.approx({k: FIRST[k] for k in numbers})
    train_member(own.message(1, 0, Start(0, changed)), (), members)
    assert {name: float(number) for name, number in numbers.items()} == pytest.approx({k: changed[k] for k in numbers})
    for member in members.values():
        member.close()


def test_adopted_weights_are_those_of_the_captured_rollout_and_update(tmp_path):
    trainers = [PPO("CartPole-v1", PPOConfig(**{**vars(CONFIG), "seed": seed})) for seed in (0, 1)]
    for trainer in trainers:
        trainer.learn(until=4 * ITERATION)
    graphs = [trainers[1]._roll._graph, trainers[1]._learn._graph]
    tensors = {name: tensor.clone() for name, tensor in trainers[0].state()[0].items()}
    trainers[1].adopt(tensors)
    assert torch.equal(parameters(trainers[0]), parameters(trainers[1]))
    before = parameters(trainers[1])
    trainers[1].learn(until=6 * ITERATION)
    assert [trainers[1]._roll._graph, trainers[1]._learn._graph] == graphs
    moved = (parameters(trainers[1]) - before).abs().max()
    assert 0.0 < float(moved) < 0.1


def test_epochs_are_captured_again(tmp_path):
    own, members = population(tmp_path, search=("epochs=1:4",)), {}
    answer = train_member(own.message(0, 0, Start(0, {"epochs": 1})), (), members)
    own.results[0, 0] = MemberResult(0, 0, 0, {"epochs": 1}, 1.0, answer["steps"], 1.0)
    (first,) = [member.trainer for member in members.values()]
    train_member(own.message(1, 0, Start(0, {"epochs": 4})), (), members)
    (second,) = [member.trainer for member in members.values()]
    assert second is not first and second.steps == 12 * ITERATION
    powers = second.learners["Cart"].optimizer.tensors()["powers"]
    assert float(powers[0]) == pytest.approx(0.9 ** (6 * 1 + 6 * 4)), "optimizer steps of both generations"
    for member in members.values():
        member.close()


def test_a_bad_learning_rate_is_improved(tmp_path, capsys):
    flags = "--device cuda:0 --num-envs 256 --total-steps 655360 --generation-steps 65536 --population 4 --seed 0"
    search = "--search learning_rate=1e-6:1e-2:log --initial given --learning-rate 1e-6 --quantile 0.5 --resample 0.5"
    folder = str(tmp_path / "runs")
    assert main(["pbt", "CartPole-v1", *flags.split(), *search.split(), "--run-dir", folder, "--quiet", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    first = max(row["score"] for row in report["history"] if row["generation"] == 0)
    assert report["best"]["score"] > 2.0 * first
    assert any(row["settings"]["learning_rate"] > 1e-4 for row in report["history"])


def test_a_sweep_on_a_gpu(tmp_path, capsys):
    pytest.importorskip("optuna")
    flags = (
        "--device cuda:0 --num-envs 64 --total-steps 16384 --trials 3 --search learning_rate=1e-4:1e-2:log epochs=1,2"
    )
    assert main(["sweep", "CartPole-v1", *flags.split(), "--run-dir", str(tmp_path / "runs"), "--quiet", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [trial["state"] for trial in report["trials"]] == ["complete"] * 3
