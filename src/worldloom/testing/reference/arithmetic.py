"""The arithmetic of the reference over NumPy scalars: the documented result of every operation of every width.

Integers wrap in two's complement. Floats follow IEEE 754, and every operation rounds once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.testing.reference.types import FLOATS, NUMPY

_MASK = 0xFFFFFFFF


def wrapped(number: int, scalar: str) -> Any:
    """An integer of any size as one of type ``scalar``: its lowest bits."""
    bits = 8 * np.dtype(scalar).itemsize
    number &= (1 << bits) - 1
    if scalar.startswith("i") and number >= 1 << (bits - 1):
        number -= 1 << bits
    return NUMPY[scalar](number)


def cast(value: Any, source: str, target: str) -> Any:
    """A number of one scalar type as one of another."""
    if target == "bool":
        return np.bool_(value != 0)
    if source in FLOATS and target not in FLOATS:
        return _saturated(value, target)
    if target in FLOATS:
        return NUMPY[target](value)
    return wrapped(int(value), target)


def _saturated(value: Any, target: str) -> Any:
    """A float truncated towards 0; the nearest number of both types where it is too large; 0 for NaN."""
    if np.isnan(value):
        return NUMPY[target](0)
    info, real = np.iinfo(target), type(value)
    bounds = []
    for bound in (info.min, info.max):
        limit = real(bound)
        if np.isinf(limit):
            limit = np.copysign(np.finfo(real).max, limit)
        elif not info.min <= int(limit) <= info.max:
            limit = np.nextafter(limit, real(0))
        bounds.append(limit)
    return NUMPY[target](int(min(max(value, bounds[0]), bounds[1])))


def floor_divide(a: Any, b: Any, scalar: str) -> Any:
    if scalar in FLOATS:
        return np.floor(a / b)
    return NUMPY[scalar](0) if b == 0 else wrapped(int(a) // int(b), scalar)


def modulo(a: Any, b: Any, scalar: str) -> Any:
    if scalar in FLOATS:
        return a - np.floor(a / b) * b
    return a if b == 0 else wrapped(int(a) % int(b), scalar)


def shift(a: Any, b: Any, scalar: str, left: bool) -> Any:
    count = int(b) & (8 * np.dtype(scalar).itemsize - 1)
    return wrapped(int(a) << count if left else int(a) >> count, scalar)


def absolute(a: Any, scalar: str) -> Any:
    return np.abs(a) if scalar in FLOATS else wrapped(abs(int(a)), scalar)


def smaller(a: Any, b: Any) -> Any:
    """The minimum of two numbers: the first where they are equal, the other where one is NaN."""
    return a if a <= b or b != b else b


def larger(a: Any, b: Any) -> Any:
    return a if a >= b or b != b else b


def dot(a: Any, b: Any) -> Any:
    """Products added in order. With four elements or more the sum starts at 0, so that a sum of -0.0 is 0.0."""
    total = a[0] * b[0] if len(a) < 4 else a.dtype.type(0) + a[0] * b[0]
    for i in range(1, len(a)):
        total = total + a[i] * b[i]
    return total


def cross(a: Any, b: Any) -> Any:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], a.dtype)


def matrix_vector(m: Any, v: Any) -> Any:
    """The columns of a matrix, each times its element of the vector, added in order."""
    total = m[:, 0] * v[0]
    for i in range(1, len(v)):
        total = total + m[:, i] * v[i]
    return total


def quat_rotate(q: Any, v: Any) -> Any:
    two, one = np.float32(2), np.float32(1)
    x, y, z, w = q
    c = two * w * w - one
    d = two * (x * v[0] + y * v[1] + z * v[2])
    return np.array(
        [
            v[0] * c + x * d + (y * v[2] - z * v[1]) * w * two,
            v[1] * c + y * d + (z * v[0] - x * v[2]) * w * two,
            v[2] * c + z * d + (x * v[1] - y * v[0]) * w * two,
        ],
        np.float32,
    )


def quat_multiply(a: Any, b: Any) -> Any:
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return np.array(
        [
            aw * bx + bw * ax + ay * bz - by * az,
            aw * by + bw * ay + az * bx - bz * ax,
            aw * bz + bw * az + ax * by - bx * ay,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        np.float32,
    )


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Philox4x32-10 (Salmon et al., 2011): four random words of a counter and a key."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        one, two = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (two >> 32) ^ c1 ^ k0, two & _MASK, (one >> 32) ^ c3 ^ k1, one & _MASK
        k0, k1 = (k0 + 0x9E3779B9) & _MASK, (k1 + 0xBB67AE85) & _MASK
    return c0, c1, c2, c3


def random_word(seed: int, world: int, episode: int, step: int, stream: int, draw: int) -> int:
    """The 32-bit word of a draw. Four draws share one block."""
    counter = (draw >> 2 & _MASK, stream & _MASK, step & _MASK, episode & _MASK)
    return philox(counter, (seed & _MASK, world & _MASK))[draw & 3]


def uniform(word: int, low: Any, high: Any) -> Any:
    share, span = np.float32(word >> 8) * np.float32(2**-24), high - low
    if np.isinf(span):  # finite bounds may be further apart than the largest number
        return low * (np.float32(1.0) - share) + high * share
    return low + share * span


def integer(word: int, low: Any, high: Any) -> Any:
    if high <= low:
        return low
    return wrapped(int(low) + (word * ((int(high) - int(low)) & _MASK) >> 32), "int32")


def weighted(word: int, weights: Any) -> Any:
    """A random index with probabilities proportional to the weights."""
    total = np.float32(0)
    for weight in weights:
        total = total + weight
    rest = np.float32(0) + np.float32(word >> 8) * np.float32(2**-24) * np.float32(1) * np.float32(1)
    rest = rest * total
    for index, weight in enumerate(weights):
        rest = rest - weight
        if rest < 0:
            return np.int32(index)
    return np.int32(len(weights) - 1)


def matrices(a: Any, b: Any) -> Any:
    """The product of two matrices. It is exact only where no sum rounds, since compiled code fuses multiply-adds."""
    total = np.outer(a[:, 0], b[0])
    for k in range(1, len(b)):
        total = total + np.outer(a[:, k], b[k])
    return total


def normal(one: int, two: int, mean: Any, spread: Any) -> Any:
    """The Box-Muller transform, exact up to the rounding of the logarithm and the cosine."""
    u, v = np.float32((one >> 8) + 1) * np.float32(2**-24), np.float32(two >> 8) * np.float32(2**-24)
    return mean + spread * (np.sqrt(np.float32(-2) * np.log(u)) * np.cos(np.float32(2 * np.pi) * v))
