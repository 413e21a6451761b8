"""Counter-based random numbers: Philox4x32-10 over (seed, world, episode, step, stream, draw).

The same key gives the same number on every device, for any batch size, shards and threads. ``stream`` distinguishes
systems and entities, ``draw`` counts the draws of one system run. Four draws share one Philox block, which compilers
then compute once.

Seeds have 64 bits. The lower half is a word of Philox's key. The upper half, multiplied by constants, displaces world,
episode and step. Seeds below 2**32 displace nothing. The constants were checked against all differences of upper
halves: two seeds share random numbers only where their worlds, episodes or steps are 1,290,725 or more apart.

Each function is defined twice, for Warp and for Python; tests compare both with published vectors.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import warp as wp

from worldloom.core.arithmetic.scalars import scalar_math
from worldloom.core.kernels import exact_exponential, exact_trigonometry
from worldloom.core.kernels.exact import numpy_equivalent

STREAM_SHIFT = 20
"""A stream is ``system << STREAM_SHIFT | slot``: up to 4,096 systems of up to 1,048,576 entities per world."""

_M0, _M1 = 0xD2511F53, 0xCD9E8D57
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_MASK = 0xFFFFFFFF
TWO_PI = float(np.float32(2.0 * math.pi))

WORLD_FACTOR, EPISODE_FACTOR, STEP_FACTOR = 0x9E3779B9, 0x85EBCA6B, 0xC2B2AE35
"""Multipliers of the upper half of a seed."""

M0, M1 = wp.constant(wp.uint32(_M0)), wp.constant(wp.uint32(_M1))
F0, F1, F2 = (wp.constant(wp.uint32(factor)) for factor in (WORLD_FACTOR, EPISODE_FACTOR, STEP_FACTOR))
W0, W1 = wp.constant(wp.uint32(_W0)), wp.constant(wp.uint32(_W1))


@wp.func
def _high(a: wp.uint32, b: wp.uint32):
    return wp.uint32((wp.uint64(a) * wp.uint64(b)) >> wp.uint64(32))


@wp.func
def _round(a: wp.uint32, b: wp.uint32, c: wp.uint32, d: wp.uint32, k0: wp.uint32, k1: wp.uint32):
    return _high(M1, c) ^ b ^ k0, M1 * c, _high(M0, a) ^ d ^ k1, M0 * a


@wp.func
def _two_rounds(a: wp.uint32, b: wp.uint32, c: wp.uint32, d: wp.uint32, k0: wp.uint32, k1: wp.uint32):
    a2, b2, c2, d2 = _round(a, b, c, d, k0, k1)
    return _round(a2, b2, c2, d2, k0 + W0, k1 + W1)


@wp.func
def philox(c0: wp.uint32, c1: wp.uint32, c2: wp.uint32, c3: wp.uint32, key0: wp.uint32, key1: wp.uint32):
    """Four random words of 32 bits from a counter of four words and a key of two words."""
    a, b, c, d = _two_rounds(c0, c1, c2, c3, key0, key1)
    a, b, c, d = _two_rounds(a, b, c, d, key0 + wp.uint32(2) * W0, key1 + wp.uint32(2) * W1)
    a, b, c, d = _two_rounds(a, b, c, d, key0 + wp.uint32(4) * W0, key1 + wp.uint32(4) * W1)
    a, b, c, d = _two_rounds(a, b, c, d, key0 + wp.uint32(6) * W0, key1 + wp.uint32(6) * W1)
    a, b, c, d = _two_rounds(a, b, c, d, key0 + wp.uint32(8) * W0, key1 + wp.uint32(8) * W1)
    return wp.vec4ui(a, b, c, d)


@wp.func
def world_key(world: int, seed_high: wp.uint32):
    """The word of the key of a world."""
    return wp.int32(wp.uint32(world) + seed_high * F0)


@wp.func
def episode_key(episode: int, seed_high: wp.uint32):
    """The word of the key of an episode."""
    return wp.int32(wp.uint32(episode) + seed_high * F1)


@wp.func
def step_key(step: int, seed_high: wp.uint32):
    """The word of the key of a step."""
    return wp.int32(wp.uint32(step) + seed_high * F2)


@wp.func
def bits(seed: wp.uint32, world: int, episode: int, step: int, stream: int, draw: int):
    """One random word of 32 bits."""
    block = philox(wp.uint32(draw >> 2), wp.uint32(stream), wp.uint32(step), wp.uint32(episode), seed, wp.uint32(world))
    return block[draw & 3]


@wp.func
def uniform(seed: wp.uint32, world: int, episode: int, step: int, stream: int, draw: int, low: float, high: float):
    """A float, ``low <= x < high`` up to rounding, from 24 random bits."""
    u = wp.float32(bits(seed, world, episode, step, stream, draw) >> wp.uint32(8)) * 5.9604644775390625e-08
    if wp.isinf(high - low):  # the difference of two finite bounds may exceed float32
        return low * (1.0 - u) + high * u
    return low + u * (high - low)


@wp.func
def integer(seed: wp.uint32, world: int, episode: int, step: int, stream: int, draw: int, low: int, high: int):
    """An integer, ``low <= k < high``; ``low`` where the range is empty. The bias is at most (high - low) / 2**32."""
    if high <= low:
        return low
    span = wp.uint32(high) - wp.uint32(low)  # the difference of two int32 may exceed int32
    return wp.int32(wp.uint32(low) + _high(bits(seed, world, episode, step, stream, draw), span))


@wp.func
def _uniform_pair(seed: wp.uint32, world: int, episode: int, step: int, stream: int, draw: int):
    """Two numbers between 0 and 1 for the Box-Muller transform; the first excludes 0."""
    u = (
        wp.float32((bits(seed, world, episode, step, stream, draw) >> wp.uint32(8)) + wp.uint32(1))
        * 5.9604644775390625e-08
    )
    v = wp.float32(bits(seed, world, episode, step, stream, draw + 1) >> wp.uint32(8)) * 5.9604644775390625e-08
    return u, v


@wp.func
def normal(seed: wp.uint32, world: int, episode: int, step: int, stream: int, draw: int, mean: float, spread: float):
    """A normally distributed number, by the Box-Muller transform of the draws ``draw`` and ``draw + 1``."""
    u, v = _uniform_pair(seed, world, episode, step, stream, draw)
    return mean + spread * (wp.sqrt(-2.0 * wp.log(u)) * wp.cos(6.2831854820251465 * v))


@wp.func
def exact_normal(
    seed: wp.uint32, world: int, episode: int, step: int, stream: int, draw: int, mean: float, spread: float
):
    """:func:`normal` with the same bits on every device."""
    u, v = _uniform_pair(seed, world, episode, step, stream, draw)
    return mean + spread * (wp.sqrt(-2.0 * exact_exponential.log(u)) * exact_trigonometry.cos(6.2831854820251465 * v))


_ONE, _STEP, _MINUS_TWO, _TURN = np.float32(1.0), np.float32(2**-24), np.float32(-2.0), np.float32(TWO_PI)
_sqrt, _log, _cos = (scalar_math(wp.float32)[name] for name in ("sqrt", "log", "cos"))
_exact_log, _exact_cos = numpy_equivalent(exact_exponential.log), numpy_equivalent(exact_trigonometry.cos)


@functools.lru_cache(maxsize=256)  # four draws share a block
def philox_python(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """:func:`philox` in Python."""
    (a, b, c, d), (k0, k1) = counter, key
    for _ in range(10):
        p0, p1 = _M0 * a, _M1 * c
        a, b, c, d = (p1 >> 32) ^ b ^ k0, p1 & _MASK, (p0 >> 32) ^ d ^ k1, p0 & _MASK
        k0, k1 = (k0 + _W0) & _MASK, (k1 + _W1) & _MASK
    return a, b, c, d


@dataclass(slots=True)
class Key:
    """The key of the random numbers of one system run, in Python. ``seed`` may have 64 bits."""

    seed: int
    world: int
    episode: int
    step: int
    stream: int

    def bits(self, draw: int) -> int:
        high = self.seed >> 32
        step, episode = self.step + high * STEP_FACTOR, self.episode + high * EPISODE_FACTOR
        counter = (draw >> 2 & _MASK, self.stream & _MASK, step & _MASK, episode & _MASK)
        return philox_python(counter, (self.seed & _MASK, self.world + high * WORLD_FACTOR & _MASK))[draw & 3]

    def uniform(self, draw: int, low: np.float32, high: np.float32) -> np.float32:
        u, span = _ONE * (self.bits(draw) >> 8) * _STEP, high - low
        return low * (_ONE - u) + high * u if abs(span) == math.inf else low + u * span

    def integer(self, draw: int, low: np.int32, high: np.int32) -> np.int32:
        return np.int32(low) if high <= low else np.int32(int(low) + (self.bits(draw) * (int(high) - int(low)) >> 32))

    def _uniform_pair(self, draw: int) -> tuple[np.float32, np.float32]:
        """Two numbers between 0 and 1 for the Box-Muller transform; the first excludes 0."""
        return _ONE * ((self.bits(draw) >> 8) + 1) * _STEP, _ONE * (self.bits(draw + 1) >> 8) * _STEP

    def normal(self, draw: int, mean: np.float32, spread: np.float32) -> np.float32:
        u, v = self._uniform_pair(draw)
        number: np.float32 = mean + spread * (_sqrt(_MINUS_TWO * _log(u)) * _cos(_TURN * v))
        return number

    def exact_normal(self, draw: int, mean: np.float32, spread: np.float32) -> np.float32:
        u, v = self._uniform_pair(draw)
        number: np.float32 = mean + spread * (_sqrt(_MINUS_TWO * _exact_log(u)) * _exact_cos(_TURN * v))
        return number


def fold_seed(seeds: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """Seeds of 64 bits as keys of 32 bits: those below 2**32 are unchanged, larger ones are hashed."""
    mixed = seeds * np.uint64(0x9E3779B97F4A7C15)
    return np.where(seeds >> np.uint64(32), mixed >> np.uint64(32), seeds).astype(np.uint32)
