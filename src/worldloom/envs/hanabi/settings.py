"""Settings of a game, and the sizes of its hands, moves and observations that follow from them."""

import dataclasses

from worldloom.core.base.errors import InputError

COPIES = ((3,), (3, 1), (3, 2, 1), (3, 2, 2, 1), (3, 2, 2, 2, 1))
"""Copies of the cards of each rank in every colour, by the number of ranks."""


@dataclasses.dataclass(frozen=True)
class HanabiSettings:
    """Settings of the standard game. Their names and defaults are those of the Hanabi Learning Environment.

    Attributes:
        players: 2 to 5.
        colors, ranks: 1 to 5 each.
        hand_size: Cards of a hand, 1 to 8; by default 5 with up to three players, else 4.
        max_information_tokens, max_life_tokens: Tokens at the start, which is also their maximum.
        random_start_player: Whether any player may have the first turn, instead of player 0.
        observation_type: ``canonical``, or ``minimal`` without the knowledge that players have of their cards.
        dtype: ``uint8`` or ``float32``, the type of the observation.
        agents: ``all`` players, who act in every step, or ``current``, one agent that takes the turns of all players.
    """

    players: int = 2
    colors: int = 5
    ranks: int = 5
    hand_size: int | str = "auto"
    max_information_tokens: int = 8
    max_life_tokens: int = 3
    random_start_player: bool = False
    observation_type: str = "canonical"
    dtype: str = "uint8"
    agents: str = "all"

    def __post_init__(self) -> None:
        for name, low, high in (
            ("players", 2, 5),
            ("colors", 1, 5),
            ("ranks", 1, 5),
            ("max_information_tokens", 1, 64),
            ("max_life_tokens", 1, 64),
        ):
            _check_number(name, getattr(self, name), low, high)
        if self.hand_size != "auto":
            _check_number("hand_size", self.hand_size, 1, 8)
        for name, choices in (
            ("observation_type", ("canonical", "minimal")),
            ("dtype", ("uint8", "float32")),
            ("agents", ("all", "current")),
        ):
            if getattr(self, name) not in choices:
                raise InputError(f"the setting '{name}' is {' or '.join(choices)}, not {getattr(self, name)!r}")
        needed, sizes = self.players * Sizes(self).hand, Sizes(self)
        if needed > sizes.cards:
            raise InputError(
                f"{self.players} hands of {sizes.hand} cards need {needed} cards, and {self.colors} colors of "
                f"{self.ranks} ranks have {sizes.cards}: choose fewer players, a smaller hand_size or more colors"
            )


@dataclasses.dataclass(frozen=True)
class SmallSettings(HanabiSettings):
    """Settings of the small game: two colours, hands of two cards, three information tokens and one life."""

    colors: int = 2
    hand_size: int | str = 2
    max_information_tokens: int = 3
    max_life_tokens: int = 1


@dataclasses.dataclass(frozen=True)
class VerySmallSettings(SmallSettings):
    """Settings of the very small game: the small one with one colour."""

    colors: int = 1


class Sizes:
    """Numbers that follow from the settings: cards, moves, and the sections of an observation in their order.

    Attributes:
        hand: Cards of a full hand.
        slots: Places for cards in all hands.
        kinds: Different cards; card ``color * ranks + rank`` is also the place of its bit in an observation.
        copies: Copies of each rank in one colour.
        cards: Cards of the game.
        discards, plays, color_hints, rank_hints: The first move of each sort; ``discards`` is 0.
        moves: Number of moves. With all players as agents, choice ``moves`` is the no-op.
        missing, deck, fireworks, information, lives, discarded, last_move, last_card, knowledge: The first element of
            each section of an observation; the hands of the other players come first.
        card_knowledge: Elements of the knowledge of one card: plausible cards, hinted colour, hinted rank.
        observation: Length of an observation.
    """

    def __init__(self, settings: HanabiSettings) -> None:
        players, colors, ranks = settings.players, settings.colors, settings.ranks
        hand = settings.hand_size if isinstance(settings.hand_size, int) else 5 if players < 4 else 4
        self.hand = hand
        self.slots = players * hand
        self.kinds = colors * ranks
        self.copies = COPIES[ranks - 1]
        self.cards = colors * sum(self.copies)

        self.discards = 0
        self.plays = hand
        self.color_hints = 2 * hand
        self.rank_hints = self.color_hints + (players - 1) * colors
        self.moves = self.rank_hints + (players - 1) * ranks

        self.missing = (players - 1) * hand * self.kinds
        self.deck = self.missing + players
        self.fireworks = self.deck + self.cards - self.slots
        self.information = self.fireworks + self.kinds
        self.lives = self.information + settings.max_information_tokens
        self.discarded = self.lives + settings.max_life_tokens
        self.last_move = self.discarded + self.cards
        self.last_card = self.last_move + 2 * players + 4 + colors + ranks + 2 * hand
        self.knowledge = self.last_card + self.kinds + 2
        self.card_knowledge = self.kinds + colors + ranks
        known = self.slots * self.card_knowledge if settings.observation_type == "canonical" else 0
        self.observation = self.knowledge + known


def _check_number(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or not low <= value <= high:
        raise InputError(f"the setting '{name}' is a whole number from {low} to {high}, not {value!r}")
