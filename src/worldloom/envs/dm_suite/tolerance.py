# Annotations are evaluated: they are the types of compiled functions.
"""Rewards that are 1 within bounds and fall off outside: the sigmoids of dm_control's ``tolerance``.

A reward is a sigmoid of the excess: ``gaussian(excess(x, lower, upper, margin), value_at_margin)``.
"""

import math

import worldloom as wl

INFINITY = wl.float64(math.inf)
_PI = wl.float64(math.pi)


@wl.function
def excess(x: wl.float64, lower: wl.float64, upper: wl.float64, margin: wl.float64) -> wl.float64:
    """The distance of ``x`` from the interval between ``lower`` and ``upper``, divided by ``margin``."""
    if x >= lower and x <= upper:
        return wl.float64(0.0)
    if x < lower:
        return (lower - x) / margin
    return (x - upper) / margin


@wl.function
def within(x: wl.float64, lower: wl.float64, upper: wl.float64) -> wl.float64:
    """1 between ``lower`` and ``upper``, both included, else 0."""
    return wl.float64(1.0) if x >= lower and x <= upper else wl.float64(0.0)


@wl.function
def gaussian(d: wl.float64, value: wl.float64) -> wl.float64:
    """exp(-(s d)² / 2), which is ``value`` at ``d`` = 1, as all of these."""
    scaled = d * wl.sqrt(-2.0 * wl.log(value))
    return wl.exp(-0.5 * scaled * scaled)


@wl.function
def hyperbolic(d: wl.float64, value: wl.float64) -> wl.float64:
    """1 / cosh(s d)."""
    inverse = 1.0 / value
    return 1.0 / wl.cosh(d * wl.log(inverse + wl.sqrt(inverse * inverse - 1.0)))


@wl.function
def long_tail(d: wl.float64, value: wl.float64) -> wl.float64:
    """1 / ((s d)² + 1)."""
    scaled = d * wl.sqrt(1.0 / value - 1.0)
    return 1.0 / (scaled * scaled + 1.0)


@wl.function
def reciprocal(d: wl.float64, value: wl.float64) -> wl.float64:
    """1 / (s |d| + 1)."""
    return 1.0 / (abs(d) * (1.0 / value - 1.0) + 1.0)


@wl.function
def cosine(d: wl.float64, value: wl.float64) -> wl.float64:
    """(1 + cos(π s d)) / 2 up to s d = 1, then 0."""
    scaled = d * wl.acos(2.0 * value - 1.0) / _PI
    return (1.0 + wl.cos(_PI * scaled)) / 2.0 if abs(scaled) < 1.0 else wl.float64(0.0)


@wl.function
def linear(d: wl.float64, value: wl.float64) -> wl.float64:
    """1 - s d up to s d = 1, then 0."""
    scaled = d * (1.0 - value)
    return 1.0 - scaled if abs(scaled) < 1.0 else wl.float64(0.0)


@wl.function
def quadratic(d: wl.float64, value: wl.float64) -> wl.float64:
    """1 - (s d)² up to s d = 1, then 0."""
    scaled = d * wl.sqrt(1.0 - value)
    return 1.0 - scaled * scaled if abs(scaled) < 1.0 else wl.float64(0.0)


@wl.function
def tanh_squared(d: wl.float64, value: wl.float64) -> wl.float64:
    """1 - tanh²(s d)."""
    root = wl.sqrt(1.0 - value)
    tangent = wl.tanh(d * (0.5 * wl.log((1.0 + root) / (1.0 - root))))
    return 1.0 - tangent * tangent


@wl.function
def log1p(x: wl.float64) -> wl.float64:
    """log(1 + x) without loss of precision for small ``x``."""
    sum = 1.0 + x
    return x if sum == 1.0 else wl.log(sum) * x / (sum - 1.0)


@wl.function
def asinh(x: wl.float64) -> wl.float64:
    """The inverse hyperbolic sine without loss of precision for small ``x``."""
    size = abs(x)
    return wl.sign(x) * log1p(size + size * size / (1.0 + wl.sqrt(1.0 + size * size)))
