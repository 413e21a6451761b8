"""The quotient of two numbers, by two instructions of a GPU.

A quotient that is rounded as IEEE 754 asks takes a GPU about twelve instructions, and a branch for numbers near the
ends of the range. Exact mode divides, so the bits are the same on every device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

_SNIPPET = """
#if defined(__CUDA_ARCH__)
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    return a * inverse;
#else
    return a / b;
#endif
"""


@wp.func_native(snippet=_SNIPPET)
def compiled_quotient(a: wp.float32, b: wp.float32) -> wp.float32:
    """The quotient a / b; on CUDA the product with an approximate reciprocal, see :func:`fast_quotient`."""


def interpreted_quotient(a: Any, b: Any) -> Any:
    """The quotient a / b of NumPy scalars."""
    return a / b


def fast_quotient(a: float, b: float) -> float:
    """The quotient a / b, a float of 32 bits, for systems and helpers; also callable from Python.

    On a GPU, outside of exact mode, it has a relative error of at most 2**-22, numbers ``b`` whose magnitude is below
    2**-126 count as 0, and those above 2**126 as infinite. A reciprocal, where ``a`` is 1.0, is one instruction.
    Quotients by 0 and by infinities are those of IEEE 754 on every device.
    """
    with np.errstate(all="ignore"):
        return float(np.float32(a) / np.float32(b))
