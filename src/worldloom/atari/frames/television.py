"""Television standards, the visible part of a frame, and the detection of the standard of unknown ROMs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from worldloom.atari.games.game_table import Game

FIRST_LINE = 34
"""First visible scanline of a frame; games may override it."""

TRIAL_FRAMES = 60
"""Frames that an unknown ROM runs before its standard is detected."""
_COUNTED_FRAMES, _MIN_LONG_FRAMES, _MAX_NTSC_LINES = 30, 15, 285


class Format(IntEnum):
    """Television standard of a program; numbered as in the console's C++ source."""

    NTSC = 0
    PAL = 1
    SECAM = 2

    @property
    def height(self) -> int:
        """Visible scanlines; games may override it."""
        return 210 if self is Format.NTSC else 250


@dataclass(frozen=True)
class Television:
    """Standard and visible part of a frame.

    Attributes:
        format: The standard. It decides the colours and the maximum length of a frame.
        first_line: First visible scanline, counted from the start of the frame.
        height: Visible scanlines.
    """

    format: Format
    first_line: int
    height: int


def television_of(game: Game | None, line_counts: Sequence[int] = (), chosen: Format | None = None) -> Television:
    """The television of a game.

    Args:
        game: The game; None for an unknown ROM, whose standard is detected.
        line_counts: Scanlines of the first frames of an unknown ROM.
        chosen: Standard that overrides the game's own or the detected one. The visible scanlines of a game stay.
    """
    if game is not None:
        return Television(Format[game.television] if chosen is None else chosen, game.top, game.height)
    standard = detect(line_counts) if chosen is None else chosen
    return Television(standard, FIRST_LINE, standard.height)


def detect(line_counts: Sequence[int]) -> Format:
    """The standard of a program from its first 60 frames: PAL if 15 of the last 30 are too long for NTSC.

    The program runs on an NTSC console, as in :mod:`worldloom.atari.env.game_selection` and in ALE. That console ends a
    frame after 290 scanlines, so every long frame is followed by a short one, and half of the frames of a PAL program
    are long. SECAM frames are as long as PAL frames and are detected as PAL.
    """
    long = sum(lines > _MAX_NTSC_LINES for lines in line_counts[TRIAL_FRAMES - _COUNTED_FRAMES : TRIAL_FRAMES])
    return Format.PAL if long >= _MIN_LONG_FRAMES else Format.NTSC
