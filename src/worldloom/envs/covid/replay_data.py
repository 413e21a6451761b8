"""Replays of the data: the modes of the economy, and what they derive from the data once."""

from __future__ import annotations

import enum

import numpy as np

from worldloom.envs.covid.data import Parameters
from worldloom.envs.covid.formulas import YEAR

SUBSIDY_LEVELS = 20
SUBSIDY_DAYS = 90
SUBSIDY_PER_PERSON = 20_000.0  # dollars a year at the greatest level


class Mode(enum.IntEnum):
    """Which parts of an episode are replayed from data."""

    MODEL = 0  # none: agents decide, and the fitted models respond
    REAL_POLICIES = 1  # historical decisions; the fitted models respond
    REPLAY = 2  # historical decisions and historical outcomes


def last_known_day(parameters: Parameters) -> int:
    """The last day of the unbroken period from the start on which every history is known."""
    p = parameters
    histories = (p.susceptible, p.infected, p.recovered, p.vaccinated, p.deaths, p.unemployed)
    known = np.all([np.isfinite(history).all(axis=1) for history in histories], axis=0)
    return p.start_day + int(np.argmin([*known[p.start_day :], False])) - 1


def paid_levels(parameters: Parameters, subsidy_levels: int = SUBSIDY_LEVELS) -> np.ndarray:
    """The planner's level on each day that corresponds to the payments since the start, int32 of shape (days,).

    Each payment is rounded to the nearest level, which holds for 90 days.
    """
    p = parameters
    dollars_per_level = p.population.sum() * SUBSIDY_PER_PERSON / subsidy_levels * SUBSIDY_DAYS / YEAR
    levels = np.zeros(p.num_days, np.int32)
    for day in np.flatnonzero(p.subsidy[p.start_day :]) + p.start_day:
        levels[day : day + SUBSIDY_DAYS] += np.int32(round(p.subsidy[day] / dollars_per_level))
    return np.minimum(levels, subsidy_levels).astype(np.int32)
