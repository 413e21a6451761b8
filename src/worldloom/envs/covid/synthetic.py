"""A synthetic country of 51 states for tests and first experiments with the COVID-19 economy. No figure is real.

Every number is a formula of the state's index i and the day d, so it is the same on every machine. States differ by
``u_k(i)``, the fractional part of ``(i + 1) * sqrt(k)`` for a prime k: uniform on 0 to 1, uncorrelated between primes.

    population       5 million * exp(z) with z = ln(u / (1 - u)) / 1.8: approximately log-normal; hundreds plus 50
    infections       reproduction number 1.6 to 2.4 at level 1 and 0.3 to 0.7 at level 10, over 14 days of disease;
                     beta_slope and beta_intercept are the line through both
    unemployment     3 to 4.5 percent and a softplus; a step from level 1 to 10 adds 4 to 9 percent, then decays
    alphas           0.65 to 0.85; the planner's is 0.75
    indices          realistic daily ranges: health -0.01 to 0, economy 0.0020 to 0.0027
    policy           level 1 until day 70 to 80, a rise to 6 to 9 in 14 days, then one less every 30 days down to 2
    subsidy          100 billion dollars on day 105 and 50 billion on day 361

Histories are known from day 50, with 20 to 200 infected per million, to day 485. They follow the models of the economy
at the levels of ``policy``, with 3,000 doses of vaccine per million people per day from day 377.
"""

from __future__ import annotations

import numpy as np

from worldloom.envs.covid.data import LEVELS, Parameters

STATES, DAYS, START_DAY = 51, 518, 81
FIRST_KNOWN, LAST_KNOWN, FIRST_VACCINES = 50, 485, 377
GAMMA, DELAY, MORTALITY = 1.0 / 14.0, 29, 0.02
LAMBDAS = np.array([28.0, 63.0, 129.0, 264.0, 542.0])  # days
SHAPE = np.array([-0.2, -0.1, 0.1, 0.4, 0.8])  # of the five decays; their sum is 1
DOSES = 3000.0 / 1e6  # per person and day


def synthetic() -> Parameters:
    """The synthetic country."""
    u = _spread(11)
    population = np.round(5e4 * np.exp(np.log(u / (1.0 - u)) / 1.8)) * 100.0 + 50.0
    at_one, at_ten = GAMMA * (1.6 + 0.8 * _spread(2)), GAMMA * (0.3 + 0.4 * _spread(3))
    slope = (at_ten - at_one) / (LEVELS - 1)
    weights = (4.0 + 5.0 * _spread(5))[:, None] / (LEVELS - 1) * SHAPE
    bias = 3.0 + 1.5 * _spread(7)
    policy = _policy()
    subsidy = np.zeros(DAYS)
    subsidy[105], subsidy[361] = 100e9, 50e9
    return Parameters(
        states=tuple(f"State {number:02d}" for number in range(1, STATES + 1)),
        postal=tuple(f"{number:02d}" for number in range(1, STATES + 1)),
        population=population,
        beta_slope=slope,
        beta_intercept=at_one - slope,
        gamma=GAMMA,
        beta_delay=DELAY,
        mortality=MORTALITY,
        lambdas=LAMBDAS,
        filter_weights=weights,
        unemployment_bias=bias,
        filter_length=600,
        gdp_per_capita=60_000.0,
        value_of_life=1e7,
        alphas=0.65 + 0.2 * _spread(13),
        planner_alpha=0.75,
        health_min=-0.004 - 0.006 * _spread(17),
        health_max=-2e-5 - 8e-5 * _spread(19),
        economy_min=0.0020 + 0.0003 * _spread(23),
        economy_max=0.0027 + 0.00003 * _spread(29),
        planner_health_min=-0.007,
        planner_health_max=-0.00015,
        planner_economy_min=0.0021,
        planner_economy_max=0.0027,
        policy=policy,
        subsidy=subsidy,
        unemployed=_known(_unemployed(policy, weights, bias, population), 0),
        start_day=START_DAY,
        synthetic=True,
        source="synthetic: made up by worldloom",
        **_disease(population, slope, at_one - slope, policy),
    )


def _spread(prime: int) -> np.ndarray:
    """Values strictly between 0 and 1, shape (STATES,). Square roots are correctly rounded on every machine."""
    return np.arange(1, STATES + 1) * np.sqrt(float(prime)) % 1.0


def _policy() -> np.ndarray:
    """Levels, shape (DAYS, STATES)."""
    day = np.arange(DAYS)[:, None]
    closing = 70 + (10 * _spread(31)).astype(int)
    peak = 6 + (4 * _spread(37)).astype(int)
    rise = 1 + (peak - 1) * np.clip(day - closing, 0, 14) // 14
    fall = np.clip(day - closing - 14, 0, None) // 30
    return np.maximum(rise - fall, np.minimum(rise, 2))


def _disease(
    population: np.ndarray, slope: np.ndarray, intercept: np.ndarray, policy: np.ndarray
) -> dict[str, np.ndarray]:
    """Histories from the infection model in whole people, shape (DAYS, STATES)."""
    names = ("susceptible", "infected", "recovered", "vaccinated", "deaths")
    histories = {name: np.zeros((DAYS, STATES)) for name in names}
    infected = np.round(population * (20.0 + 180.0 * _spread(41)) / 1e6)
    susceptible, recovered, vaccinated = population - infected, np.zeros(STATES), np.zeros(STATES)
    for day in range(FIRST_KNOWN, DAYS):
        now = (susceptible, infected, recovered, vaccinated, MORTALITY * (recovered - vaccinated))
        for name, people in zip(names, now, strict=True):
            histories[name][day] = people
        doses = np.floor(DOSES * population) if day >= FIRST_VACCINES else np.zeros(STATES)
        given = np.minimum(doses, susceptible)
        beta = intercept + slope * policy[max(day + 1 - DELAY, 0)]
        caught = np.minimum(np.round(beta * susceptible / population * infected), susceptible - given)
        healed = np.round(GAMMA * infected)
        susceptible, infected = susceptible - caught - given, infected + caught - healed
        recovered, vaccinated = recovered + healed + given, vaccinated + given
    return {
        name: history if name == "vaccinated" else _known(history, FIRST_KNOWN) for name, history in histories.items()
    }


def _unemployed(policy: np.ndarray, weights: np.ndarray, bias: np.ndarray, population: np.ndarray) -> np.ndarray:
    """Unemployed people, shape (DAYS, STATES). Rounded, since exponentials differ in the last bit between machines."""
    changes = np.diff(policy, axis=0, prepend=1)
    response = np.zeros((STATES, len(LAMBDAS)))
    unemployed = np.zeros((DAYS, STATES))
    for day in range(DAYS):
        response = response * np.exp(-1.0 / LAMBDAS) + changes[day][:, None]
        percent = np.logaddexp(0.0, (weights * response).sum(axis=1)) + bias
        unemployed[day] = np.round(percent / 100.0 * population)
    return unemployed


def _known(history: np.ndarray, first: int) -> np.ndarray:
    """``history`` with NaN before ``first`` and after the last known day."""
    day = np.arange(DAYS)[:, None]
    return np.where((day >= first) & (day <= LAST_KNOWN), history, np.nan)
