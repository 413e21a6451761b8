"""The search for the number of worlds on a GPU."""

from dataclasses import replace

import pytest

from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.experiments.batch_rate import measure_rate
from worldloom.learn.experiments.num_envs_search import search_num_envs
from worldloom.learn.runs.training_run import TrainingRequest

CONFIG = PPOConfig(num_steps=16, device="cuda:0", total_steps=16 * 20 * 4096)
REQUEST = TrainingRequest("CartPole-v1", "ppo", CONFIG)


@pytest.mark.alone  # others would free memory of the GPU meanwhile
def test_numbers_of_worlds_are_measured_on_a_gpu():
    search = search_num_envs(REQUEST, smallest=512)
    assert [rate.num_envs for rate in search.rates][:2] == [512, 1024]
    assert all(rate.steps_per_second > 0.0 and rate.memory > 0 for rate in search.rates)


def test_a_number_that_does_not_fit_is_a_problem_and_the_next_one_works():
    large = replace(REQUEST, config=replace(CONFIG, num_steps=4096))
    rate = measure_rate(large, 1 << 26)
    assert rate.steps_per_second is None and rate.problem
    assert measure_rate(REQUEST, 256).steps_per_second > 0.0
