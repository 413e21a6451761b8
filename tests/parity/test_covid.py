"""The COVID-19 economy against its NumPy reference, step by step, and against the golden values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from references.covid import MODES, Economy, Outcome, Settings
from test_covid_golden import GOLDEN, HALF_DIGITS
from thorough import THOROUGH

import worldloom as wl
from worldloom.envs.covid import published
from worldloom.envs.covid.data import Parameters, load_synthetic
from worldloom.envs.covid.economy import economy, paid_levels

CONFIGURATIONS = int(os.environ.get("WORLDLOOM_PARITY", "30" if THOROUGH else "10"))
"""Worlds that are compared, each with a configuration of its own."""
STEPS = 500
SCALARS = {"gamma", "mortality", "gdp_per_capita", "value_of_life", "planner_alpha", "filter_length"}
ARRAYS = {"population", "beta_slope", "beta_intercept", "lambdas", "filter_weights", "unemployment_bias", "alphas"}
NAMES = {"cooldown": "action_cooldown_period", "episode_length": "max_steps"}


def configurations(count: int) -> Iterator[tuple[Parameters, Settings]]:
    """Random countries and settings. Replays keep the default subsidies, since payments are levels of that size."""
    rng, base = np.random.default_rng(6), load_synthetic()
    for number in range(count):
        mode = MODES[max(0, number % 5 - 2)]
        usual = Settings(mode=mode)
        country = replace(
            base,
            population=np.round(base.population * rng.uniform(1.0, 1.5, base.num_states)),
            beta_slope=base.beta_slope * rng.uniform(0.7, 1.3, base.num_states),
            beta_intercept=base.beta_intercept * rng.uniform(0.8, 1.1, base.num_states),
            lambdas=base.lambdas * rng.uniform(0.5, 1.5, 5),
            filter_weights=base.filter_weights * rng.uniform(0.5, 1.5, base.filter_weights.shape),
            alphas=rng.uniform(0.3, 0.9, base.num_states),
            gamma=rng.uniform(0.05, 0.1),
            mortality=rng.uniform(0.005, 0.03),
            filter_length=int(
                rng.integers(300, 500)
            ),  # so short that changes before the start are forgotten in an episode
        )
        yield (
            country,
            Settings(
                mode=mode,
                episode_length=int(rng.integers(200, 300)) if number % 2 else country.filter_length,
                cooldown=int(rng.integers(0, 40)),
                subsidy_interval=int(rng.integers(1, 120)) if mode == "model" else usual.subsidy_interval,
                subsidy_per_person=rng.uniform(1e4, 3e4) if mode == "model" else usual.subsidy_per_person,
                vaccine_start=int(rng.integers(0, 300)),
                vaccine_interval=int(rng.integers(1, 20)),
                vaccines_per_million=float(rng.integers(1000, 6000)),
                health_weight=rng.uniform(0.1, 1.0),
                planner_health_weight=rng.uniform(0.1, 1.0),
                too_sick_to_work=rng.uniform(0.0, 0.3),
                working_share=rng.uniform(0.5, 0.7),
                interest=rng.uniform(0.0, 0.1),
                eta=(1.0, 2.0, 0.5)[number % 3],
                reward_scale=rng.uniform(0.5, 2.0),
                slope_factor=rng.uniform(0.8, 1.2),
                intercept_factor=rng.uniform(0.8, 1.2),
                unemployment_factor=rng.uniform(0.5, 1.5),
            ),
        )


def configure(sim: wl.Simulation, chosen: list[tuple[Parameters, Settings]]) -> None:
    """Give every world its country and its settings."""
    for name in SCALARS | ARRAYS:
        values = np.stack([np.asarray(getattr(country, name)) for country, _ in chosen])
        sim.set_config(name, values.astype(sim.world[name].dtype))
    for name in Settings.__dataclass_fields__.keys() - {"mode", "subsidy_levels"}:
        column = NAMES.get(name, name)
        sim.set_config(
            column, np.array([getattr(settings, name) for _, settings in chosen]).astype(sim.world[column].dtype)
        )
    sim.set_config("mode", np.array([MODES.index(settings.mode) for _, settings in chosen], np.int32))
    sim.set_config("paid_level", np.stack([paid_levels(country) for country, _ in chosen]))


def close(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=what)


def compare_sight(sim: wl.Simulation, outcomes: list[Outcome], step: int) -> None:
    governors, planner = sim["Governor"], sim["Planner"]
    close(governors.sight.numpy(), np.stack([o.governors for o in outcomes]), f"step {step}: what governors see")
    close(planner.sight.numpy()[:, 0], np.stack([o.planner for o in outcomes]), f"step {step}: what the planner sees")
    np.testing.assert_array_equal(
        governors.action_mask.numpy(), np.stack([o.governor_mask for o in outcomes]), f"step {step}"
    )
    np.testing.assert_array_equal(
        planner.action_mask.numpy()[:, 0], np.stack([o.planner_mask for o in outcomes]), f"step {step}"
    )


def test_every_step_is_that_of_the_reference() -> None:
    chosen = list(configurations(CONFIGURATIONS))
    sim = wl.Simulation("CovidEconomySynthetic-v0", CONFIGURATIONS, "cpu", seed=0, threads=1)
    configure(sim, chosen)
    sim.reset(seeds=0)
    governors, planner = sim["Governor"], sim["Planner"]
    references = [Economy(country, settings) for country, settings in chosen]
    people = np.stack([country.population for country, _ in chosen])
    outcomes = [reference.reset() for reference in references]
    compare_sight(sim, outcomes, 0)
    rng = np.random.default_rng(7)
    ended = 0
    for step in range(1, STEPS + 1):
        levels = rng.integers(0, 11, (CONFIGURATIONS, 51), np.int32)
        subsidies = rng.integers(0, 21, (CONFIGURATIONS, 1), np.int32)
        sim.step({"Governor.stringency": levels, "Planner.subsidy": subsidies})
        outcomes = [reference.step(levels[w], subsidies[w, 0]) for w, reference in enumerate(references)]
        over = np.array([o.done for o in outcomes])
        close(
            governors.reward.numpy(),
            np.stack([o.governor_reward for o in outcomes]),
            f"step {step}: governors' rewards",
        )
        close(
            planner.reward.numpy()[:, 0],
            np.array([o.planner_reward for o in outcomes]),
            f"step {step}: the planner's reward",
        )
        np.testing.assert_array_equal(sim.truncated.numpy(), over, f"step {step}")
        np.testing.assert_array_equal(
            sim.terminated.numpy(), [r.t == r.settings.episode_length for r in references], f"step {step}"
        )
        for w in np.flatnonzero(over):
            close(governors.final_sight.numpy()[w], outcomes[w].governors, f"step {step}: the last that governors see")
            close(
                planner.final_sight.numpy()[w, 0], outcomes[w].planner, f"step {step}: the last that the planner sees"
            )
            outcomes[w] = references[w].reset()
        ended += int(over.sum())
        compare_sight(sim, outcomes, step)
        np.testing.assert_array_equal(
            governors.level.numpy(), np.stack([r.levels[r.t] for r in references]), f"step {step}"
        )
        np.testing.assert_array_equal(
            planner.level.numpy()[:, 0], [r.subsidy_level for r in references], f"step {step}"
        )
        for name in ("susceptible", "infected", "recovered", "vaccinated", "deaths", "unemployed"):
            expected = np.stack([getattr(r, name) for r in references])
            assert (np.abs(governors[name].numpy() - expected) <= 1e-4 * expected + 1e-6 * people).all(), (
                f"step {step}: {name}"
            )
    assert ended > CONFIGURATIONS // 2 and sim.errors() == []


def test_constant_policies_give_the_golden_values() -> None:
    folder = published.installed()
    if folder is None:
        pytest.skip("the published data is not here: pip install --no-deps ai-economist==1.7.1")
    parameters = published.read_published(folder)
    sim = wl.Simulation(
        economy(parameters, "CovidEconomyGolden-v0"), len(GOLDEN), "cpu", seed=0, threads=1, autoreset="disabled"
    )
    governors, planner = sim["Governor"], sim["Planner"]
    levels = np.repeat([[level] for level, _ in GOLDEN], 51, axis=1)
    subsidies = np.array([[subsidy] for _, subsidy in GOLDEN])
    sums, seen = np.zeros((len(GOLDEN), 2)), {}
    for day in range(1, 541):
        sim.step({"Governor.stringency": levels, "Planner.subsidy": subsidies})
        rewards = np.stack([governors.reward.numpy().mean(axis=1), planner.reward.numpy()[:, 0]], axis=1)
        sums += rewards
        unemployment = 100.0 * governors.unemployed.numpy().sum(axis=1) / parameters.population.sum()
        seen[day] = np.column_stack(
            [
                rewards,
                governors.deaths.numpy().sum(axis=1),
                unemployment,
                governors.productivity.numpy().sum(axis=1) / 1e9,
            ]
        )
    assert sim.truncated.numpy().all()
    for place, (first, last, golden_sums) in enumerate(GOLDEN.values()):
        for day, golden in ((1, first), (540, last)):
            assert (np.abs(seen[day][place] - golden) <= 1e-5 * np.abs(golden) + HALF_DIGITS).all(), (
                day,
                seen[day][place],
                golden,
            )
        np.testing.assert_allclose(sums[place], golden_sums, rtol=1e-5)
