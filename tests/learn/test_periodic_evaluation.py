"""Evaluation during training: on its own worlds, without an effect on the training; it chooses the best checkpoint."""

import math

import pytest
import torch
from worlds import CLOCK, FARM

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import RunFolder, read_metrics
from worldloom.learn.runs.run_recorder import RunRecorder
from worldloom.learn.training import periodic_evaluation
from worldloom.learn.training.callbacks import Callback

SMALL = {"num_envs": 8, "device": "cpu", "policy": PolicyConfig(hidden=(16,), normalize_observations=True)}
CONFIGS = {
    "ppo": (PPO, {**SMALL, "num_steps": 16, "total_steps": 640, "normalize_rewards": True}),
    "dqn": (
        DQN,
        {**SMALL, "total_steps": 320, "learning_starts": 64, "batch_size": 16, "steps_per_update": 4, "n_step": 1},
    ),
}


class Metrics(Callback):
    def __init__(self):
        self.rows = {}

    def on_iteration(self, trainer, progress):
        self.rows[progress.iteration] = progress.metrics


@pytest.mark.parametrize(("name", "stochastic"), [("ppo", False), ("ppo", True), ("dqn", False)])
def test_the_training_computes_the_same_bits(name, stochastic):
    trainer_class, settings = CONFIGS[name]
    plain = trainer_class("CartPole-v1", trainer_class.config_class(**settings)).learn()
    seen = Metrics()
    config = trainer_class.config_class(**settings, eval_every=100, eval_episodes=3, eval_stochastic=stochastic)
    evaluated = trainer_class("CartPole-v1", config).learn(callbacks=seen)
    state, other = plain.state()[0], evaluated.state()[0]
    assert state.keys() == other.keys()
    for key, tensor in state.items():
        assert torch.equal(torch.as_tensor(tensor), torch.as_tensor(other[key])), key
    assert any("eval/return" in row for row in seen.rows.values())
    assert plain.score == evaluated.score


def test_a_q_network_has_no_probabilities_to_sample_from():
    with pytest.raises(InputError, match="eval_stochastic does not apply to DQN"):
        DQNConfig(eval_stochastic=True)


def test_evaluations_come_every_so_many_steps_and_at_the_end():
    seen = Metrics()
    config = PPOConfig(**{**SMALL, "num_steps": 10, "total_steps": 800}, eval_every=200, eval_episodes=3)
    trainer = PPO(CLOCK, config).learn(callbacks=seen)
    assert [i for i, row in seen.rows.items() if "eval/return" in row] == [3, 5, 8, 10]  # 80 steps per iteration
    assert seen.rows[10]["eval/return"] == 5.0 and seen.rows[10]["eval/length"] == 5.0
    assert trainer.evaluation.score == trainer.checkpoint_score == 5.0


def evaluated(**settings):
    """Mean return and number of worlds of an evaluation of initial policies."""
    config = PPOConfig(**SMALL, num_steps=8, total_steps=64, eval_every=64, eval_episodes=6, **settings)
    evaluation = PPO("CartPole-v1", config)._make_evaluation()
    score = evaluation.run(0, lambda: False).score
    worlds = evaluation.simulation.num_worlds
    evaluation.close()
    return score, worlds


def test_worlds_seed_and_sampling_of_an_evaluation():
    score, worlds = evaluated()
    assert worlds == 6 and evaluated(eval_seed=1_000_000) == (score, worlds)
    assert evaluated(eval_worlds=2)[1] == 2
    assert evaluated(eval_seed=7)[0] != score
    assert evaluated(eval_stochastic=True)[0] != score


def test_an_evaluation_has_no_more_worlds_than_episodes(monkeypatch):
    made = []
    monkeypatch.setattr(
        periodic_evaluation, "Simulation", lambda *args, **kw: made.append(args[1]) or Simulation(*args, **kw)
    )
    config = PPOConfig(**{**SMALL, "num_steps": 4, "total_steps": 32}, eval_every=32, eval_episodes=3, eval_worlds=1000)
    PPO(CLOCK, config).learn()
    assert made == [3]


