"""Overcooked equals overcooked-ai 1.1.0: states, rewards, ends, planes and features, step by step in every layout."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from references.overcooked import Cook, Original
from thorough import THOROUGH, sample

import worldloom as wl
from worldloom.core.registry.definition import Definition
from worldloom.envs.overcooked.catalogue import layout_names, named_layout
from worldloom.envs.overcooked.recipes import INFINITE_BONUS, recipe_index
from worldloom.envs.overcooked.tables import object_code, size_of
from worldloom.envs.overcooked.world import define_kitchen

pytestmark = pytest.mark.usefixtures("quick_compilation")

PAIRS = [name for name in layout_names() if len(named_layout(name).starts) == 2]
OLD = [name for name in PAIRS if all(len(order) == 3 for order in named_layout(name).menu.orders)]
STEPS = 1_020 if THOROUGH else 110
HORIZON = 400 if THOROUGH else 90
SIZE = size_of([named_layout(name) for name in PAIRS])
REQUIRED = (
    "onion_pickup onion_drop potting_onion dish_pickup useful_dish_pickup dish_drop soup_pickup soup_delivery soup_drop "
    "tomato_pickup tomato_drop potting_tomato"
).split()
"""Events of the original that have to occur in the games of cooks."""


@pytest.fixture(scope="module")
def kitchens() -> dict[str, Definition]:
    """All layouts for two players in one world, with planes and with features."""
    layouts = [named_layout(name) for name in PAIRS]
    return {form: define_kitchen(f"Compared-{form}-v0", layouts, observation=form) for form in ("planes", "features")}


def check_state(sim: wl.Simulation, game: Original, where: str) -> None:
    """Players, objects on counters and pots are equal."""
    player, room, height = sim["Player"], sim.world, SIZE.height
    cells = player.cell.numpy()[0].astype(int)
    found = zip(cells // height, cells % height, player.facing.numpy()[0], player.held.numpy()[0], strict=True)
    expected = [(x, y, facing, object_code(held)) for x, y, facing, held in game.players()]
    assert [tuple(map(int, one)) for one in found] == expected, where
    objects, pots = np.zeros(SIZE.cells, np.uint8), game.mdp.get_pot_locations()
    soups, ticks = np.zeros(SIZE.pots, np.uint8), np.full(SIZE.pots, -1, np.int16)
    for (x, y), (thing, tick) in game.objects().items():
        if (x, y) in pots:
            soups[pots.index((x, y))], ticks[pots.index((x, y))] = recipe_index(thing), tick
        else:
            objects[x * height + y] = object_code(thing)
    np.testing.assert_array_equal(room.objects.numpy()[0], objects, err_msg=where)
    np.testing.assert_array_equal(room.soups.numpy()[0], soups, err_msg=where)
    np.testing.assert_array_equal(room.ticks.numpy()[0], ticks, err_msg=where)


def check_planes(sim: wl.Simulation, game: Original, where: str) -> None:
    """The planes are equal where the layout is, and 0 outside."""
    expected = np.zeros((2, SIZE.width, SIZE.height, 26), np.uint8)
    expected[:, : game.mdp.width, : game.mdp.height] = game.planes(HORIZON)
    np.testing.assert_array_equal(sim["Player"].sight.numpy()[0], expected, err_msg=where)


def check_features(sim: wl.Simulation, game: Original, where: str) -> None:
    np.testing.assert_array_equal(sim["Player"].sight.numpy()[0], game.features(), err_msg=where)


CHECKS = {"planes": check_planes, "features": check_features}


def play(
    sims: dict[str, wl.Simulation], game: Original, name: str, cooks: list[Cook], rng: np.random.Generator, steps: int
) -> None:
    """Play by cooks, or else at random, and compare every step; with cooks every fifth observation."""
    clock = 0
    for step in range(steps):
        where = f"{name}, step {step}"
        for form, sim in sims.items():
            check_state(sim, game, where)
            if step % 5 == 0 or not cooks:
                CHECKS[form](sim, game, where)
        acts = [cook.act(game) for cook in cooks] or rng.integers(0, 6, 2)
        sparse, shaped = game.step(acts)
        clock += 1
        sparse = [min(value, 47.0 * INFINITE_BONUS) for value in sparse]  # the infinite bonus of tutorial_3
        for sim in sims.values():
            sim.step(np.array([acts], np.int32))
            assert sim["Player"].reward.numpy()[0].tolist() == [sum(sparse) + own for own in shaped], where
            assert bool(sim.truncated.numpy()[0]) == (clock == HORIZON), where
            if clock < HORIZON:
                assert sim["Player"].sparse.numpy()[0].tolist() == sparse, where
                assert sim["Player"].shaped.numpy()[0].tolist() == shaped, where
        if clock == HORIZON:
            game.reset()
            clock = 0


def simulate(kitchens: dict[str, Definition], forms: tuple[str, ...], name: str, old: bool) -> dict[str, wl.Simulation]:
    config = {"layout": PAIRS.index(name), "old_dynamics": old, "max_steps": HORIZON}
    return {form: wl.Simulation(kitchens[form], 1, "cpu", seed=0, config=config) for form in forms}


@pytest.mark.parametrize("name", sample(PAIRS, 6))
def test_random_players(kitchens: dict[str, Definition], name: str) -> None:
    game, rng = Original(name), np.random.default_rng(1)
    play(simulate(kitchens, ("planes", "features"), name, False), game, name, [], rng, STEPS)


@pytest.mark.parametrize("name", sample(OLD, 3))
def test_random_players_with_old_dynamics(kitchens: dict[str, Definition], name: str) -> None:
    game, rng = Original(name, old_dynamics=True), np.random.default_rng(2)
    play(simulate(kitchens, ("planes",), name, True), game, name, [], rng, STEPS)


def test_cooks_in_every_layout(kitchens: dict[str, Definition]) -> None:
    """Cooks fill pots, serve soups and use counters; every event of the original occurs."""
    counts: Counter[str] = Counter()
    for old, names in ((False, sample(PAIRS, 11)), (True, sample(OLD, 4))):
        for number, name in enumerate(names):
            game, rng = Original(name, old), np.random.default_rng(number)
            cooks = [Cook(id, rng) for id in range(2)]
            play(simulate(kitchens, ("planes",), name, old), game, name, cooks, rng, 3 * STEPS)
            counts.update(game.counts)
    assert all(counts[event] > 0 for event in REQUIRED), counts
