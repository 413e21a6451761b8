"""Systems of incomes and rewards: production, subsidies and welfare of governors and planner."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.covid.entities import Kinds
from worldloom.envs.covid.formulas import YEAR, decided, scaled, share_at_work, share_of_health, utility, workers
from worldloom.envs.covid.replay_data import Mode


def produce_system(kinds: Kinds) -> System:
    """Productivity and reward of each governor."""
    Governor, Planner, Country, subsidy_levels = kinds.Governor, kinds.Planner, kinds.Country, kinds.subsidy_levels

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

    return produce


def plan_system(kinds: Kinds) -> System:
    """Subsidies and reward of the planner, and the end of the episode."""
    Governor, Planner, Country, subsidy_levels = kinds.Governor, kinds.Planner, kinds.Country, kinds.subsidy_levels

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
            world.terminate()  # no bootstrapping: the horizon is part of the game, and agents observe the time
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

    return plan
