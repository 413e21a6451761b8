"""Hanabi: the deal, turns, illegal moves, the two forms of agents, pictures and training."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.tools.compare import Comparison
from worldloom.envs.hanabi.view import view_game
from worldloom.learn import PPO, PPOConfig

pytestmark = pytest.mark.usefixtures("quick_compilation")
SMALL = "HanabiSmall-v0"


def play(id: str, steps: int, worlds: int = 4, device: str = "python", **options: object) -> wl.Simulation:
    """A simulation after some steps of random legal moves."""
    sim, rng = wl.Simulation(id, worlds, device, seed=1, **options), np.random.default_rng(2)
    for _ in range(steps):
        sim.step(random_actions(sim, rng))
    return sim


def test_a_deck_has_all_cards_and_hands_are_dealt_from_it() -> None:
    sim = wl.Simulation("Hanabi-v0", 3, "python", seed=0)
    decks = sim.world.deck.numpy()
    for deck in decks:
        assert np.bincount(deck).tolist() == [3, 2, 2, 2, 1] * 5
    assert len({deck.tobytes() for deck in decks}) == 3
    np.testing.assert_array_equal(sim.world.hands.numpy() & 31, decks[:, :10])


def test_devices_agree() -> None:
    comparison = Comparison(SMALL, ["python", "cpu"], 3, seed=11)
    assert comparison.run(40) is None
    assert [simulation.errors() for simulation in comparison.simulations] == [[], []]
    for simulation in comparison.simulations:
        simulation.close()


def test_an_illegal_move_ends_one_game_with_a_sentence() -> None:
    sim = wl.Simulation(SMALL, 2, "python", seed=0)
    decks = sim.world.deck.numpy().copy()
    sim.step(np.array([[0, 0], [2, 0]], np.int32))  # with all tokens no card may be discarded; card 0 may be played
    (error,) = sim.errors()
    assert error.world == 0 and "move 0 is not legal: choose one that action_mask allows" in str(error)
    assert sim.truncated.numpy().tolist() == [True, False] and not sim.terminated.numpy().any()
    assert (sim.world.deck.numpy()[0] != decks[0]).any() and (sim.world.deck.numpy()[1] == decks[1]).all()


def test_only_the_player_to_move_acts() -> None:
    one, two = (wl.Simulation(SMALL, 1, "python", seed=0) for _ in range(2))
    moves = wl.definition(SMALL).actions()
    (field,) = (field for _, field in moves.values())
    no_op = field.space.n - 1
    for waiting in (no_op, 3):
        one.step(np.array([[2, waiting]], np.int32))
        two.step(np.array([[2, no_op]], np.int32))
        np.testing.assert_array_equal(one["Player"].observation.numpy(), two["Player"].observation.numpy())
        one.reset(seeds=1)
        two.reset(seeds=1)
    np.testing.assert_array_equal(one["Player"].action_mask.numpy()[0, 1], [0] * no_op + [1])
    assert one.errors() == two.errors() == []


def test_the_current_player_as_one_agent_plays_the_same_game() -> None:
    all_players, current = (
        wl.Simulation(f"{SMALL}:players=3,agents={form}", 2, "python", seed=4) for form in ("all", "current")
    )
    rng = np.random.default_rng(0)
    for _ in range(12):
        turns = all_players.world.turn.numpy().copy()
        seen, masks = all_players["Player"].observation.numpy(), all_players["Player"].action_mask.numpy()
        for world, turn in enumerate(turns):
            np.testing.assert_array_equal(current["Player"].observation.numpy()[world, 0], seen[world, turn])
            np.testing.assert_array_equal(current["Player"].action_mask.numpy()[world, 0], masks[world, turn, :-1])
        moves = random_actions(current, rng)
        current.step(moves)
        all_players.step(np.repeat(next(iter(moves.values())), 3, axis=1))
        np.testing.assert_array_equal(
            current["Player"].reward.numpy()[:, 0], all_players["Player"].reward.numpy()[:, 0]
        )


def test_the_first_player_is_0_or_random_per_world() -> None:
    sim = wl.Simulation("HanabiVerySmall-v0:players=3", 40, "python", seed=0)
    assert not sim.world.turn.numpy().any()
    sim.set_config("random_start_player", np.arange(40) >= 20)
    sim.reset()
    assert not sim.world.turn.numpy()[:20].any() and set(sim.world.turn.numpy()[20:].tolist()) == {0, 1, 2}


def test_a_picture_shows_the_game() -> None:
    draw = wl.definition(SMALL).render
    first, later = play(SMALL, 0), play(SMALL, 3)
    picture = draw(first, 1)
    assert picture.dtype == np.uint8 and picture.shape == draw(later, 1).shape and (picture != draw(later, 1)).any()
    np.testing.assert_array_equal(draw(first, 1), picture)


def test_a_view_names_cards_and_knowledge() -> None:
    sim = wl.Simulation("Hanabi-v0", 1, "python", seed=0)
    before = view_game(sim, 0)
    assert before.deck == 40 and before.hands[1][0].hinted == "XX" and before.hands[1][0].plausible == "RYGWB12345"
    rank = int(before.hands[1][0].name[1]) - 1
    sim.step(np.array([[15 + rank, 0]], np.int32))
    after = view_game(sim, 0)
    assert after.information == 7 and after.turn == 1
    assert before.last_move == "" and after.last_move == f"player 0 hints {rank + 1} to player 1"
    sim.step(np.array([[0, 5]], np.int32))  # player 1 plays its oldest card
    name, alive = after.hands[1][0].name, view_game(sim, 0).lives == 3
    assert view_game(sim, 0).last_move == f"player 1 {'plays' if alive else 'loses a life with'} {name}"
    assert after.hands[1][0].hinted == f"X{rank + 1}" and after.hands[1][0].plausible == f"RYGWB{rank + 1}"


@pytest.mark.parametrize("form", ["all", "current"])
def test_ppo_learns_with_masks(form: str) -> None:
    config = PPOConfig(num_envs=32, num_steps=16, total_steps=32 * 16 * 3, learning_rate=1e-3, device="cpu")
    trainer = PPO(f"{SMALL}:agents={form}", config)
    trainer.learn()
    assert trainer.simulation.errors() == [] and np.isfinite(trainer.score)
