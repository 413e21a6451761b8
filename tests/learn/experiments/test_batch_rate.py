"""The rate of a training with one number of worlds."""

from dataclasses import replace

import pytest
import torch

from worldloom.learn.algorithms.dqn import DQNConfig
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.algorithms.registry import ALGORITHMS
from worldloom.learn.experiments import batch_rate
from worldloom.learn.experiments.batch_rate import measure_rate, measured_config, peak_memory
from worldloom.learn.runs.training_run import TrainingRequest


@pytest.fixture(autouse=True)
def short_windows(monkeypatch):
    monkeypatch.setattr(batch_rate, "WINDOW_S", 0.001)


@pytest.fixture
def trainings(monkeypatch):
    """Every trainer that is made, as it is at the end."""
    made = []
    for name, (trainer_class, config_class) in list(ALGORITHMS.items()):

        class Noted(trainer_class):
            def __init__(self, *arguments, **options):
                super().__init__(*arguments, **options)
                made.append(self)

        monkeypatch.setitem(ALGORITHMS, name, (Noted, config_class))
    return made


def test_a_training_is_measured_with_updates(trainings):
    config = PPOConfig(num_steps=8, epochs=1, minibatches=1, device="cpu", total_steps=64, eval_every=32)
    rate = measure_rate(TrainingRequest("CartPole-v1", "ppo", config), 16, peak_memory())
    assert rate.problem == "" and rate.num_envs == 16 and rate.steps_per_second > 0.0
    assert rate.iteration_steps == 16 * 8 and rate.memory >= 0
    (trainer,) = trainings
    assert trainer.iteration > batch_rate.WARM_UP_ITERATIONS["cpu"] and trainer.config.eval_every == 0


def test_dqn_is_measured_once_it_learns(trainings):
    config = DQNConfig(batch_size=8, replay_capacity=400, n_step=6, device="cpu", learning_starts=10_000_000)
    rate = measure_rate(TrainingRequest("CartPole-v1", "dqn", config), 4)
    assert rate.steps_per_second > 0.0 and rate.iteration_steps == 4
    (trainer,) = trainings
    assert trainer.learning and float(trainer.learners["Cart"].metrics[2]) > 0.0, "no gradient: nothing was learned"


def test_only_the_batch_and_evaluations_change():
    config = PPOConfig(num_envs=8, eval_every=100, gamma=0.9)
    assert measured_config(config, 64) == replace(config, num_envs=64, eval_every=0)


def test_settings_that_do_not_fit_are_a_problem():
    config = PPOConfig(num_steps=5, minibatches=4, device="cpu")
    rate = measure_rate(TrainingRequest("CartPole-v1", "ppo", config), 6)
    assert rate.steps_per_second is None and "divide evenly into 4 minibatches" in rate.problem


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (MemoryError(), "out of memory"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB"), "out of memory"),
        (RuntimeError("Failed to allocate 4096 bytes on device 'cuda:0'"), "out of memory"),
        (RuntimeError("something else\nand more"), "RuntimeError: something else"),
    ],
)
def test_errors_while_training_are_a_problem(monkeypatch, error, problem):
    def fail(trainer, iterations, clock):
        raise error

    monkeypatch.setattr(batch_rate, "_train", fail)
    config = PPOConfig(num_steps=4, device="cpu")
    rate = measure_rate(TrainingRequest("CartPole-v1", "ppo", config), 4)
    assert rate.steps_per_second is None and rate.problem == problem
