"""Powers and logarithms with the same bits on every device.

:mod:`worldloom.core.kernels.exact_trigonometry` describes the method. The exponential is computed in 32 bits, the
others in 64 bits, rounded once at the end.
"""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.exact_trigonometry import constants, odd

LOG2_E = wp.constant(wp.float32(1.4426950216293335))
LN2_A = wp.constant(wp.float32(0.69317626953125))
LN2_B = wp.constant(wp.float32(-2.9088971132296138e-05))
"""log(2) in two parts; the first has 14 bits, so that its product with an exponent is exact."""
P2, P3, P4, P5, P6 = constants(
    wp.float32, 0.5, 0.16666515171527863, 0.041666582226753235, 0.008369305171072483, 0.001392196398228407
)
"""exp(r) = 1 + r + r**2 * (P2 + P3 r + ...), up to log(2) / 2: 2**-28."""

LOG2_E_64 = wp.constant(wp.float64(1.4426950408889634))
LN2_64 = wp.constant(wp.float64(0.6931471805599453))
LOG10_2 = wp.constant(wp.float64(0.3010299956639812))
LOG10_E = wp.constant(wp.float64(0.4342944819032518))
Q2, Q3, Q4, Q5, Q6, Q7, Q8 = constants(
    wp.float64,
    0.4999999999951707,
    0.16666666786919365,
    0.04166666705593123,
    0.008333281185932356,
    0.0013888796126438276,
    0.0001990929959820493,
    2.4887753666606124e-05,
)
"""The same: 2**-39."""
L1, L2, L3, L4, L5 = constants(
    wp.float64, 0.33333333337901416, 0.199999978106246, 0.14286054607353355, 0.11088093278010229, 0.09792089840056085
)
"""log(m) = 2 f + 2 f w (L1 + L2 w + ...), f = (m - 1) / (m + 1), w = f**2, from sqrt(1/2) to sqrt(2): 2**-44."""
H1, H2, H3, H4, H5 = constants(
    wp.float64,
    0.16666666667071148,
    0.008333333276110527,
    0.00019841296124930902,
    2.7552053438579583e-06,
    2.553030361053683e-08,
)
"""sinh(x) = x + x z (H1 + H2 z + ...), z = x**2, up to 1: 2**-43."""
SQRT_2 = wp.constant(wp.float64(1.4142135623730951))
ONE, TWO, HALF = wp.constant(wp.float64(1.0)), wp.constant(wp.float64(2.0)), wp.constant(wp.float64(0.5))
THIRD = wp.constant(wp.float64(0.3333333333333333))
LARGEST = wp.constant(wp.float64(400.0))
"""An exponent of two out of range of 32-bit floats, and well in range of 64-bit floats."""
MANTISSA = wp.constant(wp.int64(2**52 - 1))
EXPONENT_0 = wp.constant(wp.int64(1023 << 52))
TINY = wp.constant(wp.float32(2.0**-12))


@wp.func
def _power_of_two(n: wp.int32):
    return wp.cast((n + 127) << 23, wp.float32)


@wp.func
def exp(x: wp.float32):
    """The exponential of ``x``."""
    if x != x:
        return x
    if x > 89.0:
        return x * 3.0e38
    if x < -104.0:
        return wp.float32(0.0)
    n = wp.rint(x * LOG2_E)
    r = (x - n * LN2_A) - n * LN2_B
    value = 1.0 + (r + r * r * (P2 + r * (P3 + r * (P4 + r * (P5 + r * P6)))))
    k = wp.int32(n)
    first = k >> 1  # two factors: one can overflow or underflow although the result does not
    return value * _power_of_two(first) * _power_of_two(k - first)


@wp.func
def _exp2_64(x: wp.float64):
    """2 to the power of ``x``, between the powers of plus and minus LARGEST."""
    bounded = x
    if x > LARGEST:
        bounded = LARGEST
    if x < LARGEST * wp.float64(-1.0):
        bounded = LARGEST * wp.float64(-1.0)
    n = wp.rint(bounded)
    r = (bounded - n) * LN2_64
    value = ONE + (r + r * r * (Q2 + r * (Q3 + r * (Q4 + r * (Q5 + r * (Q6 + r * (Q7 + r * Q8)))))))
    return value * wp.cast((wp.int64(n) + wp.int64(1023)) << wp.int64(52), wp.float64)


