"""What agents see of consoles: pictures through a palette, the brighter pixels of two frames, another size, and a stack of the last few.

For N consoles, G games and pictures of 160 columns:

- ``pictures``: uint8 (N, 2, lines, 160): the colours of two frames, as indices into the palette of the game.
- ``game``: int32 (N,): which game each console plays.
- ``show``: int32 (N,) or None: what becomes of the pictures, a number of :class:`FrameSelection`; None stands for ``BRIGHTER``.
- ``fresh``: bool (N,) or None: whether the stack begins anew: all of it becomes the newest picture, or all but that becomes zero.
- ``screen``: uint8 (N, ...): the stack, the newest picture last.

All of it is the same to the bit on every device, and what OpenCV makes of the same pictures: :mod:`worldloom.atari.frames.resize`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import warp as wp

from worldloom.atari.frames.observe_kernels import WIDTH, ObserveKernelSpec, kernel
from worldloom.atari.frames.resize import Axis, Interpolation, ResizePlan, plan, whole
from worldloom.core.base.errors import InputError

MAX_LINES = 256
MAX_STACK = 64

Colour = Literal["grey", "planes", "pixels"]
"""Grey; or red, green and blue one plane after the other, as EnvPool has them; or side by side for each pixel."""
StackFill = Literal["repeat", "zero"]
"""What the older pictures of a stack are when it begins: the newest one, as EnvPool has it, or black, as ale-py's vector environment has it."""
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class FrameSelection(enum.IntEnum):
    """What becomes of a console's two pictures; numbered as in ``native/observe.h``."""

    SAME = 0  # the newest picture is shown once more
    FIRST = 1
    SECOND = 2
    BRIGHTER = 3  # of both, pixel by pixel
    NOTHING_NEW = 4  # the stack stays as it is


