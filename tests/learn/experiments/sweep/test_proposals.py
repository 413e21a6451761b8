"""Proposals of Optuna depend on seed, number and known results only; trials behind the median are pruned."""

import importlib.util
import math

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.search.dimension import Choices, Range
from worldloom.learn.experiments.sweep.objective import Objective, ReportTimes
from worldloom.learn.experiments.sweep.proposals import median_rule, propose, require_optuna
from worldloom.learn.experiments.sweep.trial_result import TrialResult

pytest.importorskip("optuna")
SPACE = (
    Range("learning_rate", 1e-4, 1e-2, log=True),
    Range("epochs", 1, 8, integer=True),
    Range("clip", 0.1, 0.4, step=0.1),
    Choices("policy.hidden", ([32], [64, 64])),
)


def sweep(sampler, seed, trials, objective=None):
    """Proposals of a sweep whose best learning rate is 1e-3."""
    objective, results = objective or Objective(), []
    for number in range(trials):
        settings = propose(SPACE, sampler, seed, number, results, objective)
        assert all(dimension.contains(settings[dimension.name]) for dimension in SPACE)
        value = -abs(math.log10(settings["learning_rate"]) + 3.0)
        state = ("complete", "complete", "pruned", "failed")[number % 4]
        value = None if state == "failed" else -value if objective.until_target else value
        results.append(TrialResult(number, settings, state, value, reports={} if value is None else {1: value}))
    return results


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_the_same_seed_gives_the_same_proposals(sampler):
    assert sweep(sampler, 3, 14) == sweep(sampler, 3, 14) != sweep(sampler, 4, 14)


def test_random_proposals_do_not_depend_on_results():
    results = sweep("random", 3, 12)
    assert propose(SPACE, "random", 3, 12, results, Objective()) == propose(SPACE, "random", 3, 12, [], Objective())


@pytest.mark.parametrize("objective", [Objective(), Objective("steps", 1.0)])
def test_tpe_uses_what_it_knows(objective):
    def distances(sampler, seed):
        late = sweep(sampler, seed, 40, objective)[20:]
        return [abs(math.log10(result.settings["learning_rate"]) + 3.0) for result in late]

    known, blind = (sum(sum(distances(name, seed)) for seed in (0, 1)) for name in ("tpe", "random"))
    assert known < 0.8 * blind


def test_a_training_below_the_median_is_pruned_after_the_warm_up():
    times = ReportTimes(1000)
    earlier = [{index: float(index * quality) for index in range(1, 21)} for quality in range(1, 6)]
    behind = median_rule(earlier, times)
    assert [behind(index, index * 2.5) for index in range(1, 9)] == [False] * 4 + [True] * 4
    ahead = median_rule(earlier, times)
    assert not any(ahead(index, index * 3.5) for index in range(1, 20))
    assert not any(median_rule(earlier[:4], times)(index, 0.0) for index in range(1, 20)), "five must be complete"


def test_seeds_are_compared_with_the_same_seed():
    times = ReportTimes(1000)
    earlier = [{**dict.fromkeys(range(1, 21), 1.0), **dict.fromkeys(range(21, 41), 9.0)}] * 5
    assert not median_rule(earlier, times)(10, 5.0)
    assert median_rule(earlier, times, offset=20)(10, 5.0)


def test_missing_optuna_is_one_clear_sentence(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "optuna" else find_spec(name))
    with pytest.raises(InputError, match=r"^a sweep needs Optuna: pip install 'worldloom\[sweep\]' adds it$"):
        require_optuna()
