"""Players of Hanabi for tests: random legal moves, and a player that sees its own cards and reaches high scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from worldloom.envs.hanabi.settings import HanabiSettings, Sizes
from worldloom.envs.hanabi.view import COLOR_LETTERS, GameView

Array = np.ndarray[Any, Any]
Player = Callable[[Any, Array, HanabiSettings, np.random.Generator], int]
"""A move for the state of a game and its legal moves, shape (moves,)."""


def random_player(game: GameView | None, legal: Array, settings: HanabiSettings, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(legal)))


def strong_player(game: GameView, legal: Array, settings: HanabiSettings, rng: np.random.Generator) -> int:
    """Play a card that fits; else discard a card nobody needs; else hint at random; else discard a high card."""
    sizes = Sizes(settings)
    hand = [(COLOR_LETTERS.index(card.name[0]), int(card.name[1]) - 1) for card in game.hands[game.turn]]
    for place, (color, rank) in enumerate(hand):
        if rank == game.fireworks[color]:
            return sizes.plays + place
    can_discard = bool(legal[: len(hand)].any())
    needless = [place for place, (color, rank) in enumerate(hand) if rank < game.fireworks[color]]
    if needless and can_discard:
        return needless[0]
    hints = np.flatnonzero(legal[sizes.color_hints :]) + sizes.color_hints
    if len(hints):
        return int(rng.choice(hints))
    if can_discard:
        return max(range(len(hand)), key=lambda place: hand[place][1] if hand[place][1] < settings.ranks - 1 else -1)
    return random_player(game, legal, settings, rng)


PLAYERS: dict[str, Player] = {"random": random_player, "strong": strong_player}
