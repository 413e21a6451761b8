"""One game as Python values, for text and pictures."""

from __future__ import annotations

from dataclasses import dataclass

import worldloom as wl
from worldloom.envs.hanabi.cards import CARD, COLOR_HINTED, COLORS_AT, RANK_HINTED, RANKS_AT
from worldloom.envs.hanabi.family import settings_of
from worldloom.envs.hanabi.settings import HanabiSettings, Sizes

COLOR_LETTERS = "RYGWB"
"""Red, yellow, green, white, blue."""


@dataclass(frozen=True)
class HeldCard:
    """A card in a hand, and what its holder knows of it.

    Attributes:
        name: Colour and rank, such as ``R1``.
        hinted: The same with ``X`` for what was not hinted, such as ``X1``.
        plausible: Plausible colours and ranks, such as ``RG12``.
    """

    name: str
    hinted: str
    plausible: str


@dataclass(frozen=True)
class GameView:
    """The state of one game.

    Attributes:
        hands: The cards of each player, from the oldest to the newest.
        hand_size: Cards of a full hand.
        fireworks: Cards on the pile of each colour.
        discards: The names of discarded cards, ordered by colour and rank.
        deck: Cards left in the deck.
        turn: The player to move.
        last_move: What the last player did, such as ``player 0 hints R to player 1``; empty at the start.
    """

    hands: list[list[HeldCard]]
    hand_size: int
    fireworks: list[int]
    discards: list[str]
    information: int
    lives: int
    deck: int
    turn: int
    score: int
    last_move: str = ""


def view_game(sim: wl.Simulation, world: int) -> GameView:
    """The state of the game in one world of a simulation."""
    settings = settings_of(sim.definition.id)
    table, sizes, ranks = sim.world, Sizes(settings), settings.ranks
    hands, discarded = table.hands.numpy()[world], int(table.discarded.numpy()[world])
    copies = [
        f"{color}{rank + 1}"
        for color in COLOR_LETTERS[: settings.colors]
        for rank in range(ranks)
        for _ in range(sizes.copies[rank])
    ]
    return GameView(
        hands=[
            [_held(int(card), ranks) for card in hands[first : first + sizes.hand] if card != 0]
            for first in range(0, sizes.slots, sizes.hand)
        ],
        hand_size=sizes.hand,
        fireworks=table.fireworks.numpy()[world].tolist(),
        discards=[name for place, name in enumerate(copies) if discarded >> place & 1],
        information=int(table.information.numpy()[world]),
        lives=int(table.lives.numpy()[world]),
        deck=sizes.cards - int(table.dealt.numpy()[world]),
        turn=int(table.turn.numpy()[world]),
        score=int(table.score.numpy()[world]),
        last_move=_last_move(sim, world, settings),
    )


def game_text(sim: wl.Simulation, world: int = 0) -> str:
    """A game as text, as the Hanabi Learning Environment prints it; discards are ordered by card."""
    game = view_game(sim, world)
    piles = "".join(f"{letter}{height} " for letter, height in zip(COLOR_LETTERS, game.fireworks, strict=False))
    hands = [
        ("Cur player\n" if player == game.turn else "")
        + "".join(f"{card.name} || {card.hinted}|{card.plausible}\n" for card in hand)
        for player, hand in enumerate(game.hands)
    ]
    return (
        f"Life tokens: {game.lives}\nInfo tokens: {game.information}\nFireworks: {piles}\nHands:\n"
        + "-----\n".join(hands)
        + f"Deck size: {game.deck}\nDiscards:"
        + "".join(f" {name}" for name in game.discards)
    )


def _last_move(sim: wl.Simulation, world: int, settings: HanabiSettings) -> str:
    names = ("last_player", "last_move", "last_card", "last_scored")
    player, move, card, scored = (int(sim.world[name].numpy()[world]) for name in names)
    sizes, colors, ranks = Sizes(settings), settings.colors, settings.ranks
    if player < 0 or move < 0:
        return ""
    if card >= 0:
        name = f"{COLOR_LETTERS[card // ranks]}{card % ranks + 1}"
        verb = "discards" if move < sizes.plays else "plays" if scored else "loses a life with"
        return f"player {player} {verb} {name}"
    of_color = move < sizes.rank_hints
    hint = move - (sizes.color_hints if of_color else sizes.rank_hints)
    values = colors if of_color else ranks
    value = COLOR_LETTERS[hint % values] if of_color else hint % values + 1
    return f"player {player} hints {value} to player {(player + 1 + hint // values) % settings.players}"


def _held(card: int, ranks: int) -> HeldCard:
    color, rank = COLOR_LETTERS[(card & CARD) // ranks], str((card & CARD) % ranks + 1)
    colors = [letter for k, letter in enumerate(COLOR_LETTERS) if card >> (COLORS_AT + k) & 1]
    plausible = [str(k + 1) for k in range(ranks) if card >> (RANKS_AT + k) & 1]
    hinted = (color if card & COLOR_HINTED else "X") + (rank if card & RANK_HINTED else "X")
    return HeldCard(color + rank, hinted, "".join(colors + plausible))
