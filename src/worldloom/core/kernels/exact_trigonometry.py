"""Trigonometry with the same bits on every device, from sums, products, quotients, square roots and integers only.

IEEE 754 defines the rounding of every step, so the result does not depend on the compiler. Each function is defined
once: Warp compiles it, and :func:`worldloom.core.kernels.exact.numpy_equivalent` runs the same code on NumPy scalars.
Hence the style: no unary minus on values (Warp computes 0 - x, which loses the sign of zero), named constants of 64
bits, and bits with ``wp.cast``.

The polynomials are minimax fits computed for this file with the Remez exchange in 50 decimal digits. The coefficients
are rounded to their width one after the other, and the rest is fitted again after each. Errors are relative to the
function. Sine and cosine are computed in 32 bits, the others in 64 bits, rounded once at the end.
"""

from __future__ import annotations

from typing import Any

import warp as wp


def constants(kind: Any, *values: float) -> tuple[Any, ...]:
    """Constants of kernels, of the type ``kind``."""
    return tuple(wp.constant(kind(value)) for value in values)


TINY = wp.constant(wp.float32(2.0**-12))
"""Below this x - x**3 / 6 rounds to x."""
NEAR = wp.constant(wp.float32(0.7853981852531433))
FAR = wp.constant(wp.float32(100.0))
"""Up to this value x has at most 64 quarter turns, and products with PI_2_A and PI_2_B have at most 24 bits."""
PI_2_A = wp.constant(wp.float32(1.57080078125))
PI_2_B = wp.constant(wp.float32(-4.45445766672492e-06))
PI_2_C = wp.constant(wp.float32(2.5633440682570896e-12))
"""A quarter turn in three parts, to 2**-63."""
QUARTERS = wp.constant(wp.float32(0.6366197466850281))

S1, S2, S3 = constants(wp.float32, -0.16666655242443085, 0.008332191035151482, -0.00019518604676704854)
"""sin(r) = r + r * z * (S1 + S2 z + S3 z**2), z = r**2, up to an eighth of a turn: 2**-28."""
C2, C3, C4 = constants(wp.float32, 0.04166664555668831, -0.00138873013202101, 2.4430670237052254e-05)
"""cos(r) = 1 - z / 2 + z**2 * (C2 + C3 z + C4 z**2): 2**-33."""

TWO_OVER_PI = wp.constant(
    wp.types.vector(length=8, dtype=wp.uint32)(
        0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB
    )
)
"""The first 224 bits of 2 / pi after 32 zero bits: enough for the largest float, with 70 bits to spare."""
LOW_32 = wp.constant(wp.uint64(0xFFFFFFFF))
QUARTER_UNIT = wp.constant(wp.float64(3.4061215800865545e-19))
"""2**-62 of a quarter turn, in radians."""

D1, D2, D3, D4 = constants(
    wp.float64, -0.16666666641607472, 0.008333329383610661, -0.0001983933408843554, 2.7183042616000754e-06
)
"""sin(r) = r + r * z * (D1 + ...): 2**-37."""
E1, E2, E3, E4, E5 = constants(
    wp.float64,
    -0.4999999999954466,
    0.041666666561998814,
    -0.0013888881074314969,
    2.4799040080478434e-05,
    -2.7180029683436425e-07,
)
"""cos(r) = 1 + z * (E1 + ...): 2**-43."""
A1, A2, A3, A4, A5, A6, A7 = constants(
    wp.float64,
    -0.333333332964341,
    0.19999994406347238,
    -0.1428542663448551,
    0.1110405602585958,
    -0.08997296581367495,
    0.06993182270591447,
    -0.03795738067431736,
)
"""atan(a) = a + a * w * (A1 + ...), w = a**2, up to tan(pi / 8): 2**-40."""

PI_2_HIGH = wp.constant(wp.float64(1.5707963267341256))
PI_2_LOW = wp.constant(wp.float64(6.077100506506192e-11))
QUARTERS_64 = wp.constant(wp.float64(0.6366197723675814))
PI_64 = wp.constant(wp.float64(3.141592653589793))
PI_2_64 = wp.constant(wp.float64(1.5707963267948966))
PI_4_64 = wp.constant(wp.float64(0.7853981633974483))
EIGHTH = wp.constant(wp.float64(0.41421356237309503))
"""tan(pi / 8)"""
ZERO, ONE = wp.constant(wp.float64(0.0)), wp.constant(wp.float64(1.0))


@wp.func
def odd(x: wp.float32, value: wp.float32):
    """An odd function at ``x``, from its ``value`` at the absolute value of ``x``."""
    if x < 0.0:
        return value * -1.0
    return value


