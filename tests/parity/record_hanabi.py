"""Records games of the Hanabi Learning Environment, so that they are compared where the package is not installed.

python tests/parity/record_hanabi.py    # writes tests/parity/references/hanabi_games.npz
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from hanabi_players import random_player, strong_player
from hanabi_reference import ReferenceGames

from worldloom.envs.hanabi.family import settings_of
from worldloom.envs.hanabi.settings import COPIES, HanabiSettings, Sizes
from worldloom.envs.hanabi.view import GameView, HeldCard

FILE = Path(__file__).parent / "references" / "hanabi_games.npz"
GAMES = {
    "Hanabi-v0": (strong_player, 1),
    "Hanabi-v0:players=5": (random_player, 2),
    "HanabiSmall-v0:players=3": (strong_player, 3),
}
"""The player and the seed of each game, by id."""


def view(state: Any) -> GameView:
    """The state of a game of the reference, as players take it."""
    hands = [[HeldCard(str(card), "XX", "") for card in hand] for hand in state.player_hands()]
    return GameView(hands, 0, state.fireworks(), [], 0, 0, 0, state.cur_player(), 0)


def record(settings: HanabiSettings, player: Any, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """One game: deck, moves, rewards, legal moves and observations after each move, the last two as packed bits."""
    sizes, rng = Sizes(settings), np.random.default_rng(seed)
    ranks = np.repeat(np.arange(settings.ranks), COPIES[settings.ranks - 1])
    deck = rng.permutation((np.arange(settings.colors)[:, None] * settings.ranks + ranks).ravel()).astype(np.uint8)
    names = ("players", "colors", "ranks", "max_information_tokens", "max_life_tokens")
    games = ReferenceGames(hand_size=sizes.hand, **{name: getattr(settings, name) for name in names})
    game, over = games.start(deck, 0), False
    first, moves, rewards, legal, observations = game.legal(), [], [], [], []
    while not over:
        moves.append(player(view(game.state), game.legal(), settings, rng))
        reward, over = game.step(moves[-1])
        rewards.append(reward)
        legal.append(game.legal())
        observations.append([game.observe(player) for player in range(settings.players)])
    return {
        "deck": deck,
        "first_legal": first,
        "moves": np.array(moves, np.int8),
        "rewards": np.array(rewards, np.int8),
        "legal": np.packbits(legal, axis=-1),
        "observations": np.packbits(np.array(observations, np.uint8), axis=-1),
    }


if __name__ == "__main__":
    arrays = {}
    for id, (player, seed) in GAMES.items():
        arrays |= {f"{id}/{name}": array for name, array in record(settings_of(id), player, seed).items()}
    np.savez_compressed(FILE, **arrays)
