"""A card in a hand, packed into one integer: the card itself, and what its holder knows of it.

An empty place is 0. A card that is there has at least one plausible colour, so it is never 0.
"""

import worldloom as wl

CARD = 31
"""Bits 0 to 4: color * ranks + rank."""
COLORS_AT, RANKS_AT = 5, 10
"""Bits 5 to 9 and 10 to 14: the plausible colours and the plausible ranks, one bit each."""
COLOR_HINTED, RANK_HINTED = 1 << 15, 1 << 16
"""Whether the colour and the rank were hinted. Then they are the only plausible ones."""


def unknown_card(colors: int, ranks: int) -> int:
    """What the holder of a new card knows of it: all colours and ranks are plausible."""
    return (2**colors - 1) << COLORS_AT | (2**ranks - 1) << RANKS_AT


@wl.function
def plausible_colors(card: int) -> int:
    return card >> COLORS_AT & 31


@wl.function
def plausible_ranks(card: int) -> int:
    return card >> RANKS_AT & 31


@wl.function
def with_hint(card: int, matches: bool, value: int, at: int, hinted: int) -> int:
    """The card after a hint of one colour or rank, whose plausible values start at bit ``at``."""
    if matches:
        return card & ~(31 << at) | 1 << (at + value) | hinted
    return card & ~(1 << (at + value))


@wl.function
def bit(place: int) -> wl.uint64:
    return wl.uint64(1) << wl.uint64(place)


@wl.function
def has_bit(bits: wl.uint64, place: int) -> bool:
    return bits >> wl.uint64(place) & 1 == 1


@wl.function
def thermometer(count: int) -> wl.uint64:
    """The lowest ``count`` bits, at most 64."""
    return bit(count) - 1 if count < 64 else ~wl.uint64(0)
