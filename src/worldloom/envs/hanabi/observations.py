"""Observations: the canonical encoding of the Hanabi Learning Environment, bit for bit, and the legal moves.

An observation is assembled as bits, section by section. One bit is then one element.
"""

from typing import Any

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.hanabi.cards import (
    CARD,
    COLOR_HINTED,
    RANK_HINTED,
    bit,
    has_bit,
    plausible_colors,
    plausible_ranks,
    thermometer,
)
from worldloom.envs.hanabi.entities import NONE, Classes
from worldloom.envs.hanabi.settings import HanabiSettings, Sizes


def observe_systems(classes: Classes, settings: HanabiSettings, sizes: Sizes) -> list[System]:
    """Write the observation and the legal moves of every agent."""
    write = _bytes_system(classes, sizes) if settings.dtype == "uint8" else _floats_system(classes, sizes)
    return [_encode_system(classes, settings, sizes), _mask_system(classes, settings, sizes), write]


def _last_move_function(settings: HanabiSettings, sizes: Sizes) -> Any:
    PLAYERS, COLORS, RANKS, HAND = settings.players, settings.colors, settings.ranks, sizes.hand
    PLAYS, COLOR_HINTS, RANK_HINTS = sizes.plays, sizes.color_hints, sizes.rank_hints
    KIND_AT = PLAYERS
    TARGET_AT = KIND_AT + 4
    COLOR_AT = TARGET_AT + PLAYERS
    RANK_AT = COLOR_AT + COLORS
    HINTED_AT = RANK_AT + RANKS
    PLACE_AT = HINTED_AT + HAND

    @wl.function
    def last_move_bits(actor: int, move: int, hinted: int) -> wl.uint64:
        """Actor, sort of move, target, hinted colour, hinted rank, hinted cards and place of the card.

        ``actor`` is its distance from the observer in turns, as are all players in an observation.
        """
        if move < COLOR_HINTS:
            return bit(actor) | bit(KIND_AT + (1 if move < PLAYS else 0)) | bit(PLACE_AT + move % HAND)
        if move < RANK_HINTS:
            hint, values, value_at, kind = move - COLOR_HINTS, COLORS, COLOR_AT, 2
        else:
            hint, values, value_at, kind = move - RANK_HINTS, RANKS, RANK_AT, 3
        target = (actor + 1 + hint // values) % PLAYERS
        sort = bit(actor) | bit(KIND_AT + kind) | bit(TARGET_AT + target)
        return sort | bit(value_at + hint % values) | wl.uint64(hinted) << wl.uint64(HINTED_AT)

    return last_move_bits


def _knowledge_function(settings: HanabiSettings, sizes: Sizes) -> Any:
    COLORS, RANKS, KINDS = settings.colors, settings.ranks, sizes.kinds

    @wl.function
    def knowledge_bits(card: int) -> wl.uint64:
        """Plausible cards, hinted colour, hinted rank; 0 for an empty place."""
        colors, ranks = plausible_colors(card), plausible_ranks(card)
        known = wl.uint64(0)
        for color in range(COLORS):
            if colors >> color & 1 == 1:
                known |= wl.uint64(ranks) << wl.uint64(color * RANKS)
        if card & COLOR_HINTED != 0:
            known |= wl.uint64(colors) << wl.uint64(KINDS)
        if card & RANK_HINTED != 0:
            known |= wl.uint64(ranks) << wl.uint64(KINDS + COLORS)
        return known

    return knowledge_bits


def _encode_system(classes: Classes, settings: HanabiSettings, sizes: Sizes) -> System:
    """Assemble the bits of every agent's observation."""
    Game, Player = classes.Game, classes.Player
    PLAYERS, COLORS, RANKS, HAND = settings.players, settings.colors, settings.ranks, sizes.hand
    SLOTS, KINDS, CARDS = sizes.slots, sizes.kinds, sizes.cards
    ALL, CANONICAL = settings.agents == "all", settings.observation_type == "canonical"
    MISSING, DECK, FIREWORKS, INFORMATION, LIVES = (
        sizes.missing,
        sizes.deck,
        sizes.fireworks,
        sizes.information,
        sizes.lives,
    )
    DISCARDED, LAST_MOVE, LAST_CARD, KNOWLEDGE = sizes.discarded, sizes.last_move, sizes.last_card, sizes.knowledge
    CARD_KNOWLEDGE, WORDS = sizes.card_knowledge, sizes.observation // 64 + 1
    Bits = wl.vec(WORDS + 1, wl.uint64)
    last_move_bits, knowledge_bits = _last_move_function(settings, sizes), _knowledge_function(settings, sizes)

    @wl.function
    def put(bits: Bits, at: int, section: wl.uint64) -> Bits:
        """``bits`` with a section of up to 64 bits that starts at bit ``at``."""
        word, shift = at >> 6, at & 63
        bits[word] |= section << wl.uint64(shift)
        if shift > 0:
            bits[word + 1] |= section >> wl.uint64(64 - shift)
        return bits

    @wl.system
    def encode(player: Player, world: Game):
        bits = Bits()
        seat = player.id if ALL else world.turn
        for other in range(SLOTS - HAND):
            card = world.hands[(seat * HAND + HAND + other) % SLOTS]
            if card != 0:
                bits = put(bits, other * KINDS, bit(card & CARD))
        for other in range(PLAYERS):
            if world.hands[(seat + other) % PLAYERS * HAND + HAND - 1] == 0:
                bits = put(bits, MISSING + other, wl.uint64(1))
        bits = put(bits, DECK, thermometer(CARDS - world.dealt))
        for color in range(COLORS):
            if world.fireworks[color] > 0:
                bits = put(bits, FIREWORKS + color * RANKS, bit(world.fireworks[color] - 1))
        bits = put(bits, INFORMATION, thermometer(world.information))
        bits = put(bits, LIVES, thermometer(world.lives))
        bits = put(bits, DISCARDED, world.discarded)
        if world.last_player != NONE and world.last_move != NONE:
            actor = (world.last_player - seat + PLAYERS) % PLAYERS
            bits = put(bits, LAST_MOVE, last_move_bits(actor, world.last_move, world.last_hinted))
            if world.last_card != NONE:
                outcome = wl.uint64(world.last_scored) | wl.uint64(world.last_token) << wl.uint64(1)
                bits = put(bits, LAST_CARD, bit(world.last_card) | outcome << wl.uint64(KINDS))
        if CANONICAL:
            for slot in range(SLOTS):
                known = knowledge_bits(world.hands[(seat * HAND + slot) % SLOTS])
                bits = put(bits, KNOWLEDGE + slot * CARD_KNOWLEDGE, known)
        for word in range(WORDS):
            player.bits[2 * word] = wl.uint32(bits[word])
            player.bits[2 * word + 1] = wl.uint32(bits[word] >> wl.uint64(32))

    return encode


def _bytes_system(classes: Classes, sizes: Sizes) -> System:
    """Write one byte for every bit."""
    Player = classes.Player
    WHOLE_WORDS, REST = sizes.observation // 32, sizes.observation % 32

    @wl.system
    def write(player: Player):
        for word in range(WHOLE_WORDS):
            bits = player.bits[word]
            for place in range(32):
                player.observation[32 * word + place] = wl.uint8(bits >> wl.uint32(place) & wl.uint32(1))
        rest = player.bits[WHOLE_WORDS]
        for place in range(REST):
            player.observation[32 * WHOLE_WORDS + place] = wl.uint8(rest >> wl.uint32(place) & wl.uint32(1))

    return write


def _floats_system(classes: Classes, sizes: Sizes) -> System:
    """Write one real number for every bit."""
    Player = classes.Player
    LENGTH = sizes.observation

    @wl.system(threads="auto")
    def write(player: Player):
        for element in wl.share(LENGTH):
            player.observation[element] = float(player.bits[element // 32] >> wl.uint32(element % 32) & wl.uint32(1))

    return write


def _mask_system(classes: Classes, settings: HanabiSettings, sizes: Sizes) -> System:
    """Write the legal moves; those who do not act have one, the last."""
    Game, Player = classes.Game, classes.Player
    ALL, MOVES = settings.agents == "all", sizes.moves
    CHOICES = MOVES + 1 if ALL else MOVES

    @wl.system
    def mask(player: Player, world: Game):
        acts = player.id == world.turn or not ALL
        legal = world.legal if acts else bit(MOVES)
        for choice in range(CHOICES):
            player.action_mask[choice] = wl.int8(has_bit(legal, choice))

    return mask
