"""The economy as a world: masks and cooldowns, replays, countries of any size, and equal results on every device."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.registry import registry
from worldloom.core.tools.compare import Comparison
from worldloom.envs.covid.data import Parameters, load_synthetic
from worldloom.envs.covid.economy import Mode, economy, last_known_day, paid_levels
from worldloom.learn.agents.agent_group import AgentGroup, AgentSlice

ID = "CovidEconomySynthetic-v0"


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


def acts(worlds: int, level: int, subsidy: int) -> dict[str, np.ndarray]:
    return {
        "Governor.stringency": np.full((worlds, 51), level, np.int32),
        "Planner.subsidy": np.full((worlds, 1), subsidy, np.int32),
    }


def three_states() -> Parameters:
    """The first three of the synthetic states, with a shorter delay and two filters."""
    base = load_synthetic()
    cut = {f.name: getattr(base, f.name) for f in fields(base)}
    cut = {name: value[..., :3] if getattr(value, "shape", ())[-1:] == (51,) else value for name, value in cut.items()}
    cut |= {"states": base.states[:3], "postal": base.postal[:3], "filter_weights": base.filter_weights[:3, :2]}
    return Parameters(**{**cut, "lambdas": base.lambdas[:2], "beta_delay": 5})


def test_plain_python_and_compiled_code_agree_in_every_mode() -> None:
    comparison = Comparison(ID, ["python", "cpu"], 3, seed=3)
    for sim in comparison.simulations:
        sim.set_config("mode", np.array(list(Mode), np.int32))
        sim.set_config("vaccine_start", np.array([1, 2, 1], np.int32))
        sim.set_config("action_cooldown_period", 2)
    assert comparison.run(4) is None
    assert [sim.errors() for sim in comparison.simulations] == [[], []]


def test_a_level_that_was_set_holds_for_the_cooldown() -> None:
    sim = wl.Simulation(ID, 2, "cpu", seed=0)
    sim.set_config("action_cooldown_period", np.array([28, 0], np.int32))
    governors = sim["Governor"]
    start = governors.level.numpy()[0].copy()
    assert governors.action_mask.numpy().all()
    sim.step(acts(2, 0, 0))
    assert (governors.level.numpy() == start).all() and governors.action_mask.numpy().all(), (
        "who keeps its level may set it the next day"
    )
    sim.step(acts(2, 4, 0))
    for day in range(3, 31):
        assert (governors.action_mask.numpy()[0] == [1] + [0] * 10).all() == (
            day < 30
        ) and governors.action_mask.numpy()[1].all()
        assert (governors.level.numpy()[0] == 4).all()
        sim.step(acts(2, 7, 0))  # counts for nothing while it is masked
        assert (governors.level.numpy()[1] == 7).all()
    assert (governors.level.numpy()[0] == 7).all()


def test_subsidies_are_read_on_their_days_and_held() -> None:
    sim = wl.Simulation(ID, 1, "cpu", seed=0)
    planner, people = sim["Planner"], load_synthetic().population.sum()
    for day in range(1, 182):
        assert planner.action_mask.numpy()[0, 0, 1:].all() == (day in (1, 91, 181))
        sim.step(acts(1, 0, day % 21))
        assert planner.level.numpy()[0, 0] == (1, 91 % 21, 181 % 21)[(day - 1) // 90]
    np.testing.assert_allclose(planner.spending.numpy()[0, 0], 181 % 21 / 20 * people * 20_000 / 365, rtol=1e-6)


def test_the_past_is_played_again_as_far_as_it_is_known() -> None:
    country = load_synthetic()
    sim = wl.Simulation(
        ID,
        2,
        "cpu",
        seed=0,
        autoreset="disabled",
        config={"mode": np.array([Mode.REAL_POLICIES, Mode.REPLAY], np.int32)},
    )
    governors, planner = sim["Governor"], sim["Planner"]
    last = {0: country.num_days - 1 - country.start_day, 1: last_known_day(country) - country.start_day}
    assert last[0] > last[1] > 300
    for day in range(1, last[1] + 1):
        sim.step(acts(2, 9, 20))
        row = country.start_day + day
        assert (governors.level.numpy() == country.policy[row]).all() and (
            planner.level.numpy() == paid_levels(country)[row]
        ).all()
        assert governors.action_mask.numpy().all() and planner.action_mask.numpy().all()
        np.testing.assert_allclose(governors.infected.numpy()[1], country.infected[row], rtol=1e-6)
        np.testing.assert_allclose(governors.unemployed.numpy()[1], country.unemployed[row], rtol=1e-6)
        assert sim.truncated.numpy().tolist() == [False, day == last[1]]
    assert planner.level.numpy().max() >= 0 and paid_levels(country).max() > 0
    np.testing.assert_allclose(governors.deaths.numpy()[0].sum(), governors.deaths.numpy()[1].sum(), rtol=0.2)
    sim.set_config("mode", 1)
    for _ in range(last[1], last[0]):
        assert not sim.truncated.numpy()[0]
        sim.step(acts(2, 0, 0))
    assert sim.truncated.numpy()[0] and sim.errors() == []


def test_every_payment_becomes_the_nearest_level_for_ninety_days() -> None:
    country = load_synthetic()
    of_a_level = country.population.sum() * 20_000 / 20 * 90 / 365
    subsidy = np.zeros(country.num_days)
    subsidy[[50, 100, 150]] = 9e12, 2.6 * of_a_level, 1.4 * of_a_level
    levels = paid_levels(replace(country, subsidy=subsidy))
    assert levels[[99, 100, 149, 150, 189, 190, 239, 240]].tolist() == [0, 3, 3, 4, 4, 1, 1, 0], (
        "what was paid before the start counts for nothing"
    )


def test_a_country_of_any_size() -> None:
    definition = economy(three_states(), "Islands-v0", mode=Mode.MODEL, episode_length=6, subsidy_levels=4)
    sim = wl.Simulation(definition, 1, "python", seed=0)
    assert (
        sim["Governor"].sight.shape == (1, 3, 16)
        and sim["Planner"].sight.shape == (1, 1, 31)
        and sim["Planner"].action_mask.shape == (1, 1, 5)
    )
    np.testing.assert_array_equal(sim["Governor"].sight.numpy()[0, :, :3], np.eye(3))
    for _ in range(6):
        sim.step({"Governor.stringency": np.array([[1, 5, 10]]), "Planner.subsidy": np.array([[4]])})
    assert sim.truncated.numpy()[0] and sim.errors() == []
    people = sum(sim["Governor"].final_sight.numpy()[0, :, 3 + k] for k in range(3))
    np.testing.assert_allclose(people, 1.0, rtol=1e-6, err_msg="people are conserved")


def test_what_is_no_economy() -> None:
    with pytest.raises(wl.InputError, match="an episode of the economy has 1 to 600 days"):
        economy(load_synthetic(), "Long-v0", episode_length=601)
    with pytest.raises(wl.InputError, match="at least one level of subsidies"):
        economy(load_synthetic(), "Poor-v0", subsidy_levels=0)


def test_policies_heed_the_masks_and_are_told_that_it_is_no_tool() -> None:
    sim = wl.Simulation(ID, 2, "cpu", seed=0)
    sim.step(acts(2, 3, 1))
    for table, open_choices in (("Governor", 1), ("Planner", 1)):
        mask = AgentGroup(sim, [AgentSlice(table)]).mask()
        assert mask.sum(dim=1).tolist() == [open_choices] * len(mask)
    assert "no tool for policy making" in wl.definition(ID).doc and "synthetic" in wl.definition(ID).doc
