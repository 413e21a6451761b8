"""One member: its settings take effect, it adopts weights of another, and it continues bit for bit from files."""

from dataclasses import replace

import pytest
import torch

from worldloom.learn.algorithms.dqn import DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.experiments.population.evolution import Start
from worldloom.learn.experiments.population.member_job import train_member
from worldloom.learn.experiments.population.population_folder import PopulationFolder, PopulationPlan
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import read_metrics
from worldloom.learn.runs.training_request import TrainingRequest
from worldloom.learn.training.trainer import is_learned

SMALL = {"num_envs": 8, "total_steps": 1024, "device": "cpu", "policy": PolicyConfig(hidden=(8,))}
PPO_CONFIG = PPOConfig(num_steps=8, minibatches=2, epochs=1, learning_rate=1e-3, **SMALL)
DQN_CONFIG = DQNConfig(
    learning_starts=16, batch_size=16, replay_capacity=400, steps_per_update=4, schedule="constant", **SMALL
)
SEARCH = ("learning_rate=1e-5:1e-1:log", "gamma=0.5:1")


def population(path, algorithm="ppo", config=PPO_CONFIG, search=SEARCH):
    request = TrainingRequest("CartPole-v1", algorithm, config)
    return PopulationFolder(path, request, PopulationPlan(search, population=2, generation_steps=128))


def last(folder):
    checkpoints = Checkpoints(folder / "checkpoints")
    return checkpoints.load(checkpoints.latest())


def starts(folder, algorithm, members):
    """Two generations of two members; in the second one member 1 takes the weights of member 0."""
    search = SEARCH if algorithm == "ppo" else ("learning_rate=1e-5:1e-1:log", "tau=0.1:1")
    own = population(folder, algorithm, PPO_CONFIG if algorithm == "ppo" else DQN_CONFIG, search)
    name = search[1].partition("=")[0]
    plan = {
        (0, 0): Start(0, {"learning_rate": 1e-2, name: 0.9}),
        (0, 1): Start(1, {"learning_rate": 1e-5, name: 0.8}),
        (1, 0): Start(0, {"learning_rate": 1e-2, name: 0.9}),
        (1, 1): Start(0, {"learning_rate": 3e-3, name: 0.7}),
    }
    from worldloom.learn.experiments.population.population_run import _result

    for (generation, member), start in plan.items():
        answer = train_member(own.message(generation, member, start), (), members)
        own.results[generation, member] = _result(generation, member, start, answer)
        if members is None:  # nothing is left in memory
            assert answer == train_member(own.message(generation, member, start), (), None), "found, not trained again"
    return own


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_in_memory_and_from_files_are_the_same(tmp_path, algorithm):
    members = {}
    in_memory, from_files = starts(tmp_path / "a", algorithm, members), starts(tmp_path / "b", algorithm, None)
    for member in members.values():
        member.close()
    for number in (0, 1):
        one, other = last(in_memory.member_path(number)), last(from_files.member_path(number))
        assert one.tensors.keys() == other.tensors.keys() and one.steps == other.steps
        for name, tensor in one.tensors.items():
            assert torch.equal(tensor.nan_to_num(), other.tensors[name].nan_to_num()), name
    scores = [[r.score for r in own.results.values()] for own in (in_memory, from_files)]
    assert scores[0] == scores[1]


def test_a_member_goes_on_with_the_weights_of_another_and_its_own_worlds(tmp_path):
    own, members = population(tmp_path), {}
    settings = {"learning_rate": 1e-3, "gamma": 0.9}
    first, second = (own.message(0, m, Start(m, settings)) for m in (0, 1))
    train_member(first, (), members), train_member(second, (), members)
    trainer = members[second["folder"]].trainer
    before = {name: tensor.clone() for name, tensor in trainer.state()[0].items()}
    source = last(own.member_path(0)).tensors
    trainer.adopt(source)
    after = trainer.state()[0]
    learned = [name for name in after if not name.startswith("worlds/") and is_learned(name)]
    assert any("/optimizer/mean" in name for name in learned) and any("/policy/" in name for name in learned)
    for name, tensor in after.items():
        expected = source[name] if name in learned else before[name]
        assert torch.equal(tensor.nan_to_num(), expected.nan_to_num()), name
    assert not torch.equal(before["Cart/optimizer/mean"], after["Cart/optimizer/mean"])
    assert any(not torch.equal(source[name], after[name]) for name in after if name.startswith("worlds/"))
    for member in members.values():
        member.close()