@wp.func
def _sin_near(r: wp.float32):
    z = r * r
    return r + r * z * (S1 + z * (S2 + z * S3))


@wp.func
def _cos_near(r: wp.float32):
    z = r * r
    half = z * 0.5
    most = 1.0 - half
    # the second term adds back the rounding error of the first difference
    return most + ((1.0 - most - half) + z * z * (C2 + z * (C3 + z * C4)))


@wp.func
def _turn_far(x: wp.float32):
    """The nearest quarter turn of a large number, and the remainder in radians: x times 2 / pi in integers, modulo 4.

    The exponent of x selects 96 bits of 2 / pi; the bits before them contribute multiples of whole turns.
    """
    bits = wp.cast(x, wp.uint32)
    place = wp.int32((bits >> wp.uint32(23)) & wp.uint32(255)) - 120
    number = wp.uint64((bits & wp.uint32(8388607)) | wp.uint32(8388608))
    word = place >> 5
    shift = wp.uint64(32 - (place & 31))
    w0 = wp.uint64(TWO_OVER_PI[word])
    w1 = wp.uint64(TWO_OVER_PI[word + 1])
    w2 = wp.uint64(TWO_OVER_PI[word + 2])
    w3 = wp.uint64(TWO_OVER_PI[word + 3])
    high_part = number * ((((w0 << wp.uint64(32)) | w1) >> shift) & LOW_32)
    middle_part = number * ((((w1 << wp.uint64(32)) | w2) >> shift) & LOW_32)
    low_part = number * ((((w2 << wp.uint64(32)) | w3) >> shift) & LOW_32)
    turn = (high_part << wp.uint64(32)) + middle_part + (low_part >> wp.uint64(32))
    quarter = (turn + (wp.uint64(1) << wp.uint64(61))) >> wp.uint64(62)
    rest = wp.float64(wp.int64(turn - (quarter << wp.uint64(62)))) * QUARTER_UNIT
    number_of = wp.int32(quarter)
    if x < 0.0:
        return 4 - number_of, rest * wp.float64(-1.0)
    return number_of, rest


@wp.func
def _turn(x: wp.float32):
    """The nearest quarter turn of a finite number, and the remainder in radians."""
    if wp.abs(x) <= FAR:
        n = wp.rint(x * QUARTERS)
        return wp.int32(n), ((x - n * PI_2_A) - n * PI_2_B) - n * PI_2_C
    quarter, rest = _turn_far(x)
    return quarter, wp.float32(rest)


@wp.func
def _sin_after(quarter: wp.int32, r: wp.float32):
    """The sine of ``quarter`` quarter turns plus ``r`` radians, up to an eighth of a turn."""
    value = wp.float32(0.0)
    if (quarter & 1) == 0:
        value = _sin_near(r)
    else:
        value = _cos_near(r)
    if (quarter & 2) != 0:
        value = value * -1.0
    return value


@wp.func
def sin(x: wp.float32):
    """The sine of an angle in radians."""
    size = wp.abs(x)
    if size < TINY:
        return x
    if size <= NEAR:
        return _sin_near(x)
    if not (size < wp.inf):
        return x - x
    quarter, r = _turn(x)
    return _sin_after(quarter, r)


@wp.func
def cos(x: wp.float32):
    """The cosine of an angle in radians."""
    size = wp.abs(x)
    if size <= NEAR:
        return _cos_near(x)
    if not (size < wp.inf):
        return x - x
    quarter, r = _turn(x)
    return _sin_after(quarter + 1, r)


@wp.func
def tan(x: wp.float32):
    """The tangent of an angle in radians."""
    size = wp.abs(x)
    if size < TINY:
        return x
    if not (size < wp.inf):
        return x - x
    quarter = wp.int32(0)
    r = wp.float64(x)
    if size > FAR:
        quarter, r = _turn_far(x)
    elif size > NEAR:
        n = wp.rint(r * QUARTERS_64)
        quarter = wp.int32(n)
        r = (r - n * PI_2_HIGH) - n * PI_2_LOW
    z = r * r
    sine = r + r * z * (D1 + z * (D2 + z * (D3 + z * D4)))
    cosine = ONE + z * (E1 + z * (E2 + z * (E3 + z * (E4 + z * E5))))
    if (quarter & 1) == 0:
        return wp.float32(sine / cosine)
    return wp.float32(cosine / sine) * -1.0


