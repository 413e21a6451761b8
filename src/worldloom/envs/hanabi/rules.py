"""The rules: the deal, the three sorts of moves, the end of a turn and of a game."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.hanabi.cards import (
    CARD,
    COLOR_HINTED,
    COLORS_AT,
    RANK_HINTED,
    RANKS_AT,
    bit,
    has_bit,
    unknown_card,
    with_hint,
)
from worldloom.envs.hanabi.entities import NONE, Classes
from worldloom.envs.hanabi.settings import HanabiSettings, Sizes


def start_system(classes: Classes, settings: HanabiSettings, sizes: Sizes) -> System:
    """Shuffle the deck and deal: all cards of player 0, then all of player 1, and so on."""
    Game = classes.Game
    PLAYERS, COLORS, RANKS, SLOTS = settings.players, settings.colors, settings.ranks, sizes.slots
    INFORMATION, LIVES = settings.max_information_tokens, settings.max_life_tokens
    UNKNOWN = unknown_card(COLORS, RANKS)

    @wl.system
    def start(world: Game):
        place = 0
        for color in range(COLORS):
            for rank in range(RANKS):
                copies = 3 if rank == 0 else 1 if rank == RANKS - 1 else 2
                for _ in range(copies):
                    world.deck[place] = wl.uint8(color * RANKS + rank)
                    place += 1
        world.shuffle(world.deck)
        for slot in range(SLOTS):
            world.hands[slot] = int(world.deck[slot]) | UNKNOWN
        world.dealt = SLOTS
        world.information, world.lives, world.turns_left = INFORMATION, LIVES, PLAYERS
        world.last_player = NONE
        if world.random_start_player:
            world.turn = world.integer(PLAYERS)

    return start


def move_systems(classes: Classes, settings: HanabiSettings, sizes: Sizes) -> list[System]:
    """Check the move of the player whose turn it is, and apply it."""
    return [
        _choose_system(classes, settings),
        _use_card_system(classes, settings, sizes),
        _give_hint_system(classes, settings, sizes),
        _end_turn_system(classes, settings, sizes),
    ]


def _choose_system(classes: Classes, settings: HanabiSettings) -> System:
    """Take the move of the player to move. The actions of all others have no effect."""
    Game, Player = classes.Game, classes.Player
    ALL = settings.agents == "all"

    @wl.system
    def choose(world: Game):
        move = world.at(Player, world.turn if ALL else 0).move
        world.last_player, world.last_card, world.last_hinted = world.turn, NONE, 0
        world.last_scored, world.last_token = False, False
        world.last_move = move
        if not has_bit(world.legal, move):
            world.last_move = NONE
            world.fail("move {value} is not legal: choose one that action_mask allows", move)

    return choose


def _use_card_system(classes: Classes, settings: HanabiSettings, sizes: Sizes) -> System:
    """Discard or play a card. Newer cards of the hand move up by one place."""
    Game = classes.Game
    RANKS, HAND, PLAYS, HINTS, INFORMATION = (
        settings.ranks,
        sizes.hand,
        sizes.plays,
        sizes.color_hints,
        settings.max_information_tokens,
    )
    PER_COLOR = sum(sizes.copies)

    @wl.system
    def use_card(world: Game):
        if world.last_move == NONE or world.last_move >= HINTS:
            return
        place = world.last_move % HAND
        first = world.last_player * HAND
        card = world.hands[first + place] & CARD
        color, rank = card // RANKS, card % RANKS
        world.last_card = card
        if world.last_move < PLAYS:
            world.information += 1
        elif world.fireworks[color] == rank:
            world.fireworks[color] += 1
            world.last_scored = True
            if rank == RANKS - 1 and world.information < INFORMATION:
                world.information += 1
                world.last_token = True
        else:
            world.lives -= 1
        if not world.last_scored:
            copy = color * PER_COLOR + (2 * rank + 1 if rank > 0 else 0)
            while has_bit(world.discarded, copy):
                copy += 1
            world.discarded |= bit(copy)
        for later in range(HAND - 1):
            if later >= place:
                world.hands[first + later] = world.hands[first + later + 1]
        world.hands[first + HAND - 1] = 0

    return use_card


def _give_hint_system(classes: Classes, settings: HanabiSettings, sizes: Sizes) -> System:
    """Hint one colour or one rank to another player."""
    Game = classes.Game
    PLAYERS, COLORS, RANKS, HAND = settings.players, settings.colors, settings.ranks, sizes.hand
    COLOR_HINTS, RANK_HINTS = sizes.color_hints, sizes.rank_hints

    @wl.system
    def give_hint(world: Game):
        if world.last_move < COLOR_HINTS:
            return
        of_color = world.last_move < RANK_HINTS
        values = COLORS if of_color else RANKS
        hint = world.last_move - (COLOR_HINTS if of_color else RANK_HINTS)
        value = hint % values
        target = (world.last_player + 1 + hint // values) % PLAYERS
        world.information -= 1
        for place in range(HAND):
            card = world.hands[target * HAND + place]
            if card != 0:
                held = (card & CARD) // RANKS if of_color else (card & CARD) % RANKS
                at = COLORS_AT if of_color else RANKS_AT
                mark = COLOR_HINTED if of_color else RANK_HINTED
                world.hands[target * HAND + place] = with_hint(card, held == value, value, at, mark)
                world.last_hinted |= int(held == value) << place

    return give_hint


def _end_turn_system(classes: Classes, settings: HanabiSettings, sizes: Sizes) -> System:
    """Deal a card for one that was used, pay the change of the score, and find the end of the game."""
    Game, Player = classes.Game, classes.Player
    PLAYERS, COLORS, RANKS = settings.players, settings.colors, settings.ranks
    HAND, CARDS, KINDS = sizes.hand, sizes.cards, sizes.kinds
    UNKNOWN = unknown_card(COLORS, RANKS)

    @wl.system
    def end_turn(world: Game):
        if world.last_move == NONE:
            return
        if world.dealt == CARDS:
            world.turns_left -= 1
        elif world.last_card != NONE:
            world.hands[world.last_player * HAND + HAND - 1] = int(world.deck[world.dealt]) | UNKNOWN
            world.dealt += 1
        score = 0
        for color in range(COLORS):
            score += world.fireworks[color]
        if world.lives == 0:
            score = 0
        change = float(score - world.score)
        for player in world.all(Player):
            player.reward = change
        world.score = score
        world.turn = (world.turn + 1) % PLAYERS
        if world.lives == 0 or score == KINDS or world.turns_left == 0:
            world.terminate()

    return end_turn


def legal_system(classes: Classes, settings: HanabiSettings, sizes: Sizes) -> System:
    """Find the legal moves of the player to move."""
    Game = classes.Game
    PLAYERS, COLORS, RANKS, HAND = settings.players, settings.colors, settings.ranks, sizes.hand
    PLAYS, COLOR_HINTS, RANK_HINTS = sizes.plays, sizes.color_hints, sizes.rank_hints
    INFORMATION = settings.max_information_tokens

    @wl.system
    def find_legal(world: Game):
        legal = wl.uint64(0)
        for place in range(HAND):
            if world.hands[world.turn * HAND + place] != 0:
                legal |= bit(PLAYS + place)
                if world.information < INFORMATION:
                    legal |= bit(place)
        if world.information > 0:
            for other in range(PLAYERS - 1):
                first = (world.turn + 1 + other) % PLAYERS * HAND
                for place in range(HAND):
                    card = world.hands[first + place]
                    if card != 0:
                        legal |= bit(COLOR_HINTS + other * COLORS + (card & CARD) // RANKS)
                        legal |= bit(RANK_HINTS + other * RANKS + (card & CARD) % RANKS)
        world.legal = legal

    return find_legal