@dataclass(frozen=True)
class Look:
    """How pictures are shown.

    Attributes:
        height, width: Pixels of what is shown; both 0 for pictures as they are, with black lines below those that have fewer.
        stack: How many pictures.
        colour: Grey, or how red, green and blue are laid out.
        area: Whether a smaller picture takes means over areas, or is interpolated between pixels.
        older: What the older pictures are when a stack begins.
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
                f"pictures cannot be {self.height} x {self.width} pixels: give two numbers above 0, or 0 and 0 for the console's own size"
            )
        if not 1 <= self.stack <= MAX_STACK:
            raise InputError(f"a stack of {self.stack} pictures is not possible: give a number from 1 to {MAX_STACK}")

    @property
    def channels(self) -> int:
        return 1 if self.colour == "grey" else 3


class Observer:
    """Shows the pictures of consoles to agents, on one device.

    Args:
        look: How.
        heights: Lines of each game's picture that are shown, by game; at most ``lines``.
        palettes: By game: the grey of each colour, shape (256,), or red, green and blue, shape (256, 3).
        device: Where.
    """

    def __init__(self, look: Look, heights: Sequence[int], palettes: Sequence[Bytes], device: wp.Device) -> None:
        if not heights or len(heights) != len(palettes) or not all(1 <= height <= MAX_LINES for height in heights):
            raise InputError(
                f"every game needs a palette and a picture of 1 to {MAX_LINES} lines, not {len(palettes)} palettes for heights {list(heights)}"
            )
        self.look, self.device = look, device
        self._known = sorted(set(heights))
        self._plans = [self._plan(height) for height in self._known]
        tables = np.array(palettes, np.uint8).reshape(len(palettes), 256, look.channels).transpose(0, 2, 1)
        self._palettes = wp.array(np.ascontiguousarray(tables), dtype=wp.uint8, device=device)
        self._sizes = wp.array(np.array([self._known.index(height) for height in heights], np.int32), device=device)
        whole_numbers, shares = zip(
            *(self._numbers(*found) for found in zip(self._known, self._plans, strict=True)), strict=True
        )
        self._whole = wp.array(np.stack(whole_numbers), dtype=wp.int32, device=device)
        self._shares = wp.array(np.stack(shares), dtype=wp.float32, device=device)
        self._kernel = kernel(self._form)

    @property
    def size(self) -> tuple[int, int]:
        """Lines and columns of what is shown."""
        return (self.look.height, self.look.width) if self.look.height else (self._known[-1], WIDTH)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of what an agent sees of one console."""
        look = self.look
        if look.colour == "pixels":
            return (look.stack, *self.size, 3)
        return (look.stack * look.channels, *self.size)

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
        """Show the pictures of the consoles ``first`` to ``first + count - 1``; the module says what the arrays hold.

        It launches one kernel and allocates nothing.

        Args:
            pictures, game, screen, show, fresh: Of all consoles.
            first, count: Which of them; by default all.
            mask, value: bool (N,): consoles with another value are left alone.
            stream: Where to launch; None for Warp's own.
        """
        self._check(pictures, screen)
        lanes = self._form.lanes if self.device.is_cuda else 1
        seen = screen.reshape((len(screen), math.prod(self.shape)))
        arrays = [pictures, game, show, fresh, self._palettes, self._sizes, self._whole, self._shares, seen]
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
                f"a screen for consoles has {self.shape} numbers for each of them, and this one is {tuple(screen.shape)}"
            )
        if (
            pictures.ndim != 4
            or pictures.shape[1] != 2
            or pictures.shape[2] < self._form.rows
            or pictures.shape[3] != WIDTH
            or not pictures.is_contiguous
        ):
            raise InputError(
                f"pictures of consoles have the shape (consoles, 2, {self._form.rows} or more, {WIDTH}), and these are {tuple(pictures.shape)}"
            )

    def _plan(self, height: int) -> ResizePlan:
        look = self.look
        return (
            plan((height, WIDTH), (look.height, look.width), look.area)
            if look.height
            else whole(height, WIDTH, self._known[-1])
        )

    @cached_property
    def _form(self) -> ObserveKernelSpec:
        look, (height, width) = self.look, self.size
        across = max(found.columns.taps for found in self._plans)
        means = [found.columns.padded(across, WIDTH) for found in self._plans if found.kind is not Interpolation.LINEAR]
        return ObserveKernelSpec(
            rows=self._known[-1],
            out_height=height,
            out_width=width,
            across=across,
            down=max(found.lines.taps for found in self._plans),
            stack=look.stack,
            channels=look.channels,
            interleaved=look.colour == "pixels",
            zeros=look.older == "zero",
            has_linear=any(found.kind is Interpolation.LINEAR for found in self._plans),
            narrow=all(found.kind is Interpolation.AREA and found.unit <= 256 for found in self._plans),
            columns=tuple(map(tuple, _beside(means[0]).tolist())) if means else (),
        )

    def _numbers(self, height: int, found: ResizePlan) -> tuple[np.ndarray, np.ndarray]:
        """A plan as the kernel reads it."""
        form = self._form
        limits = (1 << 30, 1 << 30) if found.kind is Interpolation.LINEAR else (form.rows, WIDTH)
        lines, columns = found.lines.padded(form.down, limits[0]), found.columns.padded(form.across, limits[1])
        magic, shift = _divider(2 * found.unit)
        head = (
            np.array([height, found.kind, found.unit, magic, shift, found.doubt, 0, 0], np.int64)
            .astype(np.uint32)
            .view(np.int32)
        )
        weights = [head, _fours(_beside(lines)).ravel(), columns.first, columns.weights.T.ravel()]
        shares = [np.array([1.0 / found.unit], np.float32), columns.shares.T.ravel(), lines.shares.ravel()]
        return _fours(np.concatenate(weights)[None])[0], np.concatenate(shares)


def _beside(axis: Axis) -> np.ndarray:
    """First pixel and weights of each pixel, side by side."""
    return np.concatenate([axis.first[:, None], axis.weights], axis=1)


def _fours(rows: np.ndarray) -> np.ndarray:
    """Rows with zeros at their ends, so that their length is a multiple of four and each can be read in wide words."""
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % 4)))


def _divider(by: int) -> tuple[int, int]:
    """The factor and the shift with which (n * factor >> 32) >> shift is n // by, for every n below 2**31."""
    shift = (by - 1).bit_length() - 1
    return -((-1 << (32 + shift)) // by), shift