@wp.func
def _angle(y: wp.float64, x: wp.float64):
    """The angle of a point in the first quadrant other than the origin."""
    start = ZERO
    a = ZERO
    if y <= x * EIGHTH:
        a = y / x
    elif y * EIGHTH >= x:
        start = PI_2_64
        a = (x / y) * wp.float64(-1.0)
    else:
        start = PI_4_64
        a = (y - x) / (y + x)
    w = a * a
    return start + (a + a * w * (A1 + w * (A2 + w * (A3 + w * (A4 + w * (A5 + w * (A6 + w * A7)))))))


@wp.func
def _negative(x: wp.float32):
    """Whether the sign bit of ``x`` is set."""
    return (wp.cast(x, wp.uint32) >> wp.uint32(31)) == wp.uint32(1)


@wp.func
def atan2(y: wp.float32, x: wp.float32):
    """The angle of the point (x, y), in radians from -pi to pi."""
    if x != x or y != y:
        return x + y
    up = wp.float64(wp.abs(y))
    along = wp.float64(wp.abs(x))
    if up == ZERO and along == ZERO:
        along = ONE
    elif wp.abs(y) == wp.inf and wp.abs(x) == wp.inf:
        up = ONE
        along = ONE
    elif wp.abs(x) == wp.inf:
        up = ZERO
        along = ONE
    elif wp.abs(y) == wp.inf:
        up = ONE
        along = ZERO
    angle = _angle(up, along)
    if _negative(x):
        angle = PI_64 - angle
    result = wp.float32(angle)
    if _negative(y):
        result = result * -1.0
    return result


@wp.func
def atan(x: wp.float32):
    """The angle whose tangent is ``x``, in radians."""
    return atan2(x, wp.float32(1.0))


@wp.func
def asin(x: wp.float32):
    """The angle whose sine is ``x``, in radians; ``x`` is clamped to [-1, 1]."""
    if x != x or wp.abs(x) < TINY:
        return x
    size = wp.float64(wp.abs(x))
    angle = PI_2_64
    if size < ONE:
        angle = _angle(size, wp.sqrt((ONE - size) * (ONE + size)))
    return odd(x, wp.float32(angle))


@wp.func
def acos(x: wp.float32):
    """The angle whose cosine is ``x``, in radians; ``x`` is clamped to [-1, 1]."""
    if x != x:
        return x
    size = wp.float64(wp.abs(x))
    angle = ZERO
    if size < ONE:
        angle = _angle(wp.sqrt((ONE - size) * (ONE + size)), size)
    if x < 0.0:
        angle = PI_64 - angle
    return wp.float32(angle)


@wp.func
def quat_from_axis_angle(axis: wp.vec3, angle: wp.float32):
    """The rotation by ``angle`` radians about ``axis``, which has length 1."""
    half = angle * 0.5
    s = sin(half)
    return wp.quat(axis[0] * s, axis[1] * s, axis[2] * s, cos(half))


@wp.func
def quat_rpy(roll: wp.float32, pitch: wp.float32, yaw: wp.float32):
    """The rotation by roll, pitch and yaw, in radians."""
    cr, cp, cy = cos(roll * 0.5), cos(pitch * 0.5), cos(yaw * 0.5)
    sr, sp, sy = sin(roll * 0.5), sin(pitch * 0.5), sin(yaw * 0.5)
    x = cy * sr * cp - sy * cr * sp
    y = cy * cr * sp + sy * sr * cp
    z = sy * cr * cp - cy * sr * sp
    return wp.quat(x, y, z, cy * cr * cp + sy * sr * sp)


@wp.func
def quat_slerp(q0: wp.quat, q1: wp.quat, t: wp.float32):
    """The spherical interpolation from ``q0`` to ``q1`` at ``t``."""
    ax, ay, az, aw = q0[0], q0[1], q0[2], q0[3]
    bx, by, bz, bw = q1[0], q1[1], q1[2], q1[3]
    x = aw * bx - bw * ax - ay * bz + by * az
    y = aw * by - bw * ay - az * bx + bz * ax
    z = aw * bz - bw * az - ax * by + bx * ay
    w = aw * bw + ax * bx + ay * by + az * bz
    size = wp.sqrt(x * x + y * y + z * z)
    half = t * atan2(size, wp.abs(w))
    s = wp.float32(0.0)
    if size > 0.0:
        s = sin(half) / size
    if w < 0.0:
        s = s * -1.0
    x, y, z, w = x * s, y * s, z * s, cos(half)
    return wp.quat(
        aw * x + w * ax + ay * z - y * az,
        aw * y + w * ay + az * x - z * ax,
        aw * z + w * az + ax * y - x * ay,
        aw * w - ax * x - ay * y - az * z,
    )
