"""The COVID-19 economy: the governors of 51 states close and open them, and a federal planner pays subsidies.

It is a simulation for research on learning. It is no tool for policy making, and its outcomes are no forecasts.

One step is a day. Governors trade deaths against work, day by day; what they see and what they get depends on what the planner pays,
whose money comes back with interest. The models of infections and of unemployment are fitted to what happened in 2020 and 2021.
"""

import enum
from math import inf

import numpy as np

import worldloom as wl
from worldloom import cw_mul, exp, floor
from worldloom.envs.covid.data import LEVELS, NOTICE, Parameters
from worldloom.envs.covid.formulas import (
    YEAR,
    decided,
    next_delivery,
    scaled,
    share_at_work,
    share_of_health,
    softplus,
    utility,
    workers,
)
from worldloom.envs.covid.rendering import renderer

EPISODE_DAYS = 540  # days
SUBSIDY_LEVELS = 20
SUBSIDY_DAYS = 90
SUBSIDY_PER_PERSON = 20_000.0  # dollars a year at the greatest level
OWN_FEATURES = (
    13  # numbers that a governor sees of its own state and of the time, behind the one that says which state it is
)
FRAMES_PER_SECOND = 15  # days, in a video

_PARAMETERS_BY_ID: dict[str, Parameters] = {}
"""What worlds were made of, by id."""


LIMITS = {
    **{
        name: (0.0, 1.0)
        for name in ("gamma", "mortality", "too_sick_to_work", "working_share", "planner_alpha", "alphas")
    },
    **{name: (1.0, inf) for name in ("subsidy_interval", "vaccine_interval", "filter_length", "population")},
    **{
        name: (0.0, inf)
        for name in (
            "action_cooldown_period",
            "subsidy_per_person",
            "vaccines_per_million",
            "health_weight",
            "planner_health_weight",
        )
    },
    **{name: (1.0e-6, inf) for name in ("reward_scale", "gdp_per_capita", "value_of_life", "lambdas")},
    "mode": (0, 2),
    "policy": (1, LEVELS),
}
"""The least and the greatest value of configurations."""


class Mode(enum.IntEnum):
    """What of the past is played again."""

    MODEL = 0  # nothing: the agents decide, and the fitted models answer
    REAL_POLICIES = 1  # what was decided; the fitted models answer
    REPLAY = 2  # what was decided and what followed


