# mypy: ignore-errors
"""Kernels that draw Gaussian noise, independent or correlated over the steps of an episode."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Bools, Floats2D, Longs
from worldloom.learn.actions.sampling_kernels import box_muller, random_words


@wp.kernel(enable_backward=False)
def draw_normals(key: Longs, offset: wp.int64, numbers: Floats2D):
    """Standard normal numbers; a thread draws up to four of a row from one block of random words."""
    row, block = wp.tid()
    words = random_words(key, offset, row, block)
    for part in range(4 * block, wp.min(4 * block + 4, numbers.shape[1])):
        radius, turned = box_muller(words, part)
        numbers[row, part] = radius * turned


@wp.kernel(enable_backward=False)
def advance_noise(
    key: Longs, offset: wp.int64, correlation: wp.float32, scale: wp.float32, continues: Bools, noise: Floats2D
):
    """One step of n' = correlation * n + scale * normal; a row that does not continue draws n' alone.

    ``scale`` is sqrt(1 - correlation ** 2), so that the variance of n is 1 at every step.
    """
    row, block = wp.tid()
    words = random_words(key, offset, row, block)
    continued = continues[row] and key[0] + offset > wp.int64(0)
    for part in range(4 * block, wp.min(4 * block + 4, noise.shape[1])):
        radius, turned = box_muller(words, part)
        drawn = radius * turned
        noise[row, part] = wp.where(continued, correlation * noise[row, part] + scale * drawn, drawn)
