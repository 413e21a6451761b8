"""Functions of matrices, with the operations in the order of Warp's ``mat.h``. Numbers are in row-major order."""

from __future__ import annotations

from typing import Any

import warp as wp

from worldloom.core.arithmetic.scalars import Function, ScalarMath, scalar_math
from worldloom.core.arithmetic.values import interpreted
from worldloom.core.model.dtypes import canonical, scalar_of, shape_of


def matrix_type(rows: int, columns: int, scalar: Any) -> Any:
    """The component type of matrices of a shape."""
    return canonical(wp.types.matrix(shape=(rows, columns), dtype=scalar))


class Matrix:
    """Functions of matrices of one type."""

    def __init__(self, dtype: Any) -> None:
        self.of: ScalarMath = scalar_math(scalar_of(dtype))
        self.rows, self.columns = shape_of(dtype)
        self.create = interpreted(dtype)

    def times_vector(self, result: Any) -> Function:
        """The sum of the columns, each times its number of the vector, in order."""
        columns, create = self.columns, interpreted(result)
        starts = range(0, self.rows * columns, columns)

        def mul(m: Any, v: Any) -> Any:
            entries, factors = tuple(m), tuple(v)
            values = []
            for start in starts:
                total = entries[start] * factors[0]
                for k in range(1, columns):
                    total = total + entries[start + k] * factors[k]
                values.append(total)
            return create(values)

        return mul

    def vector_times(self, result: Any) -> Function:
        """The sum of the rows, each times its number of the vector, in order."""
        rows, columns, create = self.rows, self.columns, interpreted(result)

        def mul(v: Any, m: Any) -> Any:
            entries, factors = tuple(m), tuple(v)
            values = []
            for k in range(columns):
                total = entries[k] * factors[0]
                for i in range(1, rows):
                    total = total + entries[i * columns + k] * factors[i]
                values.append(total)
            return create(values)

        return mul

    def times_matrix(self, other: Any, result: Any) -> Function:
        """The product of two matrices; Warp fuses its products with its sums."""
        rows, inner, columns, create = self.rows, self.columns, shape_of(other)[1], interpreted(result)
        zero, fma = self.of.zero, self.of.fma

        def mul(a: Any, b: Any) -> Any:
            left, right = tuple(a), tuple(b)
            values = []
            for i in range(rows):
                for j in range(columns):
                    total = zero
                    for k in range(inner):
                        total = fma(left[i * inner + k], right[k * columns + j], total)
                    values.append(total)
            return create(values)

        return mul

    def ddot(self) -> Function:
        zero, fma = self.of.zero, self.of.fma

        def ddot(a: Any, b: Any) -> Any:
            total = zero
            for x, y in zip(tuple(a), tuple(b), strict=True):
                total = fma(x, y, total)
            return total

        return ddot

    def transpose(self, result: Any) -> Function:
        order = [i * self.columns + j for j in range(self.columns) for i in range(self.rows)]
        create = interpreted(result)

        def transpose(m: Any) -> Any:
            entries = tuple(m)
            return create([entries[index] for index in order])

        return transpose

    def trace(self) -> Function:
        step = self.columns + 1

        def trace(m: Any) -> Any:
            first, *rest = tuple(m)[::step]
            for number in rest:
                first = first + number
            return first

        return trace

    def get_diag(self, result: Any) -> Function:
        step, create = self.columns + 1, interpreted(result)
        return lambda m: create(tuple(m)[::step])

    def determinant(self) -> Function:
        return (_determinant_2, _determinant_3, _determinant_4(self.of))[self.rows - 2]

    def inverse(self) -> Function:
        of, create, determinant = self.of, self.create, self.determinant()
        zeros = create([of.zero] * (self.rows * self.columns))
        if self.rows == 4:
            return _inverse_4(of, create, zeros)
        adjugate = _adjugate_2 if self.rows == 2 else _adjugate_3

        def inverse(m: Any) -> Any:
            value = determinant(m)
            # NaN differs from 0; only the test for 2 x 2 matrices excludes it, as in Warp
            if (value == value if adjugate is _adjugate_2 else True) and value != of.zero:
                factor = of.one / value
                return create([number * factor for number in adjugate(*tuple(m))])
            return zeros

        return inverse


def diagonal(result: Any) -> Function:
    """``diag``: the matrix with a vector on its diagonal."""
    rows, create, zero = shape_of(result)[0], interpreted(result), scalar_math(scalar_of(result)).zero

    def diag(v: Any) -> Any:
        values = [zero] * (rows * rows)
        values[:: rows + 1] = tuple(v)
        return create(values)

    return diag


def outer(result: Any) -> Function:
    """The outer product of two vectors."""
    create = interpreted(result)
    return lambda a, b: create([x * y for x in tuple(a) for y in tuple(b)])


def skew(result: Any) -> Function:
    """The matrix whose product with a vector is the cross product with it."""
    create, zero = interpreted(result), scalar_math(scalar_of(result)).zero

    def skew(v: Any) -> Any:
        x, y, z = v
        return create((zero, -z, y, z, zero, -x, -y, x, zero))

    return skew