def test_an_endless_world_is_cut_off_and_configured_as_in_training():
    worlds = Simulation(CLOCK, 4, "cpu", seed=0, config={"max_steps": 0})
    config = PPOConfig(num_steps=8, total_steps=32, device="cpu", eval_every=32, eval_episodes=2, eval_max_steps=7)
    seen = Metrics()
    PPO(worlds, config).learn(callbacks=seen)
    assert seen.rows[1]["eval/length"] == 7.0
    shorter = Simulation(CLOCK, 4, "cpu", seed=0, config={"ends_at": [2, 2, 2, 2]})
    PPO(shorter, config).learn(callbacks=seen)
    assert seen.rows[1]["eval/length"] == 2.0


def test_every_policy_has_its_return():
    seen = Metrics()
    config = PPOConfig(**{**SMALL, "policy": PolicyConfig(hidden=(8,))}, num_steps=8, total_steps=64, eval_every=64)
    trainer = PPO(FARM, config).learn(callbacks=seen)
    names = {f"eval/return/{name}" for name in trainer.learners}
    assert names and names < set(seen.rows[1])


class Scored(Callback):
    """Replaces the evaluated returns."""

    def __init__(self, monkeypatch, scores):
        from worldloom.learn.training.periodic_evaluation import EvaluationScore, PeriodicEvaluation

        values = iter(scores)

        def run(self, iteration, is_stopping):
            score = next(values)
            return EvaluationScore(iteration, score, {"eval/return": score})

        monkeypatch.setattr(PeriodicEvaluation, "run", run)


def test_the_best_checkpoint_is_that_of_the_best_evaluation(tmp_path, monkeypatch):
    Scored(monkeypatch, [1.0, 5.0, 3.0, 4.0])
    config = PPOConfig(**{**SMALL, "num_steps": 10, "total_steps": 640}, eval_every=160, eval_episodes=2)
    with RunFolder(tmp_path / "run", {}, keep=1) as folder:
        PPO(CLOCK, config).learn(callbacks=RunRecorder(folder))
    checkpoints = Checkpoints(tmp_path / "run" / "checkpoints")
    assert checkpoints.best().name == "iteration_00000004" and checkpoints.best_score() == 5.0
    assert checkpoints.latest().name == "iteration_00000008"
    rows = read_metrics(tmp_path / "run")
    assert [row["iteration"] for row in rows if not math.isnan(row.get("eval/return", math.nan))] == [2, 4, 6, 8]


def test_scores_of_training_and_of_evaluations_are_not_compared(tmp_path, monkeypatch):
    """A run that is resumed with evaluations: its training returns were higher than the evaluated ones."""
    config = PPOConfig(**{**SMALL, "num_steps": 10, "total_steps": 320})
    with RunFolder(tmp_path / "run", {}, keep=1) as folder:
        PPO(CLOCK, config).learn(callbacks=RunRecorder(folder))
        assert folder.checkpoints.best().name == "iteration_00000004"
        assert folder.checkpoints.best_score(evaluated=True) is None
    Scored(monkeypatch, [-3.0, -1.0, -2.0])
    config = PPOConfig(**{**SMALL, "num_steps": 10, "total_steps": 800}, eval_every=160, eval_episodes=2)
    with RunFolder(tmp_path / "run", {}, resume=True, keep=1) as folder:
        trainer, saved = PPO(CLOCK, config), folder.checkpoints.load(folder.resumed_from)
        trainer.load_state(saved.tensors, saved.state)
        trainer.learn(callbacks=RunRecorder(folder))
        assert folder.checkpoints.best().name == "iteration_00000008"
        assert folder.checkpoints.best_score() == -1.0
        assert folder.checkpoints.latest().name == "iteration_00000010"


def test_an_evaluation_is_given_up_when_the_training_stops():
    class Stop(Callback):
        def on_start(self, trainer):
            evaluate = trainer._make_evaluation()
            trainer.learners["Ticker"].schedule(0, 1)
            assert evaluate.run(1, lambda: True) is None
            assert evaluate.run(1, lambda: False).score == evaluate.run(2, lambda: False).score == 5.0

    config = PPOConfig(**{**SMALL, "num_steps": 10, "total_steps": 80}, eval_every=1000, eval_episodes=2)
    PPO(CLOCK, config).learn(callbacks=Stop())
