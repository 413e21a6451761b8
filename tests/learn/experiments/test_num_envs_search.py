"""The search for the number of worlds that trains fastest."""

from pathlib import Path

import pytest
from thorough import only_thorough

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.experiments import num_envs_search
from worldloom.learn.experiments.batch_rate import BatchRate
from worldloom.learn.experiments.num_envs_search import NumEnvsSearch, climb, search_num_envs
from worldloom.learn.runs.training_run import TrainingRequest

REQUEST = TrainingRequest("CartPole-v1", "ppo", PPOConfig(num_envs=8, num_steps=4, device="cpu", total_steps=6000))


class Machine:
    """A device whose rate follows a function of the number of worlds; each world takes 1,000 bytes."""

    def __init__(self, rate, memory=10**12):
        self.rate, self.memory, self.measured, self.messages = rate, memory, [], []

    def measure(self, number):
        self.measured.append(number)
        if number * 1000 > self.memory:
            return BatchRate(number, problem="out of memory")
        return BatchRate(number, self.rate(number), number * 10, number * 1000)

    def climb(self, total_steps=10**12, free=None):
        climb(self.measure, lambda: free, total_steps, self.messages.append, 64)
        return [m["num_envs"] for m in self.messages if "num_envs" in m], self.messages[-1]["end"]


def test_the_search_ends_where_more_worlds_are_not_faster():
    machine = Machine(lambda number: min(number, 512.0))
    numbers, end = machine.climb()
    assert numbers == [64, 128, 256, 512, 1024, 2048] and end == "more worlds are not faster"
    assert machine.measured[6:] == [512, 1024, 2048], "those near the best are measured again"


def test_a_dip_does_not_end_it():
    machine = Machine(lambda number: 50.0 if number == 128 else float(number))
    assert machine.climb(total_steps=10 * 64 * 10 * 20)[0] == [64, 128, 256, 512]


def test_a_repeated_measurement_counts_where_it_is_faster():
    rates = iter([100.0, 104.0, 98.0, 120.0, 90.0, 99.0])
    machine = Machine(lambda number: next(rates))
    machine.climb()
    assert [(m["num_envs"], m["steps_per_second"]) for m in machine.messages if "num_envs" in m] == [
        *((64, 100.0), (128, 104.0), (256, 98.0)),
        *((64, 120.0), (256, 99.0)),
    ]


def test_enough_iterations_are_left():
    numbers, end = Machine(float).climb(total_steps=64 * 10 * 20 * 3)
    assert numbers == [64, 128] and "fewer than 20 iterations" in end


def test_what_would_not_fit_is_not_tried():
    numbers, end = Machine(float).climb(free=400_000)
    assert (
        numbers == [64, 128, 256] and "more worlds would need about 512,000 bytes" in end and "400,000 are free" in end
    )


def test_out_of_memory_ends_it_with_the_best_so_far():
    machine = Machine(float, memory=200_000)
    assert machine.climb() == ([64, 128, 256], "out of memory")


def test_time_ends_it(monkeypatch):
    monkeypatch.setattr(num_envs_search, "MAX_SECONDS", -1.0)
    assert Machine(float).climb() == ([64], "with more worlds, the search would take longer than -1 s")


def test_the_best_is_the_fastest():
    rates = (BatchRate(64, 10.0), BatchRate(128, 30.0), BatchRate(256, 20.0), BatchRate(512, problem="out of memory"))
    search = NumEnvsSearch(rates, "out of memory")
    assert search.best.num_envs == 128
    assert search.as_dict()["chosen"] == 128 and len(search.as_dict()["measured"]) == 4


def test_a_process_measures_a_real_training():
    seen = []
    search = search_num_envs(REQUEST, seen.append, smallest=32)
    assert [rate.num_envs for rate in search.rates] == [32, 64] and "fewer than 20 iterations" in search.end
    assert all(rate.steps_per_second > 0.0 and rate.iteration_steps == 4 * rate.num_envs for rate in search.rates)
    assert {rate.num_envs for rate in seen} == {32, 64} and search.best in search.rates


def test_a_training_with_fewer_worlds_is_searched_from_there():
    config = PPOConfig(num_envs=8, num_steps=4, device="cpu", total_steps=8 * 4 * 30)
    search = search_num_envs(TrainingRequest("CartPole-v1", "ppo", config))
    assert [rate.num_envs for rate in search.rates] == [8] and "fewer than 20 iterations" in search.end


def test_a_killed_process_leaves_what_it_measured(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(num_envs_search, "WORKER", "killed_worker")
    search = search_num_envs(REQUEST)
    assert search.best.num_envs == 64 and search.rates[1].num_envs == 128
    assert "was killed by SIGKILL" in search.rates[1].problem == search.end


@only_thorough  # a process that imports PyTorch
def test_nothing_to_measure_is_an_error():
    config = PPOConfig(num_steps=5, minibatches=7, device="cpu", total_steps=6000)
    with pytest.raises(InputError, match=r"no number of worlds could be measured, 64 as the last: .*7 minibatches"):
        search_num_envs(TrainingRequest("CartPole-v1", "ppo", config))
