"""Histories of episodes of the economy by day and state, and the history in the data."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.base.errors import InputError

if TYPE_CHECKING:
    from worldloom.envs.covid.data import Parameters

Array = np.ndarray[Any, np.dtype[np.float64]]

FIRST_DATE = datetime.date(2020, 1, 1)
"""The date of row 0 of the data."""
TOO_SICK_SHARE = 0.1
"""Share of the infected who cannot work."""
WORKING_AGE_SHARE = 0.6
"""Share of people of working age."""
PER_STATE = (
    "level",
    "susceptible",
    "infected",
    "recovered",
    "vaccinated",
    "deaths",
    "unemployed",
    "productivity",
    "governor_rewards",
)
PER_COUNTRY = ("subsidy", "planner_rewards")


@dataclass(frozen=True)
class EpisodeHistory:
    """An episode: T days of n states. Unknown values are NaN.

    Attributes:
        label: Its name in figures and tables.
        states, postal: Names and two-letter codes, n of each.
        population: Shape (n,).
        country: Population of the whole country, even if some of its states are left out.
        start: The date of day 0, the initial state.
        days: Days since ``start``, shape (T,).
        level: Stringency, 1 to 10, shape (T, n).
        susceptible, infected, recovered, vaccinated, deaths, unemployed: People on that day, shape (T, n).
        productivity: Product and subsidies of a state, dollars per day, shape (T, n).
        governor_rewards: Shape (T, n).
        subsidy: Subsidies of the whole country on that day, dollars, shape (T,).
        planner_rewards: Shape (T,).
    """

    label: str
    states: tuple[str, ...]
    postal: tuple[str, ...]
    population: Array
    country: float
    start: datetime.date
    days: Array
    level: Array
    susceptible: Array
    infected: Array
    recovered: Array
    vaccinated: Array
    deaths: Array
    unemployed: Array
    productivity: Array
    governor_rewards: Array
    subsidy: Array
    planner_rewards: Array

    def __post_init__(self) -> None:
        n, length = len(self.states), len(self.days)
        if length < 1:
            raise InputError(f"the history '{self.label}' holds no day: record one at least")
        expected = {
            "population": (n,),
            **dict.fromkeys(PER_STATE, (length, n)),
            **dict.fromkeys(PER_COUNTRY, (length,)),
        }
        for name, shape in expected.items():
            if getattr(self, name).shape != shape:
                wrong = getattr(self, name).shape
                raise InputError(f"'{name}' of the history '{self.label}' must have the shape {shape}, not {wrong}")

    @property
    def dates(self) -> list[datetime.date]:
        """The date of every day."""
        return [self.start + datetime.timedelta(int(day)) for day in self.days]

    @property
    def earned(self) -> Array:
        """Productivity without subsidies, which are distributed by population, shape (T, n)."""
        return self.productivity - self.subsidy[:, None] * (self.population / self.country)

    def totals(self) -> dict[str, float]:
        """Summary statistics of the episode.

        ``planner_welfare`` and ``governor_welfare`` (mean over the states) are sums of rewards; ``deaths`` are those of
        the last day; ``unemployment`` (percent of the people), ``productivity`` (dollars per day) and ``level`` are
        means over the days; ``subsidies`` (dollars) are a sum.
        """
        people = self.population.sum()
        return {
            "days": len(self.days),
            "planner_welfare": float(self.planner_rewards.sum()),
            "governor_welfare": float(self.governor_rewards.sum(0).mean()),
            "deaths": float(self.deaths[-1].sum()),
            "unemployment": float(self.unemployed.sum(1).mean() / people * 100.0),
            "productivity": float(self.productivity.sum(1).mean()),
            "subsidies": float(self.subsidy.sum()),
            "level": float((self.level @ self.population).mean() / people),
        }

    def of_states(self, chosen: list[str]) -> EpisodeHistory:
        """The history of some states, given by postal codes or names; InputError for unknown ones.

        Subsidies and the planner's rewards remain those of the whole country.
        """
        indices = state_indices(chosen, self.states, self.postal)
        parts: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        parts |= {name: parts[name][:, indices] for name in PER_STATE} | {"population": self.population[indices]}
        return EpisodeHistory(
            **{
                **parts,
                "states": tuple(self.states[i] for i in indices),
                "postal": tuple(self.postal[i] for i in indices),
            }
        )


def state_indices(chosen: Sequence[str], states: Sequence[str], postal: Sequence[str]) -> list[int]:
    """Indices of states that are given by postal codes or names; InputError for unknown ones."""
    known = {name.upper(): i for i, name in enumerate(states)} | {code.upper(): i for i, code in enumerate(postal)}
    unknown = [name for name in chosen if name.upper() not in known]
    if unknown:
        raise InputError(f"there is no state '{unknown[0]}': there are {', '.join(postal)}")
    return [known[name.upper()] for name in chosen]


def start_date(parameters: Parameters) -> datetime.date:
    """The date of day 0 of an episode."""
    return FIRST_DATE + datetime.timedelta(int(parameters.start_day))


def real_history(parameters: Parameters, label: str = "real") -> EpisodeHistory:
    """The history in the data, from the first day of an episode to the last day without missing values.

    Productivity is computed by the model from the people who could not work and from the payments, which are
    distributed by population. Rewards are unknown.
    """
    first = int(parameters.start_day)
    people = ("susceptible", "infected", "recovered", "vaccinated", "deaths", "unemployed")
    columns = {"level": parameters.policy, **{name: getattr(parameters, name) for name in people}}
    whole = np.all([np.isfinite(rows).all(axis=1) for rows in columns.values()], axis=0)[first + 1 :]
    length = int(np.argmin(whole)) if not whole.all() else len(whole)
    if length < 1:
        raise InputError("the data hold no day after the first of an episode: there is no real history to compare with")
    rows = slice(first + 1, first + 1 + length)
    series = {name: np.asarray(values[rows], np.float64) for name, values in columns.items()}
    population = np.asarray(parameters.population, np.float64)
    subsidy = np.asarray(parameters.subsidy, np.float64).reshape(-1)[rows]
    unable = (TOO_SICK_SHARE * series["infected"] + series["deaths"]) * WORKING_AGE_SHARE + series["unemployed"]
    earned = np.maximum(0.0, WORKING_AGE_SHARE * population - unable) * dollars_per_worker(parameters)
    unknown = np.full_like(unable, np.nan)
    return EpisodeHistory(
        label=label,
        **country_fields(parameters),
        days=np.arange(1.0, length + 1.0),
        **series,
        productivity=earned + subsidy[:, None] * population / population.sum(),
        governor_rewards=unknown,
        subsidy=subsidy,
        planner_rewards=unknown[:, 0],
    )


def country_fields(parameters: Parameters) -> dict[str, Any]:
    """The fields of a history that do not depend on the episode."""
    population = np.asarray(parameters.population, np.float64)
    return {
        "states": tuple(parameters.states),
        "postal": tuple(parameters.postal),
        "population": population,
        "country": float(population.sum()),
        "start": start_date(parameters),
    }


def dollars_per_worker(parameters: Parameters) -> float:
    """Dollars per worker and day: the country's product over the number of workers at stringency 1."""
    population = np.asarray(parameters.population, np.float64)
    rate = np.log(2.0) + np.asarray(parameters.unemployment_bias, np.float64)  # percent, without level changes
    workers = (WORKING_AGE_SHARE - rate / 100.0) @ population
    return float(parameters.gdp_per_capita * population.sum() / workers / 365.0)
