"""Integer arithmetic that wraps in two's complement.

Signed overflow is undefined in the C++ that Warp compiles, on the CPU and on CUDA: a compiler may assume ``n + 1 > n``
and drop branches that only overflow reaches. Unsigned arithmetic is defined modulo 2**bits, so sums, differences and
products of integers are computed with the unsigned type of the same width and converted back, which costs no
instruction. Integers of 8 and 16 bits are promoted to 32 bits in C++; of these only the product of two uint16 exceeds
int32.
"""

from __future__ import annotations

from typing import Any

import warp as wp

UNSIGNED: dict[Any, Any] = {wp.int32: wp.uint32, wp.int64: wp.uint64, wp.uint16: wp.uint32}
"""Integer types with undefined overflow, and the types that compute the same bits with defined overflow."""

RING = frozenset(
    {"add", "sub", "mul", "neg", "dot", "length_sq", "cross", "cw_mul", "outer", "ddot", "trace", "determinant", "skew"}
)
"""Functions of sums, differences and products only: modulo 2**bits, signed and unsigned results have the same bits."""


@wp.func
def add(a: wp.int32, b: wp.int32):
    """``a + b``."""
    return wp.int32(wp.uint32(a) + wp.uint32(b))


@wp.func
def add(a: wp.int64, b: wp.int64):
    return wp.int64(wp.uint64(a) + wp.uint64(b))


@wp.func
def sub(a: wp.int32, b: wp.int32):
    """``a - b``."""
    return wp.int32(wp.uint32(a) - wp.uint32(b))


@wp.func
def sub(a: wp.int64, b: wp.int64):
    return wp.int64(wp.uint64(a) - wp.uint64(b))


@wp.func
def mul(a: wp.int32, b: wp.int32):
    """``a * b``."""
    return wp.int32(wp.uint32(a) * wp.uint32(b))


@wp.func
def mul(a: wp.int64, b: wp.int64):
    return wp.int64(wp.uint64(a) * wp.uint64(b))


@wp.func
def mul(a: wp.uint16, b: wp.uint16):
    return wp.uint16(wp.uint32(a) * wp.uint32(b))


@wp.func
def neg(a: wp.int32):
    """``-a``; the smallest integer is its own negative."""
    return wp.int32(wp.uint32(0) - wp.uint32(a))


@wp.func
def neg(a: wp.int64):
    return wp.int64(wp.uint64(0) - wp.uint64(a))


@wp.func
def neg(a: wp.int8):
    return wp.int8(0 - wp.int32(a))


@wp.func
def neg(a: wp.int16):
    return wp.int16(0 - wp.int32(a))


@wp.func
def square(a: Any):
    """``a ** 2``."""
    return mul(a, a)


@wp.func
def cube(a: Any):
    """``a ** 3``."""
    return mul(mul(a, a), a)


@wp.func
def absolute(a: Any):
    """``abs(a)``; the smallest integer is its own absolute value."""
    if a < a - a:
        return neg(a)
    return a


@wp.func
def absolute_of_vector(a: Any):
    """``abs`` of every component."""
    made = wp.min(a, a)
    for i in range(wp.static(len(a))):
        made[i] = absolute(a[i])
    return made


@wp.func
def floor_divide(a: Any, b: Any):
    """Signed division that rounds down, as in Python; 0 where ``b`` is 0; the smallest integer by -1 is itself."""
    zero = b - b
    if b == zero:
        return zero
    one = b / b
    if b == zero - one:
        return neg(a)  # the only quotient that overflows, which traps on some processors
    quotient = a / b
    if quotient * b != a and ((a < zero) != (b < zero)):
        quotient = quotient - one
    return quotient


@wp.func
def floor_modulo(a: Any, b: Any):
    """The signed remainder with the sign of the divisor, as in Python; ``a`` where ``b`` is 0."""
    zero = b - b
    if b == zero:
        return a
    if b == zero - b / b:
        return zero  # also for the smallest integer, whose quotient overflows
    rest = wp.mod(a, b)
    if rest != zero and ((rest < zero) != (b < zero)):
        rest = rest + b
    return rest


@wp.func
def unsigned_divide(a: Any, b: Any):
    """Unsigned division; 0 where ``b`` is 0."""
    zero = b - b
    if b == zero:
        return zero
    return a / b


@wp.func
def unsigned_modulo(a: Any, b: Any):
    """The unsigned remainder; ``a`` where ``b`` is 0."""
    if b == b - b:
        return a
    return wp.mod(a, b)


@wp.func
def range_turns(start: wp.int32, stop: wp.int32, step: wp.int32):
    """The length of ``range(start, stop, step)`` for steps other than 0, at most 2**31 - 1."""
    span = wp.int64(stop) - wp.int64(start)
    if (span > wp.int64(0)) != (step > 0):
        return wp.int32(0)
    toward_zero = wp.where(step > 0, wp.int64(1), wp.int64(-1))
    return wp.int32(wp.min((span + wp.int64(step) - toward_zero) / wp.int64(step), wp.int64(2147483647)))


@wp.func
def shift_left(a: wp.int32, count: wp.int32):
    """``a << count`` for ``0 <= count < 32``."""
    return wp.int32(wp.uint32(a) << wp.uint32(count))


@wp.func
def shift_left(a: wp.int64, count: wp.int64):
    return wp.int64(wp.uint64(a) << wp.uint64(count))


PREFIX = "wl_wrapping_"
"""Prefix of the names of these functions in generated code."""

SCALAR: dict[str, tuple[str, tuple[Any, ...]]] = {
    "add": ("add", (wp.int32, wp.int64)),
    "sub": ("sub", (wp.int32, wp.int64)),
    "mul": ("mul", (wp.int32, wp.int64, wp.uint16)),
    "neg": ("neg", (wp.int32, wp.int64)),
    "abs": ("absolute", (wp.int32, wp.int64)),
    "lshift": ("shift_left", (wp.int32, wp.int64)),
}
"""The function of this file that replaces a Warp function, and the types for which it does."""

SPACE: dict[str, Any] = {
    PREFIX + function.key: function
    for function in (
        add,
        sub,
        mul,
        neg,
        square,
        cube,
        absolute,
        absolute_of_vector,
        floor_divide,
        floor_modulo,
        unsigned_divide,
        unsigned_modulo,
        range_turns,
        shift_left,
    )
}
"""The functions by their names in generated code."""
