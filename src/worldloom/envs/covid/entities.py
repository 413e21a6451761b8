"""Components of the economy: governors, the planner, and the country as the world."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import worldloom as wl
from worldloom.envs.covid.data import LEVELS, Parameters
from worldloom.envs.covid.replay_data import SUBSIDY_DAYS, SUBSIDY_PER_PERSON, Mode, last_known_day, paid_levels

OWN_FEATURES = 13
"""Features that a governor observes of its own state and of the time, behind the one-hot index of the state."""


@dataclass(frozen=True)
class Kinds:
    """The classes of one economy and its sizes, under the names that systems use.

    Attributes:
        Governor, Planner, Country: The entities and the world.
        states: Number of governors.
        delay: Days until a level acts on infections.
        filters: Number of filters of the unemployment model.
        ones: A vector of ones, one per filter.
        subsidy_levels: The greatest level of subsidies.
        country_sight: Length of the planner's observation.
    """

    Governor: Any
    Planner: Any
    Country: Any
    states: int
    delay: int
    filters: int
    ones: Any
    subsidy_levels: int
    country_sight: int


def make_kinds(parameters: Parameters, mode: Mode, subsidy_levels: int) -> Kinds:
    """The classes for a country of ``parameters``."""
    states, delay, filters = parameters.num_states, parameters.beta_delay, len(parameters.lambdas)
    Filters = wl.vec(filters)
    country_sight = 9 * states + 4
    return Kinds(
        governor_class(states, delay, Filters),
        planner_class(subsidy_levels, country_sight),
        country_class(parameters, int(mode), subsidy_levels, Filters),
        states,
        delay,
        filters,
        Filters(*[1.0] * filters),
        subsidy_levels,
        country_sight,
    )


def governor_class(states: int, delay: int, Filters: type) -> type[wl.Entity]:
    class Governor(wl.Entity):
        stringency: wl.Action(wl.Discrete(LEVELS + 1))  # 0 keeps the level, 1 to 10 set it
        action_mask: wl.Info(wl.int8, LEVELS + 1)
        until: int  # first step in which the level may be set again
        free: bool  # whether the level may be set in the next step
        level: int  # stringency, 1 to 10
        levels: wl.Array(wl.int8, delay)  # recent levels; the level after step t is at t % delay
        # People, as all components down to unemployed; float64, since a day changes little of a large number.
        susceptible: wl.float64
        infected: wl.float64
        recovered: wl.float64  # or vaccinated, or dead
        vaccinated: float
        deaths: wl.Info(float)
        new_deaths: float  # on this day
        unemployed: wl.Info(float)
        response: Filters  # level changes, exponentially decayed with one rate per filter
        productivity: wl.Info(float)  # dollars per day, subsidies included
        sight: wl.Observation(states + OWN_FEATURES)
        reward: wl.Reward

    return Governor


def planner_class(subsidy_levels: int, country_sight: int) -> type[wl.Entity]:
    class Planner(wl.Entity):
        subsidy: wl.Action(wl.Discrete(subsidy_levels + 1))  # the level, read every subsidy_interval days
        action_mask: wl.Info(wl.int8, subsidy_levels + 1)
        free: bool  # whether the level is read in the next step
        level: int  # of subsidies
        spending: wl.Info(float)  # dollars a day
        sight: wl.Observation(country_sight)
        reward: wl.Reward

    return Planner


def country_class(parameters: Parameters, played_again: int, subsidy_levels: int, Filters: type) -> type[wl.World]:
    class Country(wl.World):
        mode: wl.Config = played_again
        action_cooldown_period: wl.Config = 28  # days without a choice after a change of level; 0 or 1 for none
        subsidy_interval: wl.Config = SUBSIDY_DAYS  # days between decisions of the planner
        subsidy_per_person: wl.Config = SUBSIDY_PER_PERSON
        vaccine_start: wl.Config = 296  # first step with a delivery of vaccines
        vaccine_interval: wl.Config = 1  # days between deliveries, at multiples of it
        vaccines_per_million: wl.Config = 3000.0  # doses per million people per day
        health_weight: wl.Config = 0.3  # factor on the fitted odds of health against the economy
        planner_health_weight: wl.Config = 0.45
        too_sick_to_work: wl.Config = 0.1  # share of the infected
        working_share: wl.Config = 0.6  # share of people of working age
        interest: wl.Config = 0.03  # rate that the planner pays for subsidies
        eta: wl.Config = 2.0  # relative risk aversion
        reward_scale: wl.Config = 1.0  # rewards are divided by this
        slope_factor: wl.Config = 1.0  # factors on the fitted models, for sensitivity studies
        intercept_factor: wl.Config = 1.0
        unemployment_factor: wl.Config = 1.0
        gamma: wl.Config = parameters.gamma
        mortality: wl.Config = parameters.mortality
        gdp_per_capita: wl.Config = parameters.gdp_per_capita
        value_of_life: wl.Config = parameters.value_of_life
        filter_length: wl.Config = parameters.filter_length
        planner_alpha: wl.Config = parameters.planner_alpha
        planner_health_min: wl.Config = parameters.planner_health_min
        planner_health_max: wl.Config = parameters.planner_health_max
        planner_economy_min: wl.Config = parameters.planner_economy_min
        planner_economy_max: wl.Config = parameters.planner_economy_max
        population: wl.Config = np.array(parameters.population)  # float64: float32 is exact up to 16.8 million only
        beta_slope: wl.Config = _float32(parameters.beta_slope)
        beta_intercept: wl.Config = _float32(parameters.beta_intercept)
        lambdas: wl.Config = _float32(parameters.lambdas)
        filter_weights: wl.Config = _float32(parameters.filter_weights)
        unemployment_bias: wl.Config = _float32(parameters.unemployment_bias)
        alphas: wl.Config = _float32(parameters.alphas)
        health_min: wl.Config = _float32(parameters.health_min)
        health_max: wl.Config = _float32(parameters.health_max)
        economy_min: wl.Config = _float32(parameters.economy_min)
        economy_max: wl.Config = _float32(parameters.economy_max)
        start_day: wl.Config = parameters.start_day
        last_known_day: wl.Config = last_known_day(parameters)
        policy: wl.Config = np.array(parameters.policy)
        paid_level: wl.Config = paid_levels(parameters, subsidy_levels)
        real_susceptible: wl.Config = _float32(parameters.susceptible)
        real_infected: wl.Config = _float32(parameters.infected)
        real_recovered: wl.Config = _float32(parameters.recovered)
        real_vaccinated: wl.Config = _float32(parameters.vaccinated)
        real_deaths: wl.Config = _float32(parameters.deaths)
        real_unemployed: wl.Config = _float32(parameters.unemployed)
        people: float
        worker_product: float  # dollars per worker and day
        full_product: float  # dollars per day at level 1 without the disease
        decay: Filters  # factor on a response per day
        expiry: Filters  # factor on a response over the filter length

    return Country


def _float32(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, np.float32)
