"""Kitchens as worlds: ids and settings, layouts per world, shaped rewards, many players, devices and pictures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from thorough import sample

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.tools.compare import Comparison
from worldloom.envs.overcooked.catalogue import CLASSIC, named_layout
from worldloom.envs.overcooked.tables import DISH, ONION, SOUP
from worldloom.envs.overcooked.world import set_layouts

pytestmark = pytest.mark.usefixtures("quick_compilation")

NORTH, SOUTH, EAST, WEST, STAY, INTERACT = range(6)
LARGE = "|".join(["XPODSXXXXXXXXXX", "X1            X", *["X             X"] * 14, "XXXXXXXXXXXXXXX"])


@pytest.mark.parametrize(
    ("id", "settings", "canonical"),
    [
        ("Overcooked-v0", {}, "Overcooked-v0"),
        ("Overcooked-v0", {"layout": "cramped_room", "horizon": 400}, "Overcooked-v0"),
        (
            "Overcooked-v0:old_dynamics=true",
            {"layout": "schelling"},
            "Overcooked-v0:layout=schelling,old_dynamics=true",
        ),
        ("Overcooked-v0:size=9x5,pots=2", {"players": 3}, "Overcooked-v0:players=3,size=9x5,pots=2"),
        ("Overcooked-v0:layout=XXPXX|O  2O|X1  X|XDXSX", {}, "Overcooked-v0:layout=XXPXX|O  2O|X1  X|XDXSX"),
    ],
)
def test_ids_and_settings_meet(id: str, settings: dict[str, object], canonical: str) -> None:
    definition = wl.definition(id, **settings)
    assert definition.id == canonical
    assert wl.definition(canonical) is definition


@pytest.mark.parametrize(
    ("id", "message"),
    [
        (
            "Overcooked-v0:layout=cramped_rom",
            "no layout 'cramped_rom', neither by that name nor as a file; did you mean cramped_room",
        ),
        ("Overcooked-v0:layout=XXX|X X|XXX", "its players are none: number them from 1, each digit once"),
        ("Overcooked-v0:players=9", "layout 'cramped_room' has 6 cells of floor for 9 players: use fewer players"),
        ("Overcooked-v0:players=65", "Overcooked has 1 to 64 players, not 65"),
        ("Overcooked-v0:pots=65", "Overcooked has 1 to 64 pots, not 65"),
        ("Overcooked-v0:size=4x4", "has 5 x 4 cells and 1 pots; this world was built for up to 4 x 4 cells"),
        ("Overcooked-v0:size=20x20", "Overcooked has up to 255 cells, not 20 x 20"),
        ("Overcooked-v0:size=big", "'size' must be width x height in cells, such as 9x5, not 'big'"),
        ("Overcooked-v0:observation=pixels", "is 'planes' or 'features', not 'pixels'"),
        ("Overcooked-v0:dtype=int8", "is 'auto', 'uint8' or 'float32', not 'int8'"),
        ("Overcooked-v0:observation=features,dtype=uint8", "features of Overcooked can be negative"),
        ("Overcooked-v0:layout=simple_o+mdp_test,old_dynamics=true", "layout 'mdp_test' has orders of fewer than 3"),
        ("Overcooked-v0:horizon=0", "'horizon' must be a whole number of 1 or more, not 0"),
        ("Overcooked-v0:color=red", "has no setting 'color'; its settings are layout, players"),
    ],
)
def test_refused_settings(id: str, message: str) -> None:
    with pytest.raises(wl.InputError, match=message):
        wl.definition(id)


@pytest.mark.parametrize(
    "id",
    sample(
        [
            "Overcooked-v0",
            "Overcooked-v0:layout=multiplayer_schelling,dtype=float32",
            "Overcooked-v0:layout=cramped_room+simple_o_t,observation=features",
            "Overcooked-v0:layout=asymmetric_advantages_tomato",
        ],
        2,
    ),
)
def test_plain_python_and_compiled_code_agree(id: str) -> None:
    comparison = Comparison(id, ["python", "cpu"], 1, seed=3)
    try:
        assert comparison.run(30) is None
        assert [simulation.errors() for simulation in comparison.simulations] == [[], []]
    finally:
        for simulation in comparison.simulations:
            simulation.close()


def test_the_space_has_the_bound_of_every_plane() -> None:
    env = wl.make("Overcooked-v0:layout=simple_o", num_envs=2, seed=0, device="python")
    space = env.single_observation_space
    assert space.shape == (2, 5, 4, 26) and space.dtype == np.uint8
    bounds = [*[1] * 16, 3, 3, 3, 3, 20, *[1] * 5]
    np.testing.assert_array_equal(space.high, np.broadcast_to(bounds, space.shape))
    env.close()


def test_every_episode_draws_a_layout_unless_one_is_chosen() -> None:
    id = "Overcooked-v0:layout=cramped_room+coordination_ring,horizon=2"
    sim = wl.Simulation(id, 12, "python", seed=0)
    assert set(sim.world.kitchen.numpy().tolist()) == {0, 1}
    before = sim.world.kitchen.numpy().copy()
    for _ in range(2):
        sim.step(np.full((12, 2), STAY, np.int32))
    assert (sim.world.kitchen.numpy() != before).any()
    chosen = np.arange(12, dtype=np.int32) % 2
    sim.set_config("layout_index", chosen)
    sim.reset()
    np.testing.assert_array_equal(sim.world.kitchen.numpy(), chosen)


@pytest.mark.parametrize("form", ["planes", "features"])
def test_other_layouts_without_compiling_again(form: str) -> None:
    sim = wl.Simulation(f"Overcooked-v0:size=9x5,pots=2,observation={form}", 5, "python", seed=0)
    set_layouts(sim, [named_layout(name) for name in CLASSIC])
    for world, name in enumerate(CLASSIC):
        alone = wl.Simulation(f"Overcooked-v0:layout={name},size=9x5,pots=2,observation={form}", 1, "python", seed=0)
        np.testing.assert_array_equal(sim["Player"].sight.numpy()[world], alone["Player"].sight.numpy()[0])
    set_layouts(sim, [named_layout("schelling_s")])
    assert (sim["Player"].sight.numpy() == sim["Player"].sight.numpy()[0]).all()
    with pytest.raises(wl.InputError, match="built with 1 layouts and has 5 worlds: give 1 layouts or 5, not 3"):
        set_layouts(sim, [named_layout("schelling_s")] * 3)
    with pytest.raises(wl.InputError, match="layout 'corridor' has 14 x 9 cells and 2 pots; this world was built"):
        set_layouts(sim, [named_layout("corridor")])


def test_a_soup_from_onions_to_the_serving_counter() -> None:
    """Player 0 cooks; both are paid for the delivery, and the cook alone for what led to it."""
    sim = wl.Simulation("Overcooked-v0:old_dynamics=true", 1, "python", seed=0)
    rewards = []
    fetch = [WEST, INTERACT, EAST, NORTH, INTERACT]
    way = [NORTH, *fetch, WEST, *fetch, WEST, *fetch, SOUTH, WEST, SOUTH, INTERACT, NORTH, EAST, *[STAY] * 20]
    for act in [*way, NORTH, INTERACT, SOUTH, EAST, SOUTH, INTERACT]:
        sim.step(np.array([[act, STAY]], np.int32))
        rewards.append(sim["Player"].reward.numpy()[0].tolist())
    paid = [pair for pair in rewards if pair != [0.0, 0.0]]
    assert paid == [[3.0, 0.0]] * 4 + [[5.0, 0.0], [20.0, 20.0]], "three onions, a useful dish, the soup, the delivery"


def test_configuration_as_arguments() -> None:
    """The reward of the original, and both dynamics in one batch."""
    id = "Overcooked-v0:layout=cramped_room+schelling_s"
    chosen = {"shaping": 0.0, "old_dynamics": [True, False], "horizon": [3, 9], "layout_index": [1, 0]}
    env = wl.make(id, num_envs=2, seed=0, device="python", **chosen)
    world = env.unwrapped.simulation.world
    assert world.shaping.numpy().tolist() == [0.0] and world.old_dynamics.numpy().tolist() == [True, False]
    assert world.max_steps.numpy().tolist() == [3, 9] and world.kitchen.numpy().tolist() == [1, 0]
    env.close()


def test_the_weight_of_shaped_rewards_decreases_over_episodes() -> None:
    config = {"shaping": 0.5, "shaping_episodes": 2}
    sim = wl.Simulation("Overcooked-v0:horizon=1", 1, "python", seed=0, config=config)
    paid = []
    for _ in range(4):
        sim["Player"].held.numpy()[:] = ONION
        sim["Player"].cell.numpy()[0, 0] = 9  # below the pot, which the player faces
        sim.step(np.array([[INTERACT, STAY]], np.int32))
        paid.append(sim["Player"].reward.numpy()[0].tolist())
    assert paid == [[1.5, 0.0], [0.75, 0.0], [0.0, 0.0], [0.0, 0.0]]


def test_64_players_in_255_cells() -> None:
    sim = wl.Simulation(f"Overcooked-v0:layout={LARGE},players=64", 1, "cpu", seed=0)
    player = sim["Player"]
    assert player.sight.shape == (1, 64, 15, 17, 5 * 64 + 16)
    assert len(set(player.cell.numpy()[0].tolist())) == 64
    rng = np.random.default_rng(0)
    sim.step(random_actions(sim, rng))
    own = player.sight.numpy()[0, :, :, :, 0].reshape(64, -1)
    np.testing.assert_array_equal(own.argmax(axis=1), player.cell.numpy()[0])
    assert (own.sum(axis=1) == 1).all() and sim.errors() == []


@pytest.mark.parametrize(("dtype", "seen"), [("uint8", 255), ("float32", 999)])
def test_bytes_saturate(dtype: str, seen: int) -> None:
    """A cook time that does not fit into a byte is seen as 255 until it does."""
    sim = wl.Simulation(f"Overcooked-v0:dtype={dtype}", 1, "python", seed=0)
    sim.set_config("cook_times", np.full((1, 16), 1000, np.int16))
    sim.world.soups.numpy()[:], sim.world.ticks.numpy()[:] = 12, 0
    sim.step(np.full((1, 2), STAY, np.int32))
    assert sim["Player"].sight.numpy()[0, 0, 2, 0, 20] == seen


def test_the_picture_shows_players_and_objects() -> None:
    draw = wl.definition("Overcooked-v0").render
    sim = wl.Simulation("Overcooked-v0", 2, "python", seed=0)
    first = draw(sim, 1)
    assert first.shape == (256, 320, 3) and first.dtype == np.uint8
    np.testing.assert_array_equal(draw(sim, 1), first)
    changed = []
    for column, index, value in (
        (sim["Player"].held, (1, 0), DISH),
        (sim["Player"].facing, (1, 1), EAST),
        (sim.world.objects, (1, 0), SOUP + 5),
        (sim.world.soups, (1, 0), 9),
        (sim.world.ticks, (1, 0), 3),
    ):
        column.numpy()[index] = value
        changed.append(draw(sim, 1))
    pictures = [first, *changed]
    assert all((a != b).any() for a, b in itertools.pairwise(pictures))
    np.testing.assert_array_equal(draw(sim, 0), first)
