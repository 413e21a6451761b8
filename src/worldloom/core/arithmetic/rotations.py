"""Functions of quaternions and transforms, with the operations in the order of Warp's ``quat.h`` and ``spatial.h``."""

from __future__ import annotations

from typing import Any

import warp as wp

from worldloom.core.arithmetic.matrices import matrix_type
from worldloom.core.arithmetic.scalars import Function, ScalarMath, scalar_math
from worldloom.core.arithmetic.values import interpreted
from worldloom.core.arithmetic.vectors import Vector
from worldloom.core.model.dtypes import canonical, vec

_LETTER = {wp.float16: "h", wp.float32: "f", wp.float64: "d"}


def quaternion_type(scalar: Any) -> Any:
    return canonical(getattr(wp, f"quat{_LETTER[scalar]}"))


def transform_type(scalar: Any) -> Any:
    return canonical(getattr(wp, f"transform{_LETTER[scalar]}"))


class Quaternion(Vector):
    """Functions of quaternions over one scalar type."""

    starts_at_zero = False

    def __init__(self, scalar: Any) -> None:
        super().__init__(quaternion_type(scalar))
        self.vector = Vector(vec(3, scalar))
        self.half, self.two = self.of.number(0.5), self.of.number(2)

    def identity(self) -> Any:
        return self.create((self.of.zero, self.of.zero, self.of.zero, self.of.one))

    def normalize(self) -> Function:
        length, zero, one, create, identity = self.length(), self.of.zero, self.of.one, self.create, self.identity()

        def normalize(q: Any) -> Any:
            size = length(q)
            if not size > zero:
                return identity
            factor = one / size
            x, y, z, w = q
            return create((x * factor, y * factor, z * factor, w * factor))

        return normalize

    def inverse(self) -> Function:
        create = self.create

        def inverse(q: Any) -> Any:
            x, y, z, w = q
            return create((-x, -y, -z, w))

        return inverse

    def multiply(self) -> Function:
        create = self.create

        def mul(a: Any, b: Any) -> Any:
            ax, ay, az, aw = a
            bx, by, bz, bw = b
            return create(
                (
                    aw * bx + bw * ax + ay * bz - by * az,
                    aw * by + bw * ay + az * bx - bz * ax,
                    aw * bz + bw * az + ax * by - bx * ay,
                    aw * bw - ax * bx - ay * by - az * bz,
                )
            )

        return mul

    def rotate(self, back: bool = False) -> Function:
        """The rotation of a vector, or with ``back`` its inverse."""
        create, two, one = self.vector.create, self.two, self.of.one

        def rotate(q: Any, v: Any) -> Any:
            x, y, z, w = q
            a, b, c = v
            s = two * w * w - one
            d = two * (x * a + y * b + z * c)
            p = (y * c - z * b) * w * two
            r = (z * a - x * c) * w * two
            t = (x * b - y * a) * w * two
            if back:
                return create((a * s + x * d - p, b * s + y * d - r, c * s + z * d - t))
            return create((a * s + x * d + p, b * s + y * d + r, c * s + z * d + t))

        return rotate

    def from_axis_angle(self) -> Function:
        create, half, sin, cos = self.create, self.half, self.of["sin"], self.of["cos"]

        def from_axis_angle(axis: Any, angle: Any) -> Any:
            x, y, z = axis
            middle = angle * half
            s = sin(middle)
            return create((x * s, y * s, z * s, cos(middle)))

        return from_axis_angle

    def from_angles(self) -> Function:
        """The rotation by roll, pitch and yaw."""
        create, half, sin, cos = self.create, self.half, self.of["sin"], self.of["cos"]

        def from_angles(roll: Any, pitch: Any, yaw: Any) -> Any:
            cy, sy, cr, sr, cp, sp = (f(angle * half) for angle in (yaw, roll, pitch) for f in (cos, sin))
            w = cy * cr * cp + sy * sr * sp
            return create((cy * sr * cp - sy * cr * sp, cy * cr * sp + sy * sr * cp, sy * cr * cp - cy * sr * sp, w))

        return from_angles

    def slerp(self) -> Function:
        inverse, mul, from_axis_angle = self.inverse(), self.multiply(), self.from_axis_angle()
        normalize, length, neg = self.vector.normalize(), self.vector.length(), self.vector.build("neg")
        create, atan2, zero, two = self.vector.create, self.of["atan2"], self.of.zero, self.two

        def slerp(a: Any, b: Any, t: Any) -> Any:
            x, y, z, w = mul(inverse(a), b)
            turned = create((x, y, z))
            axis = neg(normalize(turned)) if w < zero else normalize(turned)
            return mul(a, from_axis_angle(axis, t * (two * atan2(length(turned), abs(w)))))

        return slerp

    def to_matrix(self) -> Function:
        rotate, zero, one, vector = self.rotate(), self.of.zero, self.of.one, self.vector.create
        create = interpreted(matrix_type(3, 3, self.of.kind))
        axes = [vector([one if i == k else zero for i in range(3)]) for k in range(3)]

        def to_matrix(q: Any) -> Any:
            columns = [rotate(q, axis) for axis in axes]
            return create([column[i] for i in range(3) for column in columns])

        return to_matrix

    def from_matrix(self, columns: int) -> Function:
        create, normalize = self.create, self.normalize()
        components = _from_matrix(self.of)

        def from_matrix(m: Any) -> Any:
            entries = tuple(m)
            return normalize(create(components(*[entries[i * columns + j] for i in range(3) for j in range(3)])))

        return from_matrix


