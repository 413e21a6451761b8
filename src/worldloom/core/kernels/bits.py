"""The lowest bit of an integer that is set, for loops over the members of a set of bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

_SNIPPET = """
#if defined(__CUDA_ARCH__)
    return __ffs(bits) - 1;
#else
    return bits == 0 ? -1 : __builtin_ctz((unsigned int)bits);
#endif
"""


@wp.func_native(snippet=_SNIPPET)
def compiled_lowest_bit(bits: wp.int32) -> wp.int32:
    """The place of the lowest bit of ``bits`` that is set; -1 for 0."""


def interpreted_lowest_bit(bits: Any) -> Any:
    """The same of a NumPy scalar."""
    return np.int32(lowest_bit(int(bits)))


def lowest_bit(bits: int) -> int:
    """The place of the lowest bit of ``bits`` that is set, from 0 to 31; -1 for 0.

    For systems and helpers, whose integers have 32 bits; also callable from Python. A thread of a GPU that goes through
    the bits of its own set has as many iterations as it has members, in step with the other threads of its warp.
    """
    return (bits & -bits & 0xFFFFFFFF).bit_length() - 1
