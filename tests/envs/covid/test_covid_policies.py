"""Baseline policies: the sweep of all constant ones in one batch equals episodes of each alone."""

import numpy as np
import pytest

from worldloom.core.base.errors import InputError
from worldloom.core.registry import registry
from worldloom.core.registry.registry import definition
from worldloom.core.simulation import Simulation
from worldloom.envs.covid.data import load_synthetic
from worldloom.envs.covid.economy import Mode, economy, parameters_of
from worldloom.envs.covid.policies import play_constant, play_decided, sweep_constant

DATA = load_synthetic()


@pytest.fixture(scope="module")
def short():
    """An economy of thirty days; it is compiled as the whole one is."""
    yield economy(DATA, "CovidShort-v0", episode_length=30)
    registry._REGISTRY.pop("CovidShort-v0")


def test_every_constant_policy_is_played_once_and_the_best_stands_first(short):
    days_done = []
    policies = sweep_constant(short, DATA, on_day=days_done.append)
    assert days_done == list(range(1, 31))
    assert {(policy.level, policy.subsidy) for policy in policies} == {
        (level, subsidy) for level in range(11) for subsidy in range(21)
    }
    welfare = [policy.totals["planner_welfare"] for policy in policies]
    assert welfare == sorted(welfare, reverse=True)
    strict, unchanged = (
        next(policy for policy in policies if (policy.level, policy.subsidy) == pair) for pair in ((10, 3), (0, 0))
    )
    alone = play_constant(short, DATA, 10, 3)
    assert (
        (alone.label, alone.states, len(alone.days))
        == (strict.label, DATA.states, 30)
        == ("level 10, subsidy 3", DATA.states, 30)
    )
    assert alone.totals() == pytest.approx(strict.totals, rel=1e-6)
    days = {
        name: np.diff(getattr(alone, name), axis=0)
        for name in ("susceptible", "infected", "recovered", "deaths", "unemployed", "productivity")
    }
    assert all((change != 0.0).any() for change in days.values()), "every day is recorded"
    assert (alone.level == 10.0).all() and alone.governor_rewards.shape == (30, 51)
    np.testing.assert_allclose(alone.subsidy, 3 / 20 * DATA.population.sum() * 20000 / 365, rtol=1e-6)
    first = DATA.policy[DATA.start_day] @ DATA.population / DATA.population.sum()
    assert unchanged.label == "levels kept, subsidy 0" and unchanged.totals["level"] == pytest.approx(first)


def test_what_was_decided_then_is_decided_again(short):
    history = play_decided(short, DATA)
    np.testing.assert_array_equal(history.level, DATA.policy[DATA.start_day + 1 : DATA.start_day + 31])


def test_a_picture_of_a_day(short):
    with Simulation(short, 2, "cpu", seed=0, config={"mode": int(Mode.MODEL)}) as worlds:
        before = short.render(worlds, 1)
        worlds.step({"Governor.stringency": np.full((2, 51), 10), "Planner.subsidy": np.zeros((2, 1), int)})
        after = short.render(worlds, 1)
    assert after.dtype == np.uint8 and after.shape == before.shape and after.mean() < before.mean(), (
        "stricter is darker"
    )


def test_an_economy_of_few_subsidies_that_plays_the_past_by_default():
    other = economy(DATA, "CovidFew-v0", episode_length=30, subsidy_levels=2, mode=Mode.REPLAY)
    try:
        policies = sweep_constant(other, DATA)
        assert {policy.subsidy for policy in policies} == {0, 1, 2}
        assert len({policy.totals["planner_welfare"] for policy in policies if policy.level == 3}) == 3, (
            "policies decide"
        )
        with pytest.raises(InputError, match="a constant subsidy must be between 0 and 2, not 3"):
            play_constant(other, DATA, 1, 3)
    finally:
        registry._REGISTRY.pop("CovidFew-v0")


def test_what_is_no_such_policy_or_world_is_refused(short):
    with pytest.raises(InputError, match=r"there is no mode 7 of the economy: take one of Mode\.MODEL"):
        economy(DATA, mode=7)
    with pytest.raises(InputError, match="a constant level must be between 0 and 10, not 11"):
        play_constant(short, DATA, 11, 0)
    with pytest.raises(InputError, match="world 'CartPole-v1' is no COVID-19 economy"):
        parameters_of(definition("CartPole-v1"))