def _from_matrix(of: ScalarMath) -> Function:
    """The quaternion of a 3 x 3 rotation matrix, before normalization."""
    zero, one, half, root = of.zero, of.one, of.number(0.5), of["sqrt"]

    def components(
        m00: Any, m01: Any, m02: Any, m10: Any, m11: Any, m12: Any, m20: Any, m21: Any, m22: Any
    ) -> tuple[Any, ...]:
        trace = m00 + m11 + m22
        if trace >= zero:
            h = root(trace + one)
            w, h = half * h, half / h
            return (m21 - m12) * h, (m02 - m20) * h, (m10 - m01) * h, w
        largest = 1 if m11 > m00 else 0
        if m22 > (m11 if largest else m00):
            largest = 2
        if largest == 0:
            h = root((m00 - (m11 + m22)) + one)
            x, h = half * h, half / h
            return x, (m01 + m10) * h, (m20 + m02) * h, (m21 - m12) * h
        if largest == 1:
            h = root((m11 - (m22 + m00)) + one)
            y, h = half * h, half / h
            return (m01 + m10) * h, y, (m12 + m21) * h, (m02 - m20) * h
        h = root((m22 - (m00 + m11)) + one)
        z, h = half * h, half / h
        return (m20 + m02) * h, (m12 + m21) * h, z, (m10 - m01) * h

    return components


class Transform:
    """Functions of transforms over one scalar type: three numbers of translation, four of rotation."""

    def __init__(self, scalar: Any) -> None:
        self.of, self.quaternion = scalar_math(scalar), Quaternion(scalar)
        self.create, self.create_point = interpreted(transform_type(scalar)), interpreted(vec(3, scalar))

    def identity(self) -> Any:
        return self.create([self.of.zero] * 6 + [self.of.one])

    def translation(self) -> Function:
        create = self.create_point
        return lambda t: create(tuple(t)[:3])

    def rotation(self) -> Function:
        create = self.quaternion.create
        return lambda t: create(tuple(t)[3:])

    def multiply(self) -> Function:
        create, rotate, mul, rotation = (
            self.create,
            self.quaternion.rotate(),
            self.quaternion.multiply(),
            self.rotation(),
        )

        def multiply(a: Any, b: Any) -> Any:
            turn = rotation(a)
            moved = [r + p for r, p in zip(rotate(turn, tuple(b)[:3]), tuple(a)[:3], strict=True)]
            return create((*moved, *mul(turn, tuple(b)[3:])))

        return multiply

    def inverse(self) -> Function:
        create, rotate, invert = self.create, self.quaternion.rotate(), self.quaternion.inverse()

        def inverse(t: Any) -> Any:
            turn = invert(tuple(t)[3:])
            return create((*[-n for n in rotate(turn, tuple(t)[:3])], *turn))

        return inverse

    def vector(self) -> Function:
        rotate = self.quaternion.rotate()
        return lambda t, v: rotate(tuple(t)[3:], v)

    def point(self) -> Function:
        rotate, create = self.quaternion.rotate(), self.create_point
        return lambda t, v: create([p + r for p, r in zip(tuple(t)[:3], rotate(tuple(t)[3:], v), strict=True)])
