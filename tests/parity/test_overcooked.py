"""Overcooked equals overcooked-ai 1.1.0: states, rewards, ends, planes and features, step by step in every layout."""

from __future__ import annotations

from collections import Counter

import numpy as np
import overcooked_report
import pytest
from references.overcooked import OWN_EVENTS, Cook, Original
from references.overcooked_lockstep import Lockstep, Observe, features, planes
from thorough import THOROUGH, covering, only_thorough, sample

import worldloom as wl
from worldloom.envs.overcooked.catalogue import find_layout, layout_names, named_layout
from worldloom.envs.overcooked.world import define_kitchen

pytestmark = pytest.mark.usefixtures("quick_compilation")

PAIRS = [name for name in layout_names() if len(named_layout(name).starts) == 2]
OLD = [name for name in PAIRS if all(len(order) == 3 for order in named_layout(name).menu.orders)]
SMALL = [name for name in PAIRS if named_layout(name).width * named_layout(name).height <= 35]
STEPS = 1_020 if THOROUGH else 110
HORIZON = 400 if THOROUGH else 90
REQUIRED = [
    *("onion_pickup", "onion_drop", "potting_onion", "tomato_pickup", "tomato_drop", "potting_tomato"),
    *("dish_pickup", "useful_dish_pickup", "dish_drop", "soup_pickup", "soup_delivery", "soup_drop"),
    *OWN_EVENTS,
]
"""Events of the original that have to occur in the games of cooks."""
CROWD = "XXXOXXXX|X1 2 3 D|P  4   S|X5   6 X|XXPXTXXX"
"""Six players; with a tomato dispenser."""


@pytest.fixture(scope="module")
def kitchens() -> dict[str, wl.Simulation]:
    """One world with all layouts for two players, for planes and for features."""
    layouts = [named_layout(name) for name in PAIRS]
    return {
        form: wl.Simulation(define_kitchen(f"Compared-{form}-v0", layouts, observation=form), 1, "cpu", seed=0)
        for form in ("planes", "features")
    }


def choose(sim: wl.Simulation, name: str, old_dynamics: bool) -> wl.Simulation:
    """The world in this layout, at the start of an episode."""
    for key, value in {"layout_index": PAIRS.index(name), "old_dynamics": old_dynamics, "max_steps": HORIZON}.items():
        sim.set_config(key, value)
    sim.reset()
    return sim


def play(
    sim: wl.Simulation,
    game: Original,
    observe: Observe,
    rng: np.random.Generator,
    cooks: bool = False,
    steps: int = STEPS,
) -> None:
    """Play by cooks, or else at random, and compare every step; with cooks every tenth observation."""
    match = Lockstep(sim, [game], HORIZON, rng, cooks)
    for _ in range(steps):
        match.check_state()
        match.check_observations(sim, observe, 10 if cooks else 1)
        match.step(match.actions())
    assert match.compared > 0


@pytest.mark.parametrize("name", sample(PAIRS, 8))
def test_random_players_and_planes(kitchens: dict[str, wl.Simulation], name: str) -> None:
    game = Original(name)
    play(choose(kitchens["planes"], name, False), game, planes, np.random.default_rng(1))


@pytest.mark.parametrize("name", sample(PAIRS if THOROUGH else SMALL, 4))
def test_random_players_and_features(kitchens: dict[str, wl.Simulation], name: str) -> None:
    game = Original(name)
    play(choose(kitchens["features"], name, False), game, features, np.random.default_rng(2))


@pytest.mark.parametrize("name", sample(OLD, 3))
def test_random_players_with_old_dynamics(kitchens: dict[str, wl.Simulation], name: str) -> None:
    game = Original(name, old_dynamics=True)
    play(choose(kitchens["planes"], name, True), game, planes, np.random.default_rng(3))


def test_cooks_in_every_layout(kitchens: dict[str, wl.Simulation]) -> None:
    """Cooks fill pots, serve soups and use counters; every event of the original occurs."""
    counts: Counter[str] = Counter()
    for old, names in ((False, sample(PAIRS, 9)), (True, sample(OLD, 3))):
        for number, name in enumerate(names):
            game = Original(name, old)
            sim = choose(kitchens["planes"], name, old)
            play(sim, game, planes, np.random.default_rng(number), cooks=True, steps=2 * STEPS)
            counts.update(game.counts)
    assert all(counts[event] > 0 for event in REQUIRED), counts


@pytest.mark.parametrize(("grid", "form"), covering(["multiplayer_schelling", CROWD], ["features", "planes"]))
def test_more_than_two_players(grid: str, form: str) -> None:
    game, layout = Original(grid), find_layout(grid)
    kitchen = define_kitchen("Crowd-v0", [layout], observation=form, horizon=HORIZON)
    sim = wl.Simulation(kitchen, 1, "cpu" if THOROUGH else "python", seed=0)
    play(
        sim,
        game,
        {"planes": planes, "features": features}[form],
        np.random.default_rng(4),
        cooks=True,
        steps=STEPS if THOROUGH else 50,
    )
    assert sum(game.counts.values()) > 0


def test_one_player() -> None:
    game = Original("cramped_room_single")
    kitchen = define_kitchen("Alone-v0", [named_layout("cramped_room_single")], horizon=HORIZON)
    sim = wl.Simulation(kitchen, 1, "cpu" if THOROUGH else "python", seed=0)
    play(sim, game, planes, np.random.default_rng(5), cooks=True)
    assert game.counts["soup_delivery"] > 0


def test_the_oracle_of_general_planes_is_the_originals_for_two_players() -> None:
    game, rng = Original("soup_coordination"), np.random.default_rng(4)
    cooks = [Cook(id, rng) for id in range(2)]
    for _ in range(395):
        game.step([cook.act(game) for cook in cooks])
        if game.state.timestep % 5 == 0:
            np.testing.assert_array_equal(game.general_planes(400), game.planes(400))
    assert game.counts["soup_delivery"] > 0 and game.counts["soup_drop"] > 0


@only_thorough  # plays every layout
def test_the_report_has_all_layouts_and_counts_interactions(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = overcooked_report.cases_of(layout_names(), ["new", "old"])
    assert len(cases) == 45 + 30 and ("cramped_room_o_3orders", True) not in cases
    monkeypatch.setattr(overcooked_report, "HORIZON", 25)
    found = overcooked_report.compare_layout("cramped_room", True, 2)
    assert found["steps"] == 2 * 2 * 25 and found["observations"] > 0 and found["events"]["onion_pickup"] > 0
