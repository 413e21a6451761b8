"""Histories: what the data say happened, from the first day that an episode has to the last that is known whole."""

import datetime
from types import SimpleNamespace

import numpy as np
import pytest

from worldloom.core.base.errors import InputError
from worldloom.envs.covid.history import dollars_per_worker, real_history


def made_data(known: int = 6) -> SimpleNamespace:
    """Two states; the start is row 2 of ten, and rows from ``known`` on lack the unemployed."""
    grown = np.arange(10.0)[:, None] * [1.0, 2.0]
    unemployed = np.full((10, 2), 1000.0)
    unemployed[known:, 1] = np.nan
    people = {name: grown for name in ("susceptible", "infected", "recovered", "vaccinated", "deaths")}
    subsidy = np.zeros(10)
    subsidy[4] = 6e5
    return SimpleNamespace(
        states=("Here", "There"),
        postal=("HE", "TH"),
        population=np.array([1e4, 2e4]),
        start_day=2,
        policy=np.tile([3, 6], (10, 1)),
        unemployed=unemployed,
        subsidy=subsidy,
        unemployment_bias=np.array([5.0, 5.0]),
        gdp_per_capita=36500.0,
        **people,
    )


def test_it_ends_where_the_data_do():
    history = real_history(made_data())
    assert history.dates == [datetime.date(2020, 1, 4), datetime.date(2020, 1, 5), datetime.date(2020, 1, 6)]
    assert history.infected[:, 1].tolist() == [6.0, 8.0, 10.0]
    assert np.isnan(history.planner_rewards).all()
    assert len(real_history(made_data(known=10)).days) == 7
    with pytest.raises(InputError, match="the data hold no day after the first"):
        real_history(made_data(known=3))


def test_productivity_is_that_of_the_workers_and_the_payments():
    data = made_data()
    history, wage = real_history(data), dollars_per_worker(data)
    workers = 0.6 - (np.log(2.0) + 5.0) / 100.0  # per head, at level 1 without the disease
    assert wage == pytest.approx(100.0 / workers)
    able = 0.6 * 1e4 - (0.1 * 4.0 + 4.0) * 0.6 - 1000.0
    np.testing.assert_allclose(
        history.productivity[1], [able * wage + 2e5, (0.6 * 2e4 - (0.1 * 8.0 + 8.0) * 0.6 - 1000.0) * wage + 4e5]
    )
    np.testing.assert_allclose(history.earned[1, 0], able * wage)
    np.testing.assert_allclose(history.of_states(["TH"]).earned[1, 0], history.earned[1, 1])


def test_totals():
    totals = real_history(made_data()).totals()
    assert {name: totals[name] for name in ("days", "deaths", "subsidies", "level")} == {
        "days": 3,
        "deaths": 15.0,
        "subsidies": 6e5,
        "level": pytest.approx(5.0),
    }
    assert totals["unemployment"] == pytest.approx(2000.0 / 3e4 * 100.0)
