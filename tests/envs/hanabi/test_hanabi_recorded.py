"""Recorded games of the Hanabi Learning Environment: the same deck and moves give the same games."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom.envs.hanabi.cards import unknown_card
from worldloom.envs.hanabi.family import settings_of
from worldloom.envs.hanabi.settings import Sizes

GAMES = np.load(Path(__file__).parents[2] / "parity" / "references" / "hanabi_games.npz")
IDS = sorted({name.rpartition("/")[0] for name in GAMES})


def test_there_are_three_games() -> None:
    assert IDS == ["Hanabi-v0", "Hanabi-v0:players=5", "HanabiSmall-v0:players=3"]


@pytest.mark.parametrize("id", IDS)
def test_a_recorded_game_is_repeated(id: str) -> None:
    settings, sim = settings_of(id), wl.Simulation(id, 1, "python", seed=0, autoreset="disabled")
    sizes = Sizes(settings)
    deck, moves, rewards, first, legal, observations = (
        GAMES[f"{id}/{name}"] for name in ("deck", "moves", "rewards", "first_legal", "legal", "observations")
    )
    unknown = unknown_card(settings.colors, settings.ranks)
    sim.world.deck.assign(deck[None])
    sim.world.hands.assign(deck[None, : sizes.slots].astype(np.int32) | unknown)
    sim.world.legal.assign(np.array([sum(1 << int(move) for move in np.flatnonzero(first))], np.uint64))
    for step, move in enumerate(moves):
        sim.step(np.full((1, settings.players), move, np.int32))
        turn = (step + 1) % settings.players
        assert sim["Player"].reward.numpy().tolist() == [[rewards[step]] * settings.players]
        seen = np.unpackbits(observations[step], axis=-1)[:, : sizes.observation]
        np.testing.assert_array_equal(sim["Player"].observation.numpy()[0], seen)
        allowed = np.unpackbits(legal[step])[: sizes.moves]
        np.testing.assert_array_equal(sim["Player"].action_mask.numpy()[0, turn, : sizes.moves], allowed)
        assert sim.terminated.numpy()[0] == (step == len(moves) - 1)
    assert sim.errors() == []