def economy(
    parameters: Parameters,
    id: str = "CovidEconomyOf-v0",
    *,
    mode: Mode = Mode.MODEL,
    episode_length: int = EPISODE_DAYS,
    subsidy_levels: int = SUBSIDY_LEVELS,
) -> wl.Definition:
    """Register the economy of a country as ``id`` and return its definition.

    All numbers are configuration, with those of the published training as defaults; the arguments are what fixes shapes, and two
    more for convenience.

    Args:
        parameters: The country: n states, the fitted models and what happened.
        id: Its name.
        mode: The default of the configuration ``mode``.
        episode_length: Days of an episode.
        subsidy_levels: The greatest level of subsidies.
    """
    if not 1 <= episode_length <= parameters.filter_length:
        raise wl.InputError(
            f"an episode of the economy has 1 to {parameters.filter_length} days, which is how long changes of level are felt, not {episode_length}"
        )
    if mode not in set(Mode):
        raise wl.InputError(
            f"there is no mode {mode!r} of the economy: take one of {', '.join(f'Mode.{known.name}' for known in Mode)}"
        )
    if subsidy_levels < 1:
        raise wl.InputError(f"there must be at least one level of subsidies, not {subsidy_levels}")
    states, delay, filters = parameters.num_states, parameters.beta_delay, len(parameters.lambdas)
    Filters = wl.vec(filters)
    ones = Filters(*[1.0] * filters)
    country_sight, played_again = 9 * states + 4, int(mode)

    class Governor(wl.Entity):
        stringency: wl.Action(wl.Discrete(LEVELS + 1))  # 0 keeps the level, 1 to 10 set it
        action_mask: wl.Info(wl.int8, LEVELS + 1)
        until: int  # the step from which on the level may be set again
        free: bool  # whether it may be set in the next step
        level: int  # of stringency, 1 to 10
        levels: wl.Array(wl.int8, delay)  # of the last days; that after step t lies at t % delay
        susceptible: (
            wl.float64
        )  # people, as all that follow; double precision, since days add little to many and take the last of them away
        infected: wl.float64
        recovered: wl.float64  # or vaccinated, or dead
        vaccinated: float
        deaths: wl.Info(float)
        new_deaths: float  # of the day
        unemployed: wl.Info(float)
        response: Filters  # changes of level, each fading at a pace of its own
        productivity: wl.Info(float)  # dollars a day, with subsidies
        sight: wl.Observation(states + OWN_FEATURES)
        reward: wl.Reward

    class Planner(wl.Entity):
        subsidy: wl.Action(wl.Discrete(subsidy_levels + 1))  # the level, read every subsidy_interval days
        action_mask: wl.Info(wl.int8, subsidy_levels + 1)
        free: bool  # whether the level is read in the next step
        level: int  # of subsidies
        spending: wl.Info(float)  # dollars a day
        sight: wl.Observation(country_sight)
        reward: wl.Reward

    class Country(wl.World):
        mode: wl.Config = played_again
        action_cooldown_period: wl.Config = (
            28  # days after a change of level in which a governor can only keep it; 0 or 1 for none
        )
        subsidy_interval: wl.Config = SUBSIDY_DAYS  # days for which the planner's decision holds
        subsidy_per_person: wl.Config = SUBSIDY_PER_PERSON
        vaccine_start: wl.Config = 296  # the first step that may deliver vaccines
        vaccine_interval: wl.Config = 1  # days between deliveries, which fall on its multiples
        vaccines_per_million: wl.Config = 3000.0  # doses per million people and day
        health_weight: wl.Config = 0.3  # what the fitted odds of health against the economy are multiplied with
        planner_health_weight: wl.Config = 0.45
        too_sick_to_work: wl.Config = 0.1  # of the infected
        working_share: wl.Config = 0.6  # of the people, those of working age
        interest: wl.Config = 0.03  # that the planner pays for subsidies
        eta: wl.Config = 2.0  # aversion to risk
        reward_scale: wl.Config = 1.0  # what rewards are divided by
        slope_factor: wl.Config = 1.0  # what the fitted models are multiplied with, to see how much hangs on them
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
        population: wl.Config = np.array(
            parameters.population
        )  # float64: whole people, and single precision ends at 16.8 million
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
        worker_product: float  # dollars that a worker earns in a day
        full_product: float  # dollars that the country earns in a day at level 1 without a disease
        decay: Filters  # of a response in a day
        expiry: Filters  # of a response until it is forgotten

    @wl.system
    def found(world: Country):
        people, open_workers = wl.float64(0.0), wl.float64(0.0)
        for i in range(states):
            people += world.population[i]
            open_workers += world.population[i] * wl.float64(
                share_at_work(world.unemployment_bias[i], world.working_share)
            )
        world.people = float(people)
        world.worker_product = world.gdp_per_capita / float(open_workers / people) / YEAR
        world.full_product = float(open_workers) * world.worker_product
        for k in range(filters):
            world.decay[k] = exp(-1.0 / world.lambdas[k])
            world.expiry[k] = exp(-float(world.filter_length) / world.lambdas[k])

    @wl.system
    def take_office(governor: Governor, world: Country):
        i, today = governor.id, world.start_day
        before = 1
        for day in range(today + 1):
            governor.response = cw_mul(governor.response, world.decay) + ones * float(world.policy[day, i] - before)
            before = world.policy[day, i]
        governor.level = before
        for slot in range(delay):
            governor.levels[slot] = wl.int8(world.policy[today + slot - delay if slot > 0 else today, i])
        governor.susceptible = wl.float64(world.real_susceptible[today, i])
        governor.infected = wl.float64(world.real_infected[today, i])
        governor.recovered = wl.float64(world.real_recovered[today, i])
        governor.vaccinated = world.real_vaccinated[today, i]
        governor.deaths = world.mortality * float(governor.recovered)
        governor.unemployed = world.real_unemployed[today, i]
        sick = world.too_sick_to_work * float(governor.infected) + governor.deaths
        at_work = workers(float(world.population[i]), sick, governor.unemployed, world.working_share)
        governor.productivity = at_work * world.worker_product
        governor.free = True
        for action in range(LEVELS + 1):
            governor.action_mask[action] = wl.int8(1)
        governor.sight[i] = 1.0  # which state it is: written once, since it stays

    @wl.system
    def take_planners_office(planner: Planner):
        planner.free = True
        for action in range(subsidy_levels + 1):
            planner.action_mask[action] = wl.int8(1)

    @wl.system
    def decide(governor: Governor, world: Country):
        t = world.step + 1
        level = governor.level
        if world.mode != Mode.MODEL:
            level = world.policy[world.start_day + t, governor.id]
        elif t > governor.until and governor.stringency != 0:
            level = governor.stringency
        if t == governor.until + 1:
            governor.until += world.action_cooldown_period if governor.stringency != 0 else 1
        free = world.mode != Mode.MODEL or t >= governor.until
        if free != governor.free:
            governor.free = free
            for action in range(1, LEVELS + 1):
                governor.action_mask[action] = wl.int8(1 if free else 0)
        governor.response = cw_mul(governor.response, world.decay) + ones * float(level - governor.level)
        forgotten = (
            world.start_day + t - world.filter_length
        )  # the day; it lies before the episode, which is no longer than the filters
        if forgotten >= 0:
            before = world.policy[forgotten - 1, governor.id] if forgotten > 0 else 1
            governor.response -= world.expiry * float(world.policy[forgotten, governor.id] - before)
        governor.level = level

    @wl.system
    def spread(governor: Governor, world: Country):
        i, t = governor.id, world.step + 1
        slot = t % delay
        acting = float(governor.levels[slot])
        governor.levels[slot] = wl.int8(governor.level)
        if world.mode == Mode.REPLAY:
            return
        people = world.population[i]
        doses = wl.float64(0.0)
        if next_delivery(t, world.vaccine_start, world.vaccine_interval) == t:
            doses = floor(people * wl.float64(float(world.vaccine_interval) * world.vaccines_per_million) / 1e6)
        beta = world.intercept_factor * world.beta_intercept[i] + world.slope_factor * world.beta_slope[i] * acting
        given = min(doses, governor.susceptible)
        protected = min(1.0, doses / (governor.susceptible + 1e-10))
        caught = beta * (governor.susceptible / people) * governor.infected * (1.0 - protected)
        healed = world.gamma * governor.infected
        governor.susceptible = max(governor.susceptible - caught - given, 0.0)
        governor.infected = max(governor.infected + caught - healed, 0.0)
        governor.recovered += healed + given
        governor.vaccinated += float(given)
        governor.new_deaths = world.mortality * float(healed)
        governor.deaths += governor.new_deaths
        drive = 0.0
        for k in range(filters):
            drive += world.filter_weights[i, k] * governor.response[k]
        percent = softplus(world.unemployment_factor * drive) + world.unemployment_bias[i]
        governor.unemployed = percent / 100.0 * float(people)

    @wl.system
    def repeat(governor: Governor, world: Country):
        if world.mode != Mode.REPLAY:
            return
        i, day = governor.id, world.start_day + world.step + 1
        governor.susceptible = wl.float64(max(world.real_susceptible[day, i], 0.0))
        governor.infected = wl.float64(max(world.real_infected[day, i], 0.0))
        governor.recovered = wl.float64(max(world.real_recovered[day, i], 0.0))
        governor.vaccinated = max(world.real_vaccinated[day, i], 0.0)
        governor.new_deaths = max(world.real_deaths[day, i], 0.0) - governor.deaths
        governor.deaths = max(world.real_deaths[day, i], 0.0)
        governor.unemployed = world.real_unemployed[day, i]

    @wl.system
    def produce(governor: Governor, world: Country):
        i, t, people = governor.id, world.step + 1, float(world.population[governor.id])
        planner = world.at(Planner, 0)
        level = decided(planner.level, planner.subsidy, t, world.subsidy_interval)
        if world.mode != Mode.MODEL:
            level = world.paid_level[world.start_day + t]
        subsidy = float(level) / float(subsidy_levels) * people * world.subsidy_per_person / YEAR
        sick = world.too_sick_to_work * float(governor.infected) + governor.deaths
        governor.productivity = (
            workers(people, sick, governor.unemployed, world.working_share) * world.worker_product + subsidy
        )
        full = share_at_work(world.unemployment_bias[i], world.working_share) * people * world.worker_product
        health = scaled(
            -governor.new_deaths * world.value_of_life / (YEAR * full), world.health_min[i], world.health_max[i]
        )
        wealth = scaled(utility(governor.productivity / full, world.eta), world.economy_min[i], world.economy_max[i])
        alpha = share_of_health(world.health_weight, world.alphas[i])
        governor.reward = (alpha * health + (1.0 - alpha) * wealth) / world.reward_scale

    @wl.system
    def plan(planner: Planner, world: Country):
        t, day = world.step + 1, world.start_day + world.step + 1
        planner.level = decided(planner.level, planner.subsidy, t, world.subsidy_interval)
        last = world.filter_length
        if world.mode != Mode.MODEL:
            planner.level = world.paid_level[day]
            last = (world.last_known_day if world.mode == Mode.REPLAY else len(world.policy) - 1) - world.start_day
        if t >= last:
            world.truncate()
        if t == world.max_steps:
            world.terminate()  # the horizon belongs to the game, and agents see the time: nothing counts that would come after it
        free = world.mode != Mode.MODEL or t % world.subsidy_interval == 0
        if free != planner.free:
            planner.free = free
            for action in range(1, subsidy_levels + 1):
                planner.action_mask[action] = wl.int8(1 if free else 0)
        planner.spending = float(planner.level) / float(subsidy_levels) * world.people * world.subsidy_per_person / YEAR
        new_deaths, productivity = 0.0, 0.0
        for governor in world.all(Governor):
            new_deaths += governor.new_deaths
            productivity += governor.productivity
        full = world.full_product
        health = scaled(
            -new_deaths * world.value_of_life / (YEAR * full), world.planner_health_min, world.planner_health_max
        )
        kept = productivity - (1.0 + world.interest) * planner.spending
        wealth = scaled(utility(kept / full, world.eta), world.planner_economy_min, world.planner_economy_max)
        alpha = share_of_health(world.planner_health_weight, world.planner_alpha)
        planner.reward = (alpha * health + (1.0 - alpha) * wealth) / world.reward_scale

    @wl.system
    def look(governor: Governor, world: Country):
        t, people = world.step, float(world.population[governor.id])
        full = share_at_work(world.unemployment_bias[governor.id], world.working_share) * people * world.worker_product
        governor.sight[states] = float(governor.susceptible) / people
        governor.sight[states + 1] = float(governor.infected) / people
        governor.sight[states + 2] = float(governor.recovered) / people
        governor.sight[states + 3] = governor.deaths / people
        governor.sight[states + 4] = governor.vaccinated / people
        governor.sight[states + 5] = governor.unemployed / people
        governor.sight[states + 6] = governor.productivity / full
        governor.sight[states + 7] = float(governor.levels[(t + 1) % delay]) / float(LEVELS)  # the level that acts next
        governor.sight[states + 8] = float(t) / float(max(world.max_steps, 1))
        governor.sight[states + 9] = float(governor.level) / float(LEVELS)
        governor.sight[states + 10] = 1.0 - float(t % world.subsidy_interval) / float(world.subsidy_interval)
        governor.sight[states + 11] = float(world.at(Planner, 0).level) / float(subsidy_levels)
        wait = next_delivery(t + 1, world.vaccine_start, world.vaccine_interval) - (t + 1)
        governor.sight[states + 12] = min(1.0, float(wait) / float(world.vaccine_interval))

    @wl.system(threads=32)
    def look_over(planner: Planner, world: Country):
        """The planner sees what the governors see: nine numbers of every state, each for all states, and four that all share."""
        for place in wl.share(country_sight):
            if place < 9 * states:
                part = place // states
                planner.sight[place] = world.at(Governor, place % states).sight[states + part + part // 8]
            else:
                part = place - 9 * states
                planner.sight[place] = world.at(Governor, 0).sight[states + 8 + part + (1 if part > 0 else 0)]

    _PARAMETERS_BY_ID[id] = parameters
    return wl.register(
        id,
        world=Country,
        entities={Governor: states, Planner: 1},
        reset=[found, take_office, take_planners_office],
        step=[decide, spread, repeat, produce, plan],
        observe=[look, look_over],
        max_steps=episode_length,
        doc=f"{states} governors and a planner in a pandemic ({'synthetic data' if parameters.synthetic else 'real data'}); no tool for policy making.",
        render=renderer(parameters),
        notice=NOTICE,
        limits=LIMITS
        | {
            "max_steps": (1, parameters.filter_length),
            "start_day": (delay - 1, min(parameters.num_days, parameters.filter_length) - 1),
        },
        frames_per_second=FRAMES_PER_SECOND,
    )


def parameters_of(made: wl.Definition) -> Parameters:
    """The country that :func:`economy` made a world of; InputError for a world of another kind."""
    if made.id not in _PARAMETERS_BY_ID:
        raise wl.InputError(f"world '{made.id}' is no COVID-19 economy: name one, such as CovidEconomySynthetic-v0")
    return _PARAMETERS_BY_ID[made.id]


def last_known_day(parameters: Parameters) -> int:
    """The last day after the start up to which all that a replay needs is known."""
    p = parameters
    histories = (p.susceptible, p.infected, p.recovered, p.vaccinated, p.deaths, p.unemployed)
    known = np.all([np.isfinite(history).all(axis=1) for history in histories], axis=0)
    return p.start_day + int(np.argmin([*known[p.start_day :], False])) - 1


def paid_levels(parameters: Parameters, subsidy_levels: int = SUBSIDY_LEVELS) -> np.ndarray:
    """(days) int32; the planner's level on each day, had it paid what was paid since the start: each payment to the nearest level for 90 days."""
    p = parameters
    of_a_level = p.population.sum() * SUBSIDY_PER_PERSON / subsidy_levels * SUBSIDY_DAYS / YEAR
    levels = np.zeros(p.num_days, np.int32)
    for day in np.flatnonzero(p.subsidy[p.start_day :]) + p.start_day:
        levels[day : day + SUBSIDY_DAYS] += np.int32(round(p.subsidy[day] / of_a_level))
    return np.minimum(levels, subsidy_levels).astype(np.int32)


def _float32(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, np.float32)