def _determinant_2(m: Any) -> Any:
    a, b, c, d = tuple(m)
    return a * d - c * b


def _determinant_3(m: Any) -> Any:
    a0, a1, a2, b0, b1, b2, c0, c1, c2 = tuple(m)
    return a0 * (b1 * c2 - b2 * c1) + a1 * (b2 * c0 - b0 * c2) + a2 * (b0 * c1 - b1 * c0)


def _adjugate_2(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, ...]:
    return d, -b, -c, a


def _adjugate_3(a0: Any, a1: Any, a2: Any, b0: Any, b1: Any, b2: Any, c0: Any, c1: Any, c2: Any) -> tuple[Any, ...]:
    return (
        b1 * c2 - b2 * c1,
        a2 * c1 - a1 * c2,
        a1 * b2 - a2 * b1,
        b2 * c0 - b0 * c2,
        a0 * c2 - a2 * c0,
        a2 * b0 - a0 * b2,
        b0 * c1 - b1 * c0,
        a1 * c0 - a0 * c1,
        a0 * b1 - a1 * b0,
    )


# -- 4 x 4 matrices: Warp holds the 2 x 2 determinants of two columns in 64 bits ----------------------------------


def _minors(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[float, ...]:
    """The 2 x 2 determinants of two columns, rounded to the type of the matrix and held in 64 bits."""
    pairs = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    return tuple(float(left[i] * right[j] - left[j] * right[i]) for i, j in pairs)


def _wide_product(of: ScalarMath) -> Function:
    """A number of the matrix times one of 64 bits: computed in 64 bits, but in 16 bits for matrices of 16 bits."""
    if of.kind is wp.float16:
        return lambda x, y: of.cast(float(x) * y)
    return lambda x, y: float(x) * y


def _first_cofactors(
    times: Function, narrow: Function, y: tuple[float, ...], second: tuple[Any, ...]
) -> tuple[Any, ...]:
    """``z00, z10, z20, z30`` of Warp's code, from the determinants of the last two columns and the second column."""
    y01, y02, y03, y12, y13, y23 = y
    x01, x11, x21, x31 = second
    return (
        narrow(times(x11, y23) - times(x21, y13) + times(x31, y12)),
        narrow(times(x21, y03) - times(x31, y02) - times(x01, y23)),
        narrow(times(x01, y13) - times(x11, y03) + times(x31, y01)),
        narrow(times(x11, y02) - times(x21, y01) - times(x01, y12)),
    )


def _determinant_4(of: ScalarMath) -> Function:
    times, narrow = _wide_product(of), of.cast

    def determinant(m: Any) -> Any:
        entries = tuple(m)
        first, second, third, fourth = (entries[k::4] for k in range(4))
        z00, z10, z20, z30 = _first_cofactors(times, narrow, _minors(third, fourth), second)
        return first[3] * z30 + first[2] * z20 + first[1] * z10 + first[0] * z00

    return determinant


def _inverse_4(of: ScalarMath, create: Function, zeros: Any) -> Function:
    times, narrow = _wide_product(of), of.cast

    def inverse(m: Any) -> Any:
        entries = tuple(m)
        first, second, third, fourth = (entries[k::4] for k in range(4))
        y01, y02, y03, y12, y13, y23 = _minors(first, second)
        x02, x12, x22, x32 = third
        x03, x13, x23, x33 = fourth
        z33 = float(times(x02, y12) - times(x12, y02) + times(x22, y01))
        z23 = float(times(x12, y03) - times(x32, y01) - times(x02, y13))
        z13 = float(times(x02, y23) - times(x22, y03) + times(x32, y02))
        z03 = float(times(x22, y13) - times(x32, y12) - times(x12, y23))
        z32 = float(times(x13, y02) - times(x23, y01) - times(x03, y12))
        z22 = float(times(x03, y13) - times(x13, y03) + times(x33, y01))
        z12 = float(times(x23, y03) - times(x33, y02) - times(x03, y23))
        z02 = float(times(x13, y23) - times(x23, y13) + times(x33, y12))
        y = y01, y02, y03, y12, y13, y23 = _minors(third, fourth)
        z00, z10, z20, z30 = _first_cofactors(times, narrow, y, second)
        x00, x10, x20, x30 = first
        z31 = narrow(times(x00, y12) - times(x10, y02) + times(x20, y01))
        z21 = narrow(times(x10, y03) - times(x30, y01) - times(x00, y13))
        z11 = narrow(times(x00, y23) - times(x20, y03) + times(x30, y02))
        z01 = narrow(times(x20, y13) - times(x30, y12) - times(x10, y23))
        determinant = float(x30 * z30 + x20 * z20 + x10 * z10 + x00 * z00)
        if not abs(determinant) > 0.0:
            return zeros
        factor = 1.0 / determinant
        cofactors = (z00, z10, z20, z30, z01, z11, z21, z31, z02, z12, z22, z32, z03, z13, z23, z33)
        return create([narrow(times(z, factor)) if k < 8 else narrow(z * factor) for k, z in enumerate(cofactors)])

    return inverse
