"""A small canvas: anti-aliased filled shapes, lines and text, drawn with NumPy alone.

Coordinates are pixels, x to the right and y down, from the upper left corner of the image. They may be fractions.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

Color = tuple[int, int, int]
Point = tuple[float, float]
Image = np.ndarray[Any, np.dtype[np.uint8]]
"""Shape (height, width, 3)."""
Mask = np.ndarray[Any, np.dtype[np.bool_]]

WHITE: Color = (255, 255, 255)
BLACK: Color = (0, 0, 0)
PAPER: Color = (250, 249, 246)
INK: Color = (52, 62, 70)
SAMPLES = 2
"""Samples per pixel in each direction; an edge gets ``SAMPLES**2 + 1`` shades."""

AREA_COST = 2000
"""Overhead of one painted area, in pixels whose means take as long."""

GLYPH_WIDTH, GLYPH_HEIGHT = 5, 7
_GLYPHS: dict[str, str] = {
    "0": "0E11131519110E",
    "1": "040C040404040E",
    "2": "0E11010204081F",
    "3": "1F02040201110E",
    "4": "02060A121F0202",
    "5": "1F101E0101110E",
    "6": "0608101E11110E",
    "7": "1F010204080808",
    "8": "0E11110E11110E",
    "9": "0E11110F01020C",
    "A": "0E11111F111111",
    "B": "1E11111E11111E",
    "C": "0E11101010110E",
    "D": "1C12111111121C",
    "E": "1F10101E10101F",
    "F": "1F10101E101010",
    "G": "0E11101713110F",
    "H": "1111111F111111",
    "I": "0E04040404040E",
    "J": "0702020202120C",
    "K": "11121418141211",
    "L": "1010101010101F",
    "M": "111B1515111111",
    "N": "11191915131311",
    "O": "0E11111111110E",
    "P": "1E11111E101010",
    "Q": "0E11111115120D",
    "R": "1E11111E141211",
    "S": "0F10100E01011E",
    "T": "1F040404040404",
    "U": "1111111111110E",
    "V": "11111111110A04",
    "W": "1111111515150A",
    "X": "11110A040A1111",
    "Y": "1111110A040404",
    "Z": "1F01020408101F",
    ".": "00000000000C0C",
    ",": "000000000C0408",
    ":": "000C0C000C0C00",
    "-": "0000001F000000",
    "+": "0004041F040400",
    "/": "00010204081000",
    "%": "18190204081303",
    "=": "00001F001F0000",
    "!": "04040404000004",
    "?": "0E110102040004",
    "(": "02040808080402",
    ")": "08040202020408",
    " ": "00000000000000",
}
"""Seven rows of five dots per character, a byte per row, the leftmost dot in the highest bit."""


class Canvas:
    """An image to draw on.

    Args:
        width: Of the image, in pixels.
        height: Of the image, in pixels.
        background: The color of the empty image, red, green and blue from 0 to 255.
    """

    def __init__(self, width: int, height: int, background: Color = WHITE) -> None:
        self.width, self.height = width, height
        self._samples = np.full(
            (height * SAMPLES, width * SAMPLES), _packed(background), np.uint32
        )  # one word per sample is faster to fill than three bytes
        self._background = background
        self._painted: list[tuple[int, int, int, int]] = []
        """Areas that differ from the background: first and last row and column in pixels, the last exclusive."""

    def image(self) -> Image:
        """The image, uint8 of shape (height, width, 3); each pixel is the mean of its samples."""
        image = np.empty((self.height, self.width, 3), np.uint8)
        image[:1] = self._background
        image[1:] = image[:1]
        for top, bottom, left, right in self._painted_areas():
            samples = self._samples[top * SAMPLES : bottom * SAMPLES, left * SAMPLES : right * SAMPLES]
            _write_means(samples, image[top:bottom, left:right])
        return image

    def _painted_areas(self) -> list[tuple[int, int, int, int]]:
        """The painted areas, or one around all of them where that is less work."""
        if len(self._painted) <= 1:
            return self._painted
        top, bottom, left, right = zip(*self._painted, strict=True)
        around = (min(top), max(bottom), min(left), max(right))
        pixels = sum(map(_pixels, self._painted))
        return self._painted if pixels + len(self._painted) * AREA_COST < _pixels(around) else [around]

    def rectangle(self, left: float, top: float, width: float, height: float, color: Color) -> None:
        """A filled rectangle."""
        rows = slice(_first(top, self.height), _first(top + height, self.height))
        columns = slice(_first(left, self.width), _first(left + width, self.width))
        self._samples[rows, columns] = _packed(color)
        self._mark(rows, columns)

    def polygon(self, points: Iterable[Point], color: Color) -> None:
        """A filled polygon, by the even-odd rule."""
        corners = [(float(x), float(y)) for x, y in points]
        across, down = zip(*corners, strict=True)
        rows, columns = self._window(min(across), min(down), max(across), max(down))
        x, y = self._centres(rows, columns)
        inside = np.zeros((y.shape[0], x.shape[1]), bool)
        for (x0, y0), (x1, y1) in pairwise([*corners, corners[0]]):
            if y0 != y1:
                inside ^= ((y0 <= y) != (y1 <= y)) & (x < x0 + (y - y0) * ((x1 - x0) / (y1 - y0)))
        self._paint(rows, columns, inside, color)

    def circle(self, x: float, y: float, radius: float, color: Color) -> None:
        """A filled disc around (x, y)."""
        rows, columns = self._window(x - radius, y - radius, x + radius, y + radius)
        here_x, here_y = self._centres(rows, columns)
        self._paint(rows, columns, (here_x - x) ** 2 + (here_y - y) ** 2 <= radius**2, color)

    def line(self, points: Sequence[Point], color: Color, width: float = 1.0) -> None:
        """A line through ``points``, ``width`` pixels wide, with round corners where it is wide enough to see them."""
        for (x0, y0), (x1, y1) in pairwise(points):
            length = float(np.hypot(x1 - x0, y1 - y0))
            if length > 0.0:
                dx, dy = (y1 - y0) / length * width / 2.0, (x0 - x1) / length * width / 2.0
                self.polygon([(x0 + dx, y0 + dy), (x1 + dx, y1 + dy), (x1 - dx, y1 - dy), (x0 - dx, y0 - dy)], color)
        for x, y in points[1:-1]:
            self.circle(x, y, width / 2.0, color)

    def text(self, x: float, y: float, text: str, color: Color = BLACK, dot: float = 2.0) -> None:
        """Text with its upper left corner at (x, y); ``dot`` is the size of a dot of the font in pixels.

        The font has capital letters, digits and a few signs. Lower-case letters become capitals, and characters that it
        lacks become question marks.
        """
        for index, character in enumerate(text.upper()):
            left = x + index * (GLYPH_WIDTH + 1) * dot
            for row, first, count in _runs(character):
                self.rectangle(left + first * dot, y + row * dot, count * dot, dot, color)

    def _window(self, left: float, top: float, right: float, bottom: float) -> tuple[slice, slice]:
        """The rows and columns of samples inside these bounds, clipped to the image."""
        rows = slice(_first(top, self.height), _first(bottom, self.height) + 1)
        columns = slice(_first(left, self.width), _first(right, self.width) + 1)
        return rows, columns

    def _centres(self, rows: slice, columns: slice) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The positions of the samples of a window: x of shape (1, columns), y of shape (rows, 1), in pixels."""
        height, width = self._samples.shape[:2]
        x = (np.arange(*columns.indices(width)) + 0.5) / SAMPLES
        y = (np.arange(*rows.indices(height)) + 0.5) / SAMPLES
        return x[None, :], y[:, None]

    def _paint(self, rows: slice, columns: slice, inside: Mask, color: Color) -> None:
        self._samples[rows, columns][inside] = _packed(color)
        self._mark(rows, columns)

    def _mark(self, rows: slice, columns: slice) -> None:
        """Note that the samples of a window may differ from the background."""
        height, width = self._samples.shape
        area = (
            rows.start // SAMPLES,
            -(-min(rows.stop, height) // SAMPLES),
            columns.start // SAMPLES,
            -(-min(columns.stop, width) // SAMPLES),
        )
        if _pixels(area):
            self._painted.append(area)


def _pixels(area: tuple[int, int, int, int]) -> int:
    """Number of pixels of an area; 0 where it is empty."""
    top, bottom, left, right = area
    return max(bottom - top, 0) * max(right - left, 0)


def _write_means(samples: np.ndarray[Any, np.dtype[np.uint32]], image: Image) -> None:
    """Write the mean of every ``SAMPLES`` x ``SAMPLES`` samples to a pixel of ``image``."""
    height, width, _ = image.shape
    for shift, channels in ((0, (0, 2)), (8, (1,))):  # red and blue are summed in the two halves of one word
        total = np.full((height, width), SAMPLES**2 // 2 * 0x00010001, np.uint32)
        for row in range(SAMPLES):
            for column in range(SAMPLES):
                total += samples[row::SAMPLES, column::SAMPLES] >> shift & 0x00FF00FF
        for channel in channels:
            image[..., channel] = (total >> (8 * channel - shift) & 0xFFFF) // SAMPLES**2


@functools.cache
def _runs(character: str) -> tuple[tuple[int, int, int], ...]:
    """The dots of a character as horizontal runs: the row, the first dot and the length."""
    rows = (f"{bits:0{GLYPH_WIDTH}b}" for bits in bytes.fromhex(_GLYPHS.get(character, _GLYPHS["?"])))
    return tuple((row, run.start(), len(run[0])) for row, dots in enumerate(rows) for run in re.finditer("1+", dots))


def text_width(text: str, dot: float = 2.0) -> float:
    """The width of ``text`` as :meth:`Canvas.text` draws it, in pixels."""
    return max(0.0, (len(text) * (GLYPH_WIDTH + 1) - 1) * dot)


def rotated(points: Iterable[Point], angle: float, x: float = 0.0, y: float = 0.0) -> list[Point]:
    """``points`` rotated about the origin by ``angle`` radians, clockwise in the image, then translated by (x, y)."""
    cosine, sine = float(np.cos(angle)), float(np.sin(angle))
    return [(x + px * cosine - py * sine, y + px * sine + py * cosine) for px, py in points]


def _first(position: float, size: int) -> int:
    """The first sample at or after ``position`` on an axis of ``size`` pixels, from 0 to ``size * SAMPLES``."""
    return min(max(ceil(min(max(position, -1.0), size + 1.0) * SAMPLES - 0.5), 0), size * SAMPLES)


def _packed(color: Color) -> int:
    """A color as one number: red in the lowest byte, then green, then blue."""
    red, green, blue = color
    return red | green << 8 | blue << 16
