"""Observations of consoles: palette lookup, maximum of two frames, resizing and frame stacking.

For N consoles, G games and pictures of 160 columns:

- ``pictures``: uint8 (N, 2, lines, 160): colours of two frames, as indices into the palette of the game.
- ``game``: int32 (N,): the game of each console.
- ``show``: int32 (N,) or None: a :class:`FrameSelection`; None stands for ``BRIGHTER``.
- ``fresh``: bool (N,) or None: whether the stack is refilled. Older pictures are then copies of the newest, or zero.
- ``screen``: uint8 (N, ...): the stack, newest picture last.

Results are bitwise equal on all devices, and equal to those of OpenCV: see :mod:`worldloom.atari.frames.resize`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
import warp as wp

from worldloom.atari.frames.observe_kernels import ObserveKernelSpec, kernel
from worldloom.atari.frames.resize import Axis, Interpolation, ResizePlan, resize_plan, unscaled_plan
from worldloom.atari.native import WIDTH
from worldloom.core.base.errors import InputError

MAX_LINES = 256
MAX_STACK = 64

Colour = Literal["grey", "planes", "pixels"]
"""Grey; RGB planes (channels first), as in EnvPool; or RGB pixels (channels last)."""
StackFill = Literal["repeat", "zero"]
"""Older pictures of a new stack: copies of the newest, as in EnvPool, or black, as in ale-py's vector environment."""
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class FrameSelection(enum.IntEnum):
    """What an observation shows of a console's two pictures; numbered as in ``native/frames/observe.h``."""

    SAME = 0  # the newest picture of the stack once more
    FIRST = 1
    SECOND = 2
    BRIGHTER = 3  # maximum of both, pixel by pixel
    NOTHING_NEW = 4  # the stack is left unchanged


@dataclass(frozen=True)
class FrameFormat:
    """Format of an observation.

    Attributes:
        height, width: Size in pixels; both 0 for the console's own size, where smaller pictures are padded with black
            lines at the bottom.
        stack: Number of stacked pictures.
        colour: Grey, or the layout of red, green and blue.
        area: Whether pictures are reduced by area averaging, or by bilinear interpolation.
        older: Older pictures of a new stack.
    """

    height: int = 84
    width: int = 84
    stack: int = 4
    colour: Colour = "grey"
    area: bool = True
    older: StackFill = "repeat"

    def __post_init__(self) -> None:
        if (self.height == 0) != (self.width == 0) or self.height < 0 or self.width < 0:
            raise InputError(
                f"pictures cannot have {self.height} x {self.width} pixels: "
                "give two numbers above 0, or 0 and 0 for the console's own size"
            )
        if not 1 <= self.stack <= MAX_STACK:
            raise InputError(f"a stack of {self.stack} pictures is not possible: give a number from 1 to {MAX_STACK}")

    @property
    def channels(self) -> int:
        return 1 if self.colour == "grey" else 3

    def digest(self) -> str:
        """The format as text for fingerprints. It must not change: files hold a hash of it."""
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return f"Look({values})"


