"""The COVID-19 economy in plain NumPy: one world, float64, written from its rules and not from worldloom's own world.

Unemployment is the full sum over the last 600 days, so that the recursive form of the world can be held against it.
Step t is day ``start_day + t`` of the histories throughout, where the published system lets real decisions act a day
late; and before the first step the country's product is seen as it is, where the published one shows 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from worldloom.envs.covid.data import Parameters

YEAR = 365
LEVELS = 10
MODES = ("model", "real policies", "replay")


@dataclass(frozen=True)
class Settings:
    """What can be set; the values of the published training configuration.

    Attributes:
        mode: ``model``: the agents act. ``real policies``: what was decided then is decided again. ``replay``: so is
            what followed.
        episode_length: Days.
        cooldown: Days after a change of level in which a governor can only keep it; 0 or 1 for none.
        subsidy_interval: Days for which the planner's decision holds.
        subsidy_levels: Its greatest level.
        subsidy_per_person: Dollars a year at the greatest level.
        vaccine_start: The first step that may deliver vaccines.
        vaccine_interval: Days between deliveries, which fall on its multiples.
        vaccines_per_million: Doses per million people and day.
        health_weight, planner_health_weight: What the fitted odds of health against the economy are multiplied with.
        reward_scale: What all rewards are divided by.
        slope_factor, intercept_factor, unemployment_factor: What the fitted models are multiplied with, to see how much
            hangs on them.
    """

    mode: str = "model"
    episode_length: int = 540
    cooldown: int = 28
    subsidy_interval: int = 90
    subsidy_levels: int = 20
    subsidy_per_person: float = 20_000.0
    vaccine_start: int = 296
    vaccine_interval: int = 1
    vaccines_per_million: float = 3000.0
    health_weight: float = 0.3
    planner_health_weight: float = 0.45
    too_sick_to_work: float = 0.1
    working_share: float = 0.6
    interest: float = 0.03
    eta: float = 2.0
    reward_scale: float = 1.0
    slope_factor: float = 1.0
    intercept_factor: float = 1.0
    unemployment_factor: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """What a reset or a step gives, for n states.

    Attributes:
        governors: (n, n + 13) What each governor sees.
        planner: (9 n + 4) What the planner sees.
        governor_mask: (n, 11) Which actions are open, as truth values.
        planner_mask: (subsidy_levels + 1) The same.
        governor_reward: (n)
        planner_reward: One number.
        done: Whether the episode ended.
    """

    governors: np.ndarray
    planner: np.ndarray
    governor_mask: np.ndarray
    planner_mask: np.ndarray
    governor_reward: np.ndarray
    planner_reward: float
    done: bool


class Economy:
    """One country. What it is now can be read: all of shape (n), in people or dollars a day."""

    def __init__(self, parameters: Parameters, settings: Settings | None = None) -> None:
        self.parameters, self.settings = p, s = parameters, settings or Settings()
        assert s.mode in MODES
        self.n = p.num_states
        self.last_step = s.episode_length
        if s.mode == "real policies":
            self.last_step = min(self.last_step, p.num_days - 1 - p.start_day)
        elif s.mode == "replay":
            known = np.all(
                [
                    np.isfinite(h).all(axis=1)
                    for h in (p.susceptible, p.infected, p.recovered, p.vaccinated, p.deaths, p.unemployed)
                ],
                axis=0,
            )
            self.last_step = min(self.last_step, int(np.argmin([*known[p.start_day :], False])) - 1)

        ages = np.arange(p.filter_length)[::-1]  # of the changes in memory, oldest first, days
        self.decays = np.exp(-ages / p.lambdas[:, None])
        unemployed_when_open = (np.log(2.0) + p.unemployment_bias) / 100.0 * p.population
        workers_when_open = s.working_share * p.population - unemployed_when_open
        self.daily_product = (
            p.gdp_per_capita / (workers_when_open.sum() / p.population.sum()) / YEAR
        )  # c, dollars per worker
        self.full_product = workers_when_open * self.daily_product  # P*, dollars a day
        self.alphas = _weight(s.health_weight, p.alphas)
        self.planner_alpha = float(_weight(s.planner_health_weight, p.planner_alpha))
        # The product is a whole number of millionths, so that the quotient is exact where it is whole.
        self.delivery = np.floor(p.population * (s.vaccine_interval * s.vaccines_per_million) / 1e6)
        self.first_delivery = -(-s.vaccine_start // s.vaccine_interval) * s.vaccine_interval

    def reset(self) -> Outcome:
        p, s = self.parameters, self.settings
        day = p.start_day
        self.t = 0
        self.susceptible, self.infected, self.recovered = p.susceptible[day], p.infected[day], p.recovered[day]
        self.vaccinated, self.unemployed = p.vaccinated[day], p.unemployed[day]
        self.deaths = p.mortality * self.recovered
        self.subsidy = np.zeros(self.n)
        self._produce()
        self.subsidy_level = 0
        self._produce()
        self.until = np.zeros(self.n, int)
        self.levels = np.zeros((s.episode_length + 1, self.n), int)
        self.levels[0] = p.policy[day]
        past = np.concatenate([np.ones((p.filter_length + 1, self.n), int), p.policy[: day + 1]])[
            -p.filter_length - 1 :
        ]
        self.changes = np.zeros((p.filter_length + s.episode_length, self.n))
        self.changes[: p.filter_length] = np.diff(past, axis=0)
        return self._outcome(np.zeros(self.n), 0.0)

    def step(self, governor_actions: np.ndarray, planner_action: int) -> Outcome:
        """Let a day pass; actions are (n) levels from 0 (keep) to 10, and a level of subsidy."""
        deaths_before = self.deaths
        self.t += 1
        self._set_levels(np.asarray(governor_actions))
        self._set_subsidy(int(planner_action))
        if self.settings.mode == "replay":
            self._replay()
        else:
            self._spread()
            self._employ()
        self._produce()
        return self._outcome(*self._rewards(self.deaths - deaths_before))

    def _set_levels(self, actions: np.ndarray) -> None:
        p, t = self.parameters, self.t
        if self.settings.mode == "model":
            actions = np.where(self._open(t - 1), actions, 0)
        else:
            actions = p.policy[p.start_day + t]
        self.levels[t] = np.where(actions == 0, self.levels[t - 1], actions)
        self.changes[p.filter_length + t - 1] = self.levels[t] - self.levels[t - 1]
        wait = np.where(actions != 0, self.settings.cooldown, 1)
        self.until = np.where(t == self.until + 1, self.until + wait, self.until)

    def _open(self, t: int) -> np.ndarray:
        """(n) Whether a governor may set a level in the step after ``t``."""
        return t >= self.until if self.settings.mode == "model" else np.ones(self.n, bool)

    def _set_subsidy(self, action: int) -> None:
        p, s, t = self.parameters, self.settings, self.t
        if s.mode != "model":
            self.subsidy_level = self._paid_level()
        elif (t - 1) % s.subsidy_interval == 0:
            self.subsidy_level = action
        self.subsidy = self.subsidy_level / s.subsidy_levels * p.population * s.subsidy_per_person / YEAR

    def _paid_level(self) -> int:
        """The level nearest to what was paid in the last 90 days, each payment spread over the 90 days after it."""
        p, s = self.parameters, self.settings
        per_level = p.population.sum() * s.subsidy_per_person / s.subsidy_levels * s.subsidy_interval / YEAR
        today = p.start_day + self.t
        recent = p.subsidy[max(p.start_day, today - s.subsidy_interval + 1) : today + 1]
        return min(int(np.round(recent / per_level).sum()), s.subsidy_levels)

    def _spread(self) -> None:
        """Infections, recoveries, vaccinations and deaths of the day."""
        p, s, t = self.parameters, self.settings, self.t
        doses = self.delivery if t >= self.first_delivery and t % s.vaccine_interval == 0 else np.zeros(self.n)
        beta = s.intercept_factor * p.beta_intercept + s.slope_factor * p.beta_slope * self._level(t - p.beta_delay)
        given = np.minimum(doses, self.susceptible)
        protected = np.minimum(1.0, doses / (self.susceptible + 1e-10))
        d_susceptible = -beta * (self.susceptible / p.population) * self.infected * (1.0 - protected) - given
        d_recovered = p.gamma * self.infected + given
        d_infected = -d_susceptible - d_recovered
        self.susceptible = np.maximum(self.susceptible + d_susceptible, 0.0)
        self.infected = np.maximum(self.infected + d_infected, 0.0)
        self.recovered = np.maximum(self.recovered + d_recovered, 0.0)
        self.vaccinated = self.vaccinated + given
        self.deaths = p.mortality * (self.recovered - self.vaccinated)

    def _level(self, t: int) -> np.ndarray:
        """(n) The level after step ``t``; that of the history where ``t`` is before the start."""
        return self.levels[t] if t >= 0 else self.parameters.policy[self.parameters.start_day + t]

    def _employ(self) -> None:
        p = self.parameters
        response = self.decays @ self.changes[self.t : self.t + p.filter_length]  # (filters, n)
        drive = self.settings.unemployment_factor * (p.filter_weights * response.T).sum(axis=1)
        self.unemployed = (np.logaddexp(0.0, drive) + p.unemployment_bias) / 100.0 * p.population

    def _replay(self) -> None:
        p = self.parameters
        day = p.start_day + self.t
        self.susceptible, self.infected, self.recovered = (
            np.maximum(h[day], 0.0) for h in (p.susceptible, p.infected, p.recovered)
        )
        self.vaccinated, self.deaths = np.maximum(p.vaccinated[day], 0.0), np.maximum(p.deaths[day], 0.0)
        self.unemployed = p.unemployed[day]

    def _produce(self) -> None:
        p, s = self.parameters, self.settings
        absent = (s.too_sick_to_work * self.infected + self.deaths) * s.working_share + self.unemployed
        workers = np.maximum(0.0, s.working_share * p.population - absent)
        self.product = workers * self.daily_product + self.subsidy

    def _rewards(self, new_deaths: np.ndarray) -> tuple[np.ndarray, float]:
        p, s = self.parameters, self.settings
        norm = YEAR * self.full_product
        health = _scaled(-new_deaths * p.value_of_life / norm, p.health_min, p.health_max)
        economy = _scaled(self._utility(self.product / norm), p.economy_min, p.economy_max)
        governors = self.alphas * health + (1.0 - self.alphas) * economy
        norm = norm.sum()
        kept = self.product.sum() - (1.0 + s.interest) * self.subsidy.sum()
        health = _scaled(-new_deaths.sum() * p.value_of_life / norm, p.planner_health_min, p.planner_health_max)
        economy = _scaled(self._utility(kept / norm), p.planner_economy_min, p.planner_economy_max)
        planner = self.planner_alpha * health + (1.0 - self.planner_alpha) * economy
        return governors / s.reward_scale, float(planner / s.reward_scale)

    def _utility(self, x: np.ndarray) -> np.ndarray:
        """Constant relative risk aversion: the more there is, the less more of it is worth."""
        eta, year = self.settings.eta, np.clip(YEAR * x, 0.1, 3.0)
        gain = np.log(year) if eta == 1.0 else (year ** (1.0 - eta) - 1.0) / (1.0 - eta)
        return (1.0 + gain) / YEAR

    def _outcome(self, governor_reward: np.ndarray, planner_reward: float) -> Outcome:
        p, s, t = self.parameters, self.settings, self.t
        people = (
            np.stack([self.susceptible, self.infected, self.recovered, self.deaths, self.vaccinated, self.unemployed])
            / p.population
        )
        product = self.product / self.full_product
        lagged, level = self._level(t + 1 - p.beta_delay) / LEVELS, self.levels[t] / LEVELS
        next_delivery = max(self.first_delivery, -(-(t + 1) // s.vaccine_interval) * s.vaccine_interval)
        to_vaccines = min(1.0, (next_delivery - (t + 1)) / s.vaccine_interval)  # 0 where the next step delivers
        shared = [
            1.0 - (t % s.subsidy_interval) / s.subsidy_interval,
            self.subsidy_level / s.subsidy_levels,
            to_vaccines,
        ]
        time = t / s.episode_length
        every = np.ones((self.n, 1))
        governors = np.hstack(
            [np.eye(self.n), people.T, product[:, None], lagged[:, None], time * every, level[:, None], every * shared]
        )
        planner = np.concatenate([people.ravel(), product, lagged, level, [time], shared])
        governor_mask = np.ones((self.n, LEVELS + 1), bool)
        governor_mask[:, 1:] = self._open(t)[:, None]
        planner_mask = np.ones(s.subsidy_levels + 1, bool)
        planner_mask[1:] = s.mode != "model" or t % s.subsidy_interval == 0
        return Outcome(
            governors, planner, governor_mask, planner_mask, governor_reward, planner_reward, t >= self.last_step
        )


def _weight(factor: float, alpha: np.ndarray | float) -> np.ndarray:
    """The weight of health when the odds of a fitted weight are multiplied."""
    odds = factor * np.asarray(alpha) / (1.0 - np.asarray(alpha))
    return odds / (1.0 + odds)


def _scaled(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return (x - low) / (high - low + 1e-10)
