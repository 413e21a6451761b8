"""Televisions: what the console's picture is shown on, and how that is found out for a ROM that nobody has described."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from worldloom.atari.games.game_table import Game

FIRST_LINE = 34
"""The first line of a frame that is shown, unless the game says otherwise."""

TRIAL_FRAMES = 60
"""Frames that an unknown ROM runs before its television is known."""
_WATCHED, _ENOUGH, _MAX_NTSC_LINES = 30, 15, 285


class Format(IntEnum):
    """The television standard that a program was written for; numbered as in the console's C++ source."""

    NTSC = 0
    PAL = 1
    SECAM = 2

    @property
    def height(self) -> int:
        """Lines that are shown, unless the game says otherwise."""
        return 210 if self is Format.NTSC else 250


@dataclass(frozen=True)
class Television:
    """What is shown of a frame.

    Attributes:
        format: The standard, which decides the colours and how long a frame may last.
        first_line: The first line that is shown, counted from the start of the frame.
        height: Lines that are shown.
    """

    format: Format
    first_line: int
    height: int


def television_of(game: Game | None, line_counts: Sequence[int] = (), chosen: Format | None = None) -> Television:
    """The television of a game; for a ROM without a game, None, what its first frames tell: the lines that each of them had.

    A ``chosen`` standard goes before that. What is shown of a known game stays the same lines.
    """
    if game is not None:
        return Television(Format[game.television] if chosen is None else chosen, game.top, game.height)
    found = detect(line_counts) if chosen is None else chosen
    return Television(found, FIRST_LINE, found.height)


def detect(line_counts: Sequence[int]) -> Format:
    """The standard of a program, from how many lines each of its first 60 frames had: PAL if 15 of the last 30 are longer than NTSC allows.

    The frames are those of a console that is tried as NTSC, as :mod:`worldloom.atari.env.game_selection` does and as ALE does. It ends a frame that goes on for more
    than 290 lines, so every long frame leaves a short one behind it, and half of the frames of a PAL program are long. SECAM frames are as long as PAL
    frames and cannot be told from them: who knows better chooses the standard.
    """
    long = sum(lines > _MAX_NTSC_LINES for lines in line_counts[TRIAL_FRAMES - _WATCHED : TRIAL_FRAMES])
    return Format.PAL if long >= _ENOUGH else Format.NTSC