@wp.func
def _split(x: wp.float32):
    """The exponent of two and the logarithm of the rest, for a positive finite number."""
    bits = wp.cast(wp.float64(x), wp.int64)
    exponent = wp.int32(bits >> wp.int64(52)) - 1023
    m = wp.cast((bits & MANTISSA) | EXPONENT_0, wp.float64)
    if m > SQRT_2:
        m = m * HALF
        exponent = exponent + 1
    f = (m - ONE) / (m + ONE)
    w = f * f
    half = f + f * w * (L1 + w * (L2 + w * (L3 + w * (L4 + w * L5))))
    return wp.float64(exponent), half + half


@wp.func
def _log_edge(x: wp.float32):
    """The logarithm of NaN, negative numbers, zero and infinity."""
    if x == 0.0:
        return wp.float32(-wp.inf)
    if x < 0.0:
        return wp.float32(wp.nan)
    return x


@wp.func
def log(x: wp.float32):
    """The natural logarithm."""
    if not (x > 0.0 and x < wp.inf):
        return _log_edge(x)
    exponent, rest = _split(x)
    return wp.float32(exponent * LN2_64 + rest)


@wp.func
def log2(x: wp.float32):
    """The logarithm to the base 2."""
    if not (x > 0.0 and x < wp.inf):
        return _log_edge(x)
    exponent, rest = _split(x)
    return wp.float32(exponent + rest * LOG2_E_64)


@wp.func
def log10(x: wp.float32):
    """The logarithm to the base 10."""
    if not (x > 0.0 and x < wp.inf):
        return _log_edge(x)
    exponent, rest = _split(x)
    return wp.float32(exponent * LOG10_2 + rest * LOG10_E)


@wp.func
def pow(x: wp.float32, y: wp.float32):
    """``x`` to the power of ``y``, with the edge cases of C: 1 where ``y`` is 0, NaN for roots of negative numbers."""
    if y == 0.0 or x == 1.0:
        return wp.float32(1.0)
    if x != x or y != y:
        return x + y
    size = wp.abs(x)
    whole = wp.floor(y) == y
    odd = whole and wp.floor(y * 0.5) != y * 0.5
    result = wp.float32(1.0)
    if size == 0.0 or size == wp.inf:
        result = wp.float32(0.0)
        if (size == wp.inf) == (y > 0.0):
            result = wp.float32(wp.inf)
    elif size != 1.0:
        exponent, rest = _split(size)
        result = wp.float32(_exp2_64((exponent + rest * LOG2_E_64) * wp.float64(y)))
    if (wp.cast(x, wp.uint32) >> wp.uint32(31)) == wp.uint32(1):
        if odd:
            result = result * -1.0
        elif not whole and size > 0.0 and size < wp.inf:
            result = wp.float32(wp.nan)
    return result


@wp.func
def cbrt(x: wp.float32):
    """The cube root."""
    size = wp.abs(x)
    if not (size > 0.0 and size < wp.inf):
        return x
    exponent, rest = _split(size)
    return odd(x, wp.float32(_exp2_64((exponent + rest * LOG2_E_64) * THIRD)))


@wp.func
def _exp_of_size(x: wp.float32):
    """The exponential of the absolute value of ``x``, in 64 bits."""
    return _exp2_64(wp.float64(wp.abs(x)) * LOG2_E_64)


@wp.func
def _sinh_near(x: wp.float64):
    z = x * x
    return x + x * z * (H1 + z * (H2 + z * (H3 + z * (H4 + z * H5))))


@wp.func
def sinh(x: wp.float32):
    """The hyperbolic sine."""
    if x != x or wp.abs(x) < TINY:
        return x
    if wp.abs(x) <= 1.0:
        return wp.float32(_sinh_near(wp.float64(x)))
    grown = _exp_of_size(x)
    return odd(x, wp.float32(HALF * (grown - ONE / grown)))


@wp.func
def cosh(x: wp.float32):
    """The hyperbolic cosine."""
    if x != x:
        return x
    grown = _exp_of_size(x)
    return wp.float32(HALF * (grown + ONE / grown))


@wp.func
def tanh(x: wp.float32):
    """The hyperbolic tangent."""
    if x != x or wp.abs(x) < TINY:
        return x
    if wp.abs(x) <= 1.0:
        s = _sinh_near(wp.float64(x))
        return wp.float32(s / wp.sqrt(ONE + s * s))
    grown = _exp_of_size(x)
    return odd(x, wp.float32(ONE - TWO / (grown * grown + ONE)))
