"""Resize plans: the source pixels and the weights of each target pixel, as in OpenCV.

A picture that grows in no direction is averaged over the area of each target pixel (``INTER_AREA``). A picture that
grows in some direction is interpolated bilinearly, as OpenCV does for ``INTER_AREA`` too; ``INTER_LINEAR`` always does.
The filters are separable: the weight of a pixel is the weight of its column times the weight of its line.

OpenCV computes means in float32, so the rounding of a mean halfway between two integers depends on float32 rounding.
Weights are therefore stored twice: as integers, which give all other means exactly, and as float32 shares.
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
"""Sum of the weights of an interpolation."""
MIN_SHARE = 1e-3
"""Smaller shares of a pixel are ignored."""


class Interpolation(enum.IntEnum):
    """Interpolation method; numbered as in ``native/frames/resize.h``."""

    AREA = 0  # mean over an area with fractional borders
    BOX = 1  # mean of whole pixels
    QUARTERS = 2  # mean of 2 x 2 pixels, which OpenCV rounds differently
    LINEAR = 3  # bilinear


@dataclass(frozen=True)
class Axis:
    """Filter of one direction of a picture.

    Attributes:
        first: (n,): first source pixel of each of n target pixels.
        weights: (n, taps): integer weights of that pixel and the following ones.
        shares: (n, taps): the same as fractions, rounded as in OpenCV.
        unit: Sum of the weights of a target pixel.
    """

    first: Whole
    weights: Whole
    shares: Real
    unit: int

    @property
    def taps(self) -> int:
        return int(self.weights.shape[1])

    def padded(self, taps: int, length: int) -> Axis:
        """The same filter with more taps of weight zero, kept inside ``length`` pixels where possible."""
        first = np.maximum(np.minimum(self.first, length - taps), np.minimum(self.first, 0)).astype(np.int32)
        weights, shares = np.zeros((len(first), taps), np.int32), np.zeros((len(first), taps), np.float32)
        for n, shift in enumerate(self.first - first):
            used = min(self.taps, taps - shift)  # the rest are pixels outside of the source, of weight zero
            weights[n, shift : shift + used] = self.weights[n, :used]
            shares[n, shift : shift + used] = self.shares[n, :used]
        return Axis(first, weights, shares, self.unit)


@dataclass(frozen=True)
class ResizePlan:
    """Filters of a picture of ``len(lines.first)`` x ``len(columns.first)`` pixels."""

    kind: Interpolation
    lines: Axis
    columns: Axis

    @property
    def unit(self) -> int:
        return self.lines.unit * self.columns.unit

    @property
    def doubt(self) -> int:
        """Distance of a mean from a halfway point, in units of ``2 * unit``, within which OpenCV's rounding decides.

        Every float32 product, sum and share has a relative error of at most 2**-24.
        """
        operations = 2 if self.kind is Interpolation.BOX else self.lines.taps + self.columns.taps + 6
        return int(2 * self.unit * 255 * operations * 1.1 / 2**24)


def resize_plan(source: tuple[int, int], target: tuple[int, int], area: bool = True) -> ResizePlan:
    """The plan from ``source`` to ``target`` lines and columns; without ``area`` reductions are bilinear too."""
    if not area and source != target:
        return ResizePlan(
            Interpolation.LINEAR,
            *(
                _bilinear(s, t, centred=True, clipped=n == 1)
                for n, (s, t) in enumerate(zip(source, target, strict=True))
            ),
        )
    if any(t > s for s, t in zip(source, target, strict=True)):
        return ResizePlan(
            Interpolation.LINEAR,
            *(_bilinear(s, t, centred=False, clipped=True) for s, t in zip(source, target, strict=True)),
        )
    lines, columns = (_covered(s, t) for s, t in zip(source, target, strict=True))
    if any(s % t for s, t in zip(source, target, strict=True)):
        return ResizePlan(Interpolation.AREA, lines, columns)
    return ResizePlan(Interpolation.QUARTERS if lines.taps == columns.taps == 2 else Interpolation.BOX, lines, columns)


def unscaled_plan(rows: int, width: int, height: int) -> ResizePlan:
    """A picture of ``rows`` lines at its own size, padded with black lines to ``height``."""
    lines = _covered(height, height)
    lines.weights[rows:] = 0
    return ResizePlan(Interpolation.BOX, lines, _covered(width, width))


def _scale(source: int, target: int) -> float:
    """Source pixels per target pixel, rounded as in OpenCV; the rounding decides ties at borders."""
    return 1.0 / (target / source)


def _covered(source: int, target: int) -> Axis:
    """The source pixels that each target pixel covers, fully or partly."""
    common = math.gcd(source, target)
    unit, cells = source // common, target // common
    begins = np.arange(target, dtype=np.int64) * unit
    first = begins // cells
    taps = int(((begins + unit - 1) // cells - first).max()) + 1
    pixels = first[:, None] + np.arange(taps)
    covered = np.minimum((pixels + 1) * cells, (begins + unit)[:, None]) - np.maximum(pixels * cells, begins[:, None])
    weights = np.maximum(covered, 0).astype(np.int32)
    axis = Axis(first.astype(np.int32), weights, np.zeros(weights.shape, np.float32), unit)
    _round_shares(axis, source, target)
    return axis.padded(taps, source)


def _round_shares(axis: Axis, source: int, target: int) -> None:
    """Compute shares in float64 from fractional borders, as in OpenCV, and round them to float32."""
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


def _bilinear(source: int, target: int, centred: bool, clipped: bool) -> Axis:
    """The two source pixels of each target pixel.

    Args:
        source, target: Numbers of pixels.
        centred: Whether pixel centres are interpolated, or pixel cells.
        clipped: Whether positions beyond the outermost centres take the border pixel with weight 1; otherwise both taps
            are kept.
    """
    scale, real = _scale(source, target), np.float32
    first, weights = np.zeros(target, np.int32), np.zeros((target, 2), np.int32)
    for n in range(target):
        if centred:
            position = real((n + 0.5) * scale - 0.5)
            pixel = math.floor(position)
            part = real(position - real(pixel))
        else:
            pixel = math.floor(n * scale)
            part = real((n + 1) - (pixel + 1) * (target / source))
            part = real(0) if part <= 0 else real(part - math.floor(part))
        if clipped and not 0 <= pixel < source - 1:
            pixel, part = (0, real(0)) if pixel < 0 else (max(source - 2, 0), real(min(source - 1, 1)))
        first[n] = pixel
        weights[n] = np.rint(real(real(1) - part) * real(LINEAR_UNIT)), np.rint(part * real(LINEAR_UNIT))
    return Axis(first, weights, np.zeros((target, 2), np.float32), LINEAR_UNIT)
