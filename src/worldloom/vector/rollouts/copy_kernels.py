# mypy: ignore-errors
"""The kernel of :mod:`~worldloom.vector.rollouts.batched_copy`."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Ints, Longs

COPIES = 8
"""Copies of one launch."""
SMALLEST, LARGEST = wp.constant(wp.int64(-(2**31))), wp.constant(wp.int64(2**31 - 1))


@wp.kernel(enable_backward=False)
def copy_words(
    source_0: Ints, target_0: Ints, source_1: Ints, target_1: Ints, source_2: Ints, target_2: Ints,
    source_3: Ints, target_3: Ints, source_4: Ints, target_4: Ints, source_5: Ints, target_5: Ints,
    source_6: Ints, target_6: Ints, source_7: Ints, target_7: Ints,
    wide: Longs, narrow: Ints,
):  # fmt: skip
    """Copy up to eight arrays of any length, and clamp ``wide`` to 32 bits into ``narrow``; thread k copies element k.

    Arrays that are None have length 0.
    """
    k = wp.tid()
    if k < source_0.shape[0]:
        target_0[k] = source_0[k]
    if k < source_1.shape[0]:
        target_1[k] = source_1[k]
    if k < source_2.shape[0]:
        target_2[k] = source_2[k]
    if k < source_3.shape[0]:
        target_3[k] = source_3[k]
    if k < source_4.shape[0]:
        target_4[k] = source_4[k]
    if k < source_5.shape[0]:
        target_5[k] = source_5[k]
    if k < source_6.shape[0]:
        target_6[k] = source_6[k]
    if k < source_7.shape[0]:
        target_7[k] = source_7[k]
    if k < wide.shape[0]:
        narrow[k] = wp.int32(wp.clamp(wide[k], SMALLEST, LARGEST))
