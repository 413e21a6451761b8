"""The classes of one game: the table with all cards, and the agents."""

from typing import Any, NamedTuple

import worldloom as wl
from worldloom.envs.hanabi.settings import HanabiSettings, Sizes

NONE = -1
"""No player, move or card."""


class Classes(NamedTuple):
    """The classes of one game."""

    Game: Any
    Player: Any


def make_classes(settings: HanabiSettings, sizes: Sizes) -> Classes:
    """The world and the agents of a game; arrays have the sizes of its cards and moves."""
    colors, slots, cards = settings.colors, sizes.slots, sizes.cards
    words = 2 * (sizes.observation // 64 + 1)
    choices = sizes.moves + 1 if settings.agents == "all" else sizes.moves
    dtype = wl.uint8 if settings.dtype == "uint8" else wl.float32
    any_first = settings.random_start_player

    class Game(wl.World):
        random_start_player: wl.Config = any_first  # whether any player may have the first turn, instead of player 0
        deck: wl.Array(wl.uint8, cards)  # all cards, color * ranks + rank, in the order in which they are dealt
        dealt: wl.Between(int, 0, cards)  # cards that have been dealt
        hands: wl.Array(int, slots)  # packed cards of player 0, of player 1, ..., each from the oldest to the newest
        fireworks: wl.Array(int, colors)  # cards on each pile, which is also the next rank
        discarded: wl.uint64  # one bit per copy of every card, by card
        information: wl.Between(int, 0, settings.max_information_tokens)
        lives: wl.Between(int, 0, settings.max_life_tokens)
        turn: wl.Info(int)  # the player to move
        turns_left: int  # turns after the last card was dealt, one per player
        score: wl.Info(int)  # cards on all piles; 0 once the last life is lost
        legal: wl.uint64  # one bit per move: whether the player to move may make it
        last_player: int  # the player of the last move, or NONE
        last_move: int
        last_card: int  # the card that was played or discarded, or NONE
        last_hinted: int  # one bit per card of the hand that matched the last hint
        last_scored: bool  # whether the card was played successfully
        last_token: bool  # whether playing it completed a pile and returned an information token

    class Player(wl.Entity):
        move: wl.Action(wl.Discrete(choices))  # discard i, play i, hint a colour, hint a rank; then the no-op
        bits: wl.Array(wl.uint32, words)  # the observation, one bit per element
        observation: wl.Observation(sizes.observation, dtype=dtype, low=0, high=1)
        action_mask: wl.Observation(choices, dtype=wl.int8, low=0, high=1)  # 1 for legal moves
        reward: wl.Reward

    return Classes(Game, Player)
