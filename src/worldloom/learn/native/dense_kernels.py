# mypy: ignore-errors
"""Kernels of fully connected layers: products, activations, packing of weights and reduction of gradients.

Each launch of a kernel around native text runs in one thread. Matrices are flat arrays, with a stride per row.
"""

from __future__ import annotations

import warp as wp

from worldloom.learn.native.dense_source import ACTIVATE, COLUMN_SUMS, DERIVE, NARROW_PRODUCT, PACK, PRODUCT, REDUCE


@wp.func_native(PRODUCT)
def _product(
    a: wp.array(dtype=wp.float32), a_row: int, a_column: int, b: wp.array(dtype=wp.float32), b_row: int,
    start: wp.array(dtype=wp.float32), start_row: int, c: wp.array(dtype=wp.float32), c_row: int,
    rows: int, columns: int, inner: int,
): ...  # fmt: skip


@wp.func_native(NARROW_PRODUCT)
def _narrow_product(
    a: wp.array(dtype=wp.float32), a_row: int, b: wp.array(dtype=wp.float32), b_row: int,
    bias: wp.array(dtype=wp.float32), c: wp.array(dtype=wp.float32), c_row: int, rows: int, columns: int, inner: int,
): ...  # fmt: skip


@wp.func_native(ACTIVATE)
def _activate(values: wp.array(dtype=wp.float32), count: int, kind: int): ...


@wp.func_native(DERIVE)
def _derive(
    values: wp.array(dtype=wp.float32), others: wp.array(dtype=wp.float32), row_stride: int, rows: int, kind: int,
    sums: wp.array(dtype=wp.float32),
): ...  # fmt: skip


@wp.func_native(COLUMN_SUMS)
def _column_sums(
    values: wp.array(dtype=wp.float32), row_stride: int, rows: int, columns: int,
    sums: wp.array(dtype=wp.float32),
): ...  # fmt: skip


@wp.kernel(enable_backward=False)
def product(
    a: wp.array(dtype=wp.float32), a_row: int, a_column: int, b: wp.array(dtype=wp.float32), b_row: int,
    start: wp.array(dtype=wp.float32), start_row: int, c: wp.array(dtype=wp.float32), c_row: int,
    rows: int, columns: int, inner: int,
):  # fmt: skip
    """``c = start + a b``: a [rows, inner] with any strides, b [inner, columns], start and c [rows, columns].

    An empty ``start`` is zero; one with ``start_row`` 0 is the same for every row. Rows of b, start and c are padded to
    multiples of PADDING.
    """
    _product(a, a_row, a_column, b, b_row, start, start_row, c, c_row, rows, columns, inner)


@wp.kernel(enable_backward=False)
def narrow_product(
    a: wp.array(dtype=wp.float32), a_row: int, b: wp.array(dtype=wp.float32), b_row: int,
    bias: wp.array(dtype=wp.float32), c: wp.array(dtype=wp.float32), c_row: int, rows: int, columns: int, inner: int,
):  # fmt: skip
    """``c = bias + a b^T`` for few columns: a [rows, inner], b [columns, inner].

    Rows of a and b are padded to multiples of PADDING, those of b with zeros.
    """
    _narrow_product(a, a_row, b, b_row, bias, c, c_row, rows, columns, inner)


@wp.kernel(enable_backward=False)
def activate(values: wp.array(dtype=wp.float32), count: int, kind: int):
    """Apply an activation function to ``count`` numbers, a multiple of PADDING."""
    _activate(values, count, kind)


@wp.kernel(enable_backward=False)
def derive(
    gradients: wp.array(dtype=wp.float32), activations: wp.array(dtype=wp.float32), row_stride: int, rows: int,
    kind: int, sums: wp.array(dtype=wp.float32),
):  # fmt: skip
    """Multiply gradients by the derivative of the activation function, from its values; add their column sums.

    Rows of ``row_stride`` numbers, a multiple of PADDING.
    """
    _derive(gradients, activations, row_stride, rows, kind, sums)


@wp.kernel(enable_backward=False)
def column_sums(
    values: wp.array(dtype=wp.float32), row_stride: int, rows: int, columns: int,
    sums: wp.array(dtype=wp.float32),
):  # fmt: skip
    """Sums over the rows of a matrix, added to ``sums``."""
    _column_sums(values, row_stride, rows, columns, sums)


@wp.func_native(PACK)
def _pack(
    weight: wp.array(dtype=wp.float32), bias: wp.array(dtype=wp.float32), units: int, inputs: int,
    rows: wp.array(dtype=wp.float32), row_stride: int, columns: wp.array(dtype=wp.float32), column_stride: int,
    packed_bias: wp.array(dtype=wp.float32),
): ...  # fmt: skip


@wp.func_native(REDUCE)
def _reduce(
    sums: wp.array(dtype=wp.float32), parts: int, part_stride: int, rows: int, row_stride: int, columns: int,
    gradient: wp.array(dtype=wp.float32), out_row: int, out_column: int,
): ...  # fmt: skip


@wp.kernel(enable_backward=False)
def pack_layer(
    weight: wp.array(dtype=wp.float32), bias: wp.array(dtype=wp.float32), units: int, inputs: int,
    # outputs
    rows: wp.array(dtype=wp.float32), row_stride: int, columns: wp.array(dtype=wp.float32), column_stride: int,
    packed_bias: wp.array(dtype=wp.float32),
):  # fmt: skip
    """Copy weights [units, inputs] to padded rows, their transpose to padded rows, and the bias."""
    _pack(weight, bias, units, inputs, rows, row_stride, columns, column_stride, packed_bias)


@wp.kernel(enable_backward=False)
def reduce_parts(
    sums: wp.array(dtype=wp.float32), parts: int, part_stride: int, rows: int, row_stride: int, columns: int,
    gradient: wp.array(dtype=wp.float32), out_row: int, out_column: int,
):  # fmt: skip
    """Sum the gradients of the parts of a minibatch in order: [parts, rows, padded columns] -> [rows, columns].

    ``out_row`` and ``out_column`` are the strides of ``gradient``.
    """
    _reduce(sums, parts, part_stride, rows, row_stride, columns, gradient, out_row, out_column)
