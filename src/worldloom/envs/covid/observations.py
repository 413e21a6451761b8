"""Systems that write the observations of governors and planner."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.covid.data import LEVELS
from worldloom.envs.covid.entities import Kinds
from worldloom.envs.covid.formulas import next_delivery, share_at_work


def look_system(kinds: Kinds) -> System:
    """A governor observes its own state and the time."""
    Governor, Planner, Country = kinds.Governor, kinds.Planner, kinds.Country
    states, delay, subsidy_levels = kinds.states, kinds.delay, kinds.subsidy_levels

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
        governor.sight[states + 7] = float(governor.levels[(t + 1) % delay]) / float(
            LEVELS
        )  # the level that acts in the next step
        governor.sight[states + 8] = float(t) / float(max(world.max_steps, 1))
        governor.sight[states + 9] = float(governor.level) / float(LEVELS)
        governor.sight[states + 10] = 1.0 - float(t % world.subsidy_interval) / float(world.subsidy_interval)
        governor.sight[states + 11] = float(world.at(Planner, 0).level) / float(subsidy_levels)
        wait = next_delivery(t + 1, world.vaccine_start, world.vaccine_interval) - (t + 1)
        governor.sight[states + 12] = min(1.0, float(wait) / float(world.vaccine_interval))

    return look


def look_over_system(kinds: Kinds) -> System:
    """The planner observes all states."""
    Governor, Planner, Country = kinds.Governor, kinds.Planner, kinds.Country
    states, country_sight = kinds.states, kinds.country_sight

    @wl.system(threads=32)
    def look_over(planner: Planner, world: Country):
        """The planner observes nine features of every state, feature by feature, and four that all states share."""
        for place in wl.share(country_sight):
            if place < 9 * states:
                part = place // states
                planner.sight[place] = world.at(Governor, place % states).sight[states + part + part // 8]
            else:
                part = place - 9 * states
                planner.sight[place] = world.at(Governor, 0).sight[states + 8 + part + (1 if part > 0 else 0)]

    return look_over