def test_settings_change_without_a_new_trainer(tmp_path):
    own, members = population(tmp_path), {}
    train_member(own.message(0, 0, Start(0, {"learning_rate": 1e-3, "gamma": 0.9})), (), members)
    (trainer,) = [member.trainer for member in members.values()]
    own.results[0, 0] = replace(_member_result(own, trainer.steps))
    train_member(own.message(1, 0, Start(0, {"learning_rate": 5e-2, "gamma": 0.6})), (), members)
    (again,) = [member.trainer for member in members.values()]
    rates = [row["update/learning_rate"] for row in read_metrics(own.member_path(0))]
    assert again is trainer and rates == pytest.approx([1e-3, 1e-3, 5e-2, 5e-2])
    assert trainer.learners["Cart"].setting("gamma") == 0.6
    assert '"learning_rate": 0.05' in (own.member_path(0) / "config.json").read_text()
    for member in members.values():
        member.close()


def test_settings_of_the_graph_need_a_new_trainer(tmp_path):
    own, members = population(tmp_path, search=("epochs=1:8",)), {}
    train_member(own.message(0, 0, Start(0, {"epochs": 2})), (), members)
    (trainer,) = [member.trainer for member in members.values()]
    own.results[0, 0] = _member_result(own, trainer.steps, {"epochs": 2})
    train_member(own.message(1, 0, Start(0, {"epochs": 3})), (), members)
    (again,) = [member.trainer for member in members.values()]
    assert again is not trainer and again.learners["Cart"].config.epochs == 3 and again.steps == 256
    again_folder = own.member_path(0)
    assert [row["iteration"] for row in read_metrics(again_folder)] == [1, 2, 3, 4]
    for member in members.values():
        member.close()


def test_a_member_that_fails_starts_again_with_all_of_another(tmp_path):
    """Minibatches that do not divide the rollout are refused by the trainer, which has no checkpoint then."""
    own = population(tmp_path, search=("minibatches=2:7",))
    good = Start(0, {"minibatches": 2})
    answer = train_member(own.message(0, 0, good))
    own.results[0, 0] = _member_result(own, answer["steps"], {"minibatches": 2})
    failed = train_member(own.message(0, 1, Start(1, {"minibatches": 7})))
    assert failed["score"] is None and "7 minibatches" in failed["error"]
    answer = train_member(own.message(1, 1, good))
    assert answer["error"] == "" and answer["steps"] == 256 and last(own.member_path(1)).steps == 256


def test_a_constant_number_cannot_be_set(tmp_path):
    from worldloom.core.base.errors import InputError

    trainer = PPO("CartPole-v1", PPO_CONFIG)
    with pytest.raises(InputError, match="gamma cannot be changed during training: make it a schedule"):
        trainer.learners["Cart"].set_numbers({"gamma": 0.5})


def test_a_training_pauses_and_its_schedules_refer_to_all_steps():
    config = replace(PPO_CONFIG, schedule="linear")
    whole, paused = PPO("CartPole-v1", config), PPO("CartPole-v1", config)
    whole.learn()
    paused.learn(until=300)
    assert paused.steps == 320 and paused.config.total_steps == 1024
    paused.learn()
    ours, theirs = whole.state()[0], paused.state()[0]
    assert all(torch.equal(ours[name].nan_to_num(), theirs[name].nan_to_num()) for name in ours)


def _member_result(own, steps, settings=None):
    from worldloom.learn.experiments.population.member_result import MemberResult

    return MemberResult(0, 0, 0, settings or {"learning_rate": 1e-3, "gamma": 0.9}, 1.0, steps, 1.0)