class Observer:
    """Writes the observations of consoles, on one device.

    Args:
        frame_format: Format of the observations.
        heights: Scanlines to show, by game; at most ``lines``.
        palettes: By game: grey values of the colours, shape (256,), or RGB values, shape (256, 3).
        device: Device of the arrays.
    """

    def __init__(
        self, frame_format: FrameFormat, heights: Sequence[int], palettes: Sequence[Bytes], device: wp.Device
    ) -> None:
        if not heights or len(heights) != len(palettes) or not all(1 <= height <= MAX_LINES for height in heights):
            raise InputError(
                f"every game needs a palette and a picture of 1 to {MAX_LINES} lines, "
                f"not {len(palettes)} palettes for heights {list(heights)}"
            )
        self.frame_format, self.device = frame_format, device
        self._known = sorted(set(heights))
        self._plans = [self._plan(height) for height in self._known]
        tables = np.array(palettes, np.uint8).reshape(len(palettes), 256, frame_format.channels)
        tables = tables.transpose(0, 2, 1)
        self._palettes = wp.array(np.ascontiguousarray(tables), dtype=wp.uint8, device=device)
        self._sizes = wp.array(np.array([self._known.index(height) for height in heights], np.int32), device=device)
        integers, shares = zip(
            *(self._plan_arrays(height, plan) for height, plan in zip(self._known, self._plans, strict=True)),
            strict=True,
        )
        self._whole = wp.array(np.stack(integers), dtype=wp.int32, device=device)
        self._shares = wp.array(np.stack(shares), dtype=wp.float32, device=device)
        self._kernel = kernel(self._form)

    @property
    def size(self) -> tuple[int, int]:
        """Lines and columns of an observed picture."""
        return (
            (self.frame_format.height, self.frame_format.width)
            if self.frame_format.height
            else (self._known[-1], WIDTH)
        )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the observation of one console."""
        frame_format = self.frame_format
        if frame_format.colour == "pixels":
            return (frame_format.stack, *self.size, 3)
        return (frame_format.stack * frame_format.channels, *self.size)

    def launch(
        self,
        pictures: wp.array,
        game: wp.array,
        screen: wp.array,
        show: wp.array | None = None,
        fresh: wp.array | None = None,
        *,
        first: int = 0,
        count: int | None = None,
        mask: wp.array | None = None,
        value: bool = True,
        stream: wp.Stream | None = None,
    ) -> None:
        """Write the observations of the consoles ``first`` to ``first + count - 1``; the module describes the arrays.

        Launches one kernel and allocates nothing.

        Args:
            pictures, game, screen, show, fresh: Arrays of all consoles.
            first, count: Range of consoles; by default all.
            mask, value: bool (N,): consoles with another value are skipped.
            stream: CUDA stream; None for Warp's current one.
        """
        self._check(pictures, screen)
        lanes = self._form.lanes if self.device.is_cuda else 1
        flat_screen = screen.reshape((len(screen), math.prod(self.shape)))
        arrays = [pictures, game, show, fresh, self._palettes, self._sizes, self._whole, self._shares, flat_screen]
        consoles = len(screen) - first if count is None else count
        wp.launch(
            self._kernel,
            consoles * lanes,
            [first, lanes, mask, value, *arrays],
            device=self.device,
            stream=stream,
            block_dim=self._form.lanes,
            record_tape=False,
        )

    def _check(self, pictures: wp.array, screen: wp.array) -> None:
        if screen.size != len(screen) * math.prod(self.shape):
            raise InputError(
                f"the screen of consoles must hold {self.shape} numbers per console, "
                f"but has shape {tuple(screen.shape)}"
            )
        if (
            pictures.ndim != 4
            or pictures.shape[1] != 2
            or pictures.shape[2] < self._form.rows
            or pictures.shape[3] != WIDTH
            or not pictures.is_contiguous
        ):
            raise InputError(
                f"pictures of consoles must have the shape (consoles, 2, {self._form.rows} or more, {WIDTH}), "
                f"not {tuple(pictures.shape)}"
            )

    def _plan(self, height: int) -> ResizePlan:
        frame_format = self.frame_format
        return (
            resize_plan((height, WIDTH), (frame_format.height, frame_format.width), frame_format.area)
            if frame_format.height
            else unscaled_plan(height, WIDTH, self._known[-1])
        )

    @cached_property
    def _form(self) -> ObserveKernelSpec:
        frame_format, (height, width) = self.frame_format, self.size
        across = max(plan.columns.taps for plan in self._plans)
        means = [plan.columns.padded(across, WIDTH) for plan in self._plans if plan.kind is not Interpolation.LINEAR]
        return ObserveKernelSpec(
            rows=self._known[-1],
            out_height=height,
            out_width=width,
            across=across,
            down=max(plan.lines.taps for plan in self._plans),
            stack=frame_format.stack,
            channels=frame_format.channels,
            interleaved=frame_format.colour == "pixels",
            zeros=frame_format.older == "zero",
            has_linear=any(plan.kind is Interpolation.LINEAR for plan in self._plans),
            narrow=all(plan.kind is Interpolation.AREA and plan.unit <= 256 for plan in self._plans),
            columns=tuple(map(tuple, _beside(means[0]).tolist())) if means else (),
        )

    def _plan_arrays(self, height: int, plan: ResizePlan) -> tuple[np.ndarray, np.ndarray]:
        """The integers and the shares of a plan, in the layout that the kernel reads."""
        form = self._form
        limits = (1 << 30, 1 << 30) if plan.kind is Interpolation.LINEAR else (form.rows, WIDTH)
        lines, columns = plan.lines.padded(form.down, limits[0]), plan.columns.padded(form.across, limits[1])
        magic, shift = _divider(2 * plan.unit)
        head = (
            np.array([height, plan.kind, plan.unit, magic, shift, plan.doubt, 0, 0], np.int64)
            .astype(np.uint32)
            .view(np.int32)
        )
        weights = [head, _fours(_beside(lines)).ravel(), columns.first, columns.weights.T.ravel()]
        shares = [np.array([1.0 / plan.unit], np.float32), columns.shares.T.ravel(), lines.shares.ravel()]
        return _fours(np.concatenate(weights)[None])[0], np.concatenate(shares)


def _beside(axis: Axis) -> np.ndarray:
    """First source pixel and weights of each pixel, side by side."""
    return np.concatenate([axis.first[:, None], axis.weights], axis=1)


def _fours(rows: np.ndarray) -> np.ndarray:
    """Rows padded with zeros to a multiple of four, so that they can be read in wide words."""
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % 4)))


def _divider(by: int) -> tuple[int, int]:
    """The factor and the shift for which (n * factor >> 32) >> shift == n // by, for every n below 2**31."""
    shift = (by - 1).bit_length() - 1
    return -((-1 << (32 + shift)) // by), shift
