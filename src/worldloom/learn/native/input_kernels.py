# mypy: ignore-errors
"""Kernels that gather observations as the network's inputs: numbers, scaled bytes and one-hot choices."""

from __future__ import annotations

from typing import Any

import warp as wp


@wp.func
def _place(indices: wp.array(dtype=wp.int64), sample: int):
    """The row of a sample: all rows in order for empty ``indices``."""
    if indices.shape[0] > 0:
        return indices[sample]
    return wp.int64(sample)


@wp.func
def _write_numbers(
    sample: int, column: wp.array2d(dtype=Any), indices: wp.array(dtype=wp.int64), limit: wp.float32,
    mean: wp.array(dtype=wp.float32), scale: wp.array(dtype=wp.float32), first: int,
    inputs: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    place = _place(indices, sample)
    for k in range(column.shape[1]):
        number = wp.float32(column[place, k])
        if mean.shape[0] > 0:
            number = (number - mean[k]) * scale[k]
            if number > limit:  # NaN stays NaN
                number = limit
            if number < -limit:
                number = -limit
        inputs[sample, first + k] = number


@wp.func
def _write_choices(
    sample: int, column: wp.array2d(dtype=Any), indices: wp.array(dtype=wp.int64),
    starts: wp.array(dtype=wp.int32), first: int, inputs: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    place = _place(indices, sample)
    for part in range(column.shape[1]):
        for choice in range(starts[part], starts[part + 1]):
            inputs[sample, first + choice] = wp.where(int(column[place, part]) == choice - starts[part], 1.0, 0.0)


@wp.kernel(enable_backward=False)
def write_floats(
    column: wp.array2d(dtype=wp.float32), indices: wp.array(dtype=wp.int64), limit: wp.float32,
    mean: wp.array(dtype=wp.float32), scale: wp.array(dtype=wp.float32), first: int,
    inputs: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """Numbers [S, K] at ``indices`` [B] as inputs [B, F] from column ``first`` on.

    They are shifted by ``mean``, scaled and clipped to ``limit``; unchanged where ``mean`` is empty.
    """
    _write_numbers(wp.tid(), column, indices, limit, mean, scale, first, inputs)


@wp.kernel(enable_backward=False)
def write_integers(
    column: wp.array2d(dtype=wp.int32), indices: wp.array(dtype=wp.int64), limit: wp.float32,
    mean: wp.array(dtype=wp.float32), scale: wp.array(dtype=wp.float32), first: int,
    inputs: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """As :func:`write_floats`."""
    _write_numbers(wp.tid(), column, indices, limit, mean, scale, first, inputs)


@wp.kernel(enable_backward=False)
def write_bytes(
    column: wp.array2d(dtype=wp.uint8), indices: wp.array(dtype=wp.int64), limit: wp.float32,
    mean: wp.array(dtype=wp.float32), scale: wp.array(dtype=wp.float32), first: int,
    inputs: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """As :func:`write_floats`."""
    _write_numbers(wp.tid(), column, indices, limit, mean, scale, first, inputs)


@wp.kernel(enable_backward=False)
def write_choices(
    column: wp.array2d(dtype=wp.int32), indices: wp.array(dtype=wp.int64), starts: wp.array(dtype=wp.int32),
    first: int, inputs: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """Choices [S, K] at ``indices`` [B] as one-hot inputs [B, F]; ``starts`` holds the first input of each choice."""
    _write_choices(wp.tid(), column, indices, starts, first, inputs)


@wp.kernel(enable_backward=False)
def write_byte_choices(
    column: wp.array2d(dtype=wp.uint8), indices: wp.array(dtype=wp.int64), starts: wp.array(dtype=wp.int32),
    first: int, inputs: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """As :func:`write_choices`."""
    _write_choices(wp.tid(), column, indices, starts, first, inputs)
