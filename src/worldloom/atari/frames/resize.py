"""How pictures get another size: for each pixel that is wanted, which pixels of the source it is made of, and with which weights.

Pictures that get smaller in no direction larger take the mean over the area that a pixel covers, as OpenCV's ``INTER_AREA`` has it. A picture that gets larger
in some direction is interpolated between two pixels in each direction, which is what OpenCV makes of ``INTER_AREA`` then; ``INTER_LINEAR`` always is.
Directions are apart: the weight of a pixel is that of its column times that of its line.

OpenCV works out means in real numbers of 32 bits, so what it makes of a mean that lies in the middle between two whole numbers is a matter of their rounding.
Weights are therefore given twice: as whole numbers, with which all other means are found quickly, and as OpenCV rounds them.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Whole = np.ndarray[Any, np.dtype[np.int32]]
Real = np.ndarray[Any, np.dtype[np.float32]]

LINEAR_UNIT = 2048
"""What the weights of an interpolation add up to."""
MIN_SHARE = 1e-3
"""Parts of a pixel below this count for nothing."""


class Interpolation(enum.IntEnum):
    """How a picture is made of its source; numbered as in ``native/resize.h``."""

    AREA = 0  # mean over an area that begins and ends within pixels
    BOX = 1  # mean of whole pixels
    QUARTERS = 2  # mean of 2 x 2 pixels, for which OpenCV has a rounding of its own
    LINEAR = 3  # between two pixels in each direction


@dataclass(frozen=True)
class Axis:
    """One direction of a picture.

    Attributes:
        first: (n,): the first pixel of the source that counts for each of n pixels.
        weights: (n, taps): what it and those after it count.
        shares: (n, taps): the same as parts of 1, as OpenCV rounds them.
        unit: What the weights of a pixel add up to.
    """

    first: Whole
    weights: Whole
    shares: Real
    unit: int

    @property
    def taps(self) -> int:
        return int(self.weights.shape[1])

    def padded(self, taps: int, length: int) -> Axis:
        """With more taps that count nothing, inside of ``length`` pixels where it can be."""
        first = np.maximum(np.minimum(self.first, length - taps), np.minimum(self.first, 0)).astype(np.int32)
        weights, shares = np.zeros((len(first), taps), np.int32), np.zeros((len(first), taps), np.float32)
        for n, shift in enumerate(self.first - first):
            kept = min(
                self.taps, taps - shift
            )  # what goes beyond are pixels outside of the source, which count nothing
            weights[n, shift : shift + kept] = self.weights[n, :kept]
            shares[n, shift : shift + kept] = self.shares[n, :kept]
        return Axis(first, weights, shares, self.unit)


@dataclass(frozen=True)
class ResizePlan:
    """How a picture of ``lines.n`` x ``columns.n`` pixels is made."""

    kind: Interpolation
    lines: Axis
    columns: Axis

    @property
    def unit(self) -> int:
        return self.lines.unit * self.columns.unit

    @property
    def doubt(self) -> int:
        """How near a mean may be to the middle between two whole numbers, in parts of ``2 * unit``, before OpenCV's rounding decides.

        Every product and sum of real numbers of 32 bits is off by at most 2**-24 of itself, and so is every share.
        """
        operations = 2 if self.kind is Interpolation.BOX else self.lines.taps + self.columns.taps + 6
        return int(2 * self.unit * 255 * operations * 1.1 / 2**24)


def plan(source: tuple[int, int], target: tuple[int, int], area: bool = True) -> ResizePlan:
    """How a picture of ``source`` lines and columns becomes one of ``target``; without ``area`` it is interpolated even where it gets smaller."""
    if not area and source != target:
        return ResizePlan(
            Interpolation.LINEAR,
            *(
                _between(s, t, centred=True, clipped=n == 1)
                for n, (s, t) in enumerate(zip(source, target, strict=True))
            ),
        )
    if any(t > s for s, t in zip(source, target, strict=True)):
        return ResizePlan(
            Interpolation.LINEAR,
            *(_between(s, t, centred=False, clipped=True) for s, t in zip(source, target, strict=True)),
        )
    lines, columns = (_covered(s, t) for s, t in zip(source, target, strict=True))
    if any(s % t for s, t in zip(source, target, strict=True)):
        return ResizePlan(Interpolation.AREA, lines, columns)
    return ResizePlan(Interpolation.QUARTERS if lines.taps == columns.taps == 2 else Interpolation.BOX, lines, columns)


def whole(rows: int, width: int, height: int) -> ResizePlan:
    """A picture of ``rows`` lines as it is, in one of ``height`` lines whose others are black."""
    lines = _covered(height, height)
    lines.weights[rows:] = 0
    return ResizePlan(Interpolation.BOX, lines, _covered(width, width))


def _scale(source: int, target: int) -> float:
    """Pixels of the source for one of the target, rounded in the way OpenCV does, which decides what lies at a border."""
    return 1.0 / (target / source)


def _covered(source: int, target: int) -> Axis:
    """The pixels that each pixel of the target covers, wholly or in part."""
    common = math.gcd(source, target)
    unit, cells = source // common, target // common
    begins = np.arange(target, dtype=np.int64) * unit
    first = begins // cells
    taps = int(((begins + unit - 1) // cells - first).max()) + 1
    places = first[:, None] + np.arange(taps)
    covered = np.minimum((places + 1) * cells, (begins + unit)[:, None]) - np.maximum(places * cells, begins[:, None])
    weights = np.maximum(covered, 0).astype(np.int32)
    axis = Axis(first.astype(np.int32), weights, np.zeros(weights.shape, np.float32), unit)
    _round_shares(axis, source, target)
    return axis.padded(taps, source)


def _round_shares(axis: Axis, source: int, target: int) -> None:
    """Shares in 64 bits as OpenCV has them, from real borders between pixels, rounded to 32."""
    scale = _scale(source, target)
    for n, first in enumerate(axis.first.tolist()):
        begin = n * scale
        end = begin + scale
        cell = min(scale, source - begin)
        inner, last = math.ceil(begin), min(math.floor(end), source - 1)
        inner = min(inner, last)
        if inner - begin > MIN_SHARE:
            axis.shares[n, inner - 1 - first] = (inner - begin) / cell
        axis.shares[n, inner - first : last - first] = 1.0 / cell
        if end - last > MIN_SHARE:
            axis.shares[n, last - first] = min(end - last, 1.0, cell) / cell


def _between(source: int, target: int, centred: bool, clipped: bool) -> Axis:
    """The two pixels that each pixel of the target lies between.

    Args:
        source, target: Pixels.
        centred: Whether the centre of a pixel is what lies between two others, or its cell.
        clipped: Whether a pixel outside of the source's outermost centres is that at the border; if not, both of its two pixels are.
    """
    scale, real = _scale(source, target), np.float32
    first, weights = np.zeros(target, np.int32), np.zeros((target, 2), np.int32)
    for n in range(target):
        if centred:
            at = real((n + 0.5) * scale - 0.5)
            place = math.floor(at)
            part = real(at - real(place))
        else:
            place = math.floor(n * scale)
            part = real((n + 1) - (place + 1) * (target / source))
            part = real(0) if part <= 0 else real(part - math.floor(part))
        if clipped and not 0 <= place < source - 1:
            place, part = (0, real(0)) if place < 0 else (max(source - 2, 0), real(min(source - 1, 1)))
        first[n] = place
        weights[n] = np.rint(real(real(1) - part) * real(LINEAR_UNIT)), np.rint(part * real(LINEAR_UNIT))
    return Axis(first, weights, np.zeros((target, 2), np.float32), LINEAR_UNIT)
