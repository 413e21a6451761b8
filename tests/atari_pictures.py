"""Pictures of consoles and observation formats, for tests on every device."""

from __future__ import annotations

import numpy as np

from worldloom.atari.frames.observe import Colour, FrameFormat
from worldloom.atari.frames.palettes import colours, greys
from worldloom.atari.frames.television import Format


def palettes(count: int, colour: Colour) -> list[np.ndarray]:
    return [(greys if colour == "grey" else colours)(Format(n % 2)) for n in range(count)]


def pictures(rng: np.random.Generator, count: int, height: int) -> np.ndarray:
    """Random pixels; few colours; lines that repeat, in one frame or in both."""
    made = rng.integers(0, 128, (count, 2, height, 160)).astype(np.uint8) * 2
    made[1::4] &= 6
    made[2::4, :, 50:120] = made[2::4, :, 50:51]
    made[3::4, 1] = made[3::4, 0]
    made[3::4, 1, 100:120, 40:80] = 0
    return made


FRAME_FORMATS = {
    "usual": (FrameFormat(), (210, 250, 214)),
    "planes": (FrameFormat(stack=2, colour="planes"), (210,)),
    "pixels, 2 x 2": (FrameFormat(105, 80, stack=2, colour="pixels"), (210, 250)),
    "odd size": (FrameFormat(83, 79, stack=3), (214, 210)),
    "boxes": (FrameFormat(70, 40, stack=1), (210, 250)),
    "one taller, one not": (FrameFormat(220, 84, stack=1), (210, 250)),
    "linear": (FrameFormat(area=False, stack=1), (210,)),
    "very small": (FrameFormat(6, 5, stack=1), (210,)),
    "whole": (FrameFormat(0, 0, stack=1, colour="pixels"), (210, 250)),
}
"""Observation formats that cover every kind of size, with the heights of the games."""
