"""Functions of generated code: Python's operators where Warp's differ, and other basic operations of systems.

Each is defined twice, for Warp and for Python, with the same bits in both on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.arithmetic.scalars import max_real, min_real
from worldloom.core.kernels import wrapping
from worldloom.core.kernels.bits import compiled_lowest_bit, interpreted_lowest_bit
from worldloom.core.kernels.quotients import compiled_quotient, interpreted_quotient


@wp.func
def float_modulo(a: Any, b: Any):
    """The remainder ``a - floor(a / b) * b`` of floats."""
    return a - wp.floor(a / b) * b


@wp.func
def clamp_finite(a: Any, low: Any, high: Any):
    """``a`` clamped to ``low`` and ``high``; 0 for NaN."""
    if a != a:
        return low - low
    return wp.clamp(a, low, high)


@wp.func
def wrap_index(index: wp.int32, size: wp.int32):
    """An index into ``size`` elements, from the end where it is negative, clamped to the range."""
    place = index
    if place < 0:
        place = place + size
    return wp.clamp(place, 0, size - 1)


@wp.func
def is_finite(a: Any):
    """Whether ``a`` is finite: only then ``a - a`` equals itself. Warp's own test is a slower function call."""
    zero = a - a
    return zero == zero


@wp.func
def is_finite_vector(a: Any):
    """Whether all components of ``a`` are finite."""
    zero = a - a
    return is_finite(wp.dot(zero, zero))


@wp.func
def square(a: Any):
    """``a ** 2``."""
    return a * a


@wp.func
def cube(a: Any):
    """``a ** 3``."""
    return a * a * a


@wp.func
def both(a: wp.bool, b: wp.bool):
    """Whether both are True. Unlike ``a and b`` its arguments are always evaluated, with their faults."""
    return a and b


@wp.func
def either(a: wp.bool, b: wp.bool):
    """Whether one of them is True; see :func:`both`."""
    return a or b


def _python_floor_divide(a: Any, b: Any) -> Any:
    """NumPy's quotient of integers: it rounds down, is 0 where ``b`` is 0, and wraps where it overflows."""
    return a // b


def _python_floor_modulo(a: Any, b: Any) -> Any:
    return a % b if b != 0 else a


def _python_clamp_finite(a: Any, low: Any, high: Any) -> Any:
    return low - low if a != a else min_real(max_real(low, a), high)


def _python_is_finite_vector(a: Any) -> bool:
    return all(n - n == 0 for n in tuple(a))


def _python_wrap_index(index: Any, size: Any) -> int:
    position = int(index) + int(size) if index < 0 else int(index)
    return min(max(position, 0), int(size) - 1)


@wp.func
def weighted_index(weights: Any, number: wp.float32):
    """The index drawn with probability proportional to its weight, for a ``number`` in [0, 1)."""
    size = wp.static(len(weights))
    total = wp.float32(0.0)
    for i in range(size):
        total = total + weights[i]
    left = number * total
    chosen = wp.int32(-1)
    for i in range(size):
        left = left - weights[i]
        if chosen < 0 and left < 0.0:
            chosen = wp.int32(i)
    if chosen < 0:
        chosen = wp.int32(size - 1)
    return chosen


def _python_weighted_index(weights: Any, number: Any) -> Any:
    total = _ZERO
    for weight in weights:
        total = total + weight
    left, chosen = number * total, -1
    for index, weight in enumerate(weights):
        left = left - weight
        if chosen < 0 and left < 0:
            chosen = index
    return np.int32(len(weights) - 1 if chosen < 0 else chosen)


_ZERO = np.float32(0.0)


HELPERS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "wl_floor_divide": (wrapping.floor_divide, _python_floor_divide),
    "wl_floor_modulo": (wrapping.floor_modulo, _python_floor_modulo),
    "wl_unsigned_divide": (wrapping.unsigned_divide, _python_floor_divide),
    "wl_unsigned_modulo": (wrapping.unsigned_modulo, _python_floor_modulo),
    "wl_float_modulo": (float_modulo, lambda a, b: a - np.floor(a / b) * b),
    "wl_clamp_finite": (clamp_finite, _python_clamp_finite),
    "wl_wrap_index": (wrap_index, _python_wrap_index),
    "wl_is_finite": (is_finite, lambda a: bool(a - a == 0)),
    "wl_is_finite_vector": (is_finite_vector, _python_is_finite_vector),
    "wl_square": (square, lambda a: a * a),
    "wl_cube": (cube, lambda a: a * a * a),
    "wl_weighted_index": (weighted_index, _python_weighted_index),
    "wl_both": (both, lambda a, b: bool(a) and bool(b)),
    "wl_either": (either, lambda a, b: bool(a) or bool(b)),
    "wl_lowest_bit": (compiled_lowest_bit, interpreted_lowest_bit),
    "wl_quotient": (compiled_quotient, interpreted_quotient),
}
"""Functions of generated code: the compiled form and the interpreted one, by name."""
