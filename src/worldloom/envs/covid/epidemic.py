"""Systems of the epidemic: the start of an episode, stringency levels, infections, deaths and unemployment."""

import worldloom as wl
from worldloom import cw_mul, exp, floor
from worldloom.core.frontend.system import System
from worldloom.envs.covid.data import LEVELS
from worldloom.envs.covid.entities import Kinds
from worldloom.envs.covid.formulas import YEAR, next_delivery, share_at_work, softplus, workers
from worldloom.envs.covid.replay_data import Mode


def country_start_system(kinds: Kinds) -> System:
    """Derives the constants of an episode from the configuration."""
    Country, states, filters = kinds.Country, kinds.states, kinds.filters

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

    return found


def agent_start_systems(kinds: Kinds) -> list[System]:
    """Set governors to the start day of the data, and the action masks of both kinds."""
    Governor, Planner, Country = kinds.Governor, kinds.Planner, kinds.Country
    delay, ones, subsidy_levels = kinds.delay, kinds.ones, kinds.subsidy_levels

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
        governor.sight[i] = 1.0  # one-hot index of the state, constant over an episode

    @wl.system
    def take_planners_office(planner: Planner):
        planner.free = True
        for action in range(subsidy_levels + 1):
            planner.action_mask[action] = wl.int8(1)

    return [take_office, take_planners_office]


def decide_system(kinds: Kinds) -> System:
    """Sets the stringency level: the governor's action outside of the cooldown, or the historical one."""
    Governor, Country, ones = kinds.Governor, kinds.Country, kinds.ones

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
        # The day whose change leaves the filters; it lies before the episode, which is no longer than the filters.
        forgotten = world.start_day + t - world.filter_length
        if forgotten >= 0:
            before = world.policy[forgotten - 1, governor.id] if forgotten > 0 else 1
            governor.response -= world.expiry * float(world.policy[forgotten, governor.id] - before)
        governor.level = level

    return decide


def spread_system(kinds: Kinds) -> System:
    """The SIR model with vaccination and delayed levels, and the filter model of unemployment."""
    Governor, Country, delay, filters = kinds.Governor, kinds.Country, kinds.delay, kinds.filters

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

    return spread


def repeat_system(kinds: Kinds) -> System:
    """Copies the historical outcomes in ``Mode.REPLAY``."""
    Governor, Country = kinds.Governor, kinds.Country

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

    return repeat
