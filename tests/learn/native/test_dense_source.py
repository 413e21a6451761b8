"""Kernels with vectors of 8 and of 16 numbers compute the same bits, on any processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import warp as wp

from worldloom.learn.device.warp_launch import launch
from worldloom.learn.native.dense_network import PADDING
from worldloom.learn.native.dense_source import (
    ACTIVATE,
    ACTIVATIONS,
    ADAM,
    DERIVE,
    NARROW_PRODUCT,
    PRODUCT,
    WIDE_VECTORS,
)


def make_product(text: str) -> wp.Kernel:
    @wp.func_native(text)
    def native(
        a: wp.array(dtype=wp.float32), a_row: int, a_column: int, b: wp.array(dtype=wp.float32), b_row: int,
        start: wp.array(dtype=wp.float32), start_row: int, c: wp.array(dtype=wp.float32), c_row: int,
        rows: int, columns: int, inner: int,
    ): ...  # fmt: skip

    @wp.kernel(enable_backward=False, module="unique")
    def kernel(
        a: wp.array(dtype=wp.float32), a_row: int, a_column: int, b: wp.array(dtype=wp.float32), b_row: int,
        start: wp.array(dtype=wp.float32), start_row: int, c: wp.array(dtype=wp.float32), c_row: int,
        rows: int, columns: int, inner: int,
    ):  # fmt: skip
        native(a, a_row, a_column, b, b_row, start, start_row, c, c_row, rows, columns, inner)

    return kernel


def make_narrow_product(text: str) -> wp.Kernel:
    @wp.func_native(text)
    def native(
        a: wp.array(dtype=wp.float32), a_row: int, b: wp.array(dtype=wp.float32), b_row: int,
        bias: wp.array(dtype=wp.float32), c: wp.array(dtype=wp.float32), c_row: int,
        rows: int, columns: int, inner: int,
    ): ...  # fmt: skip

    @wp.kernel(enable_backward=False, module="unique")
    def kernel(
        a: wp.array(dtype=wp.float32), a_row: int, b: wp.array(dtype=wp.float32), b_row: int,
        bias: wp.array(dtype=wp.float32), c: wp.array(dtype=wp.float32), c_row: int,
        rows: int, columns: int, inner: int,
    ):  # fmt: skip
        native(a, a_row, b, b_row, bias, c, c_row, rows, columns, inner)

    return kernel


def make_activate(text: str) -> wp.Kernel:
    @wp.func_native(text)
    def native(values: wp.array(dtype=wp.float32), count: int, kind: int): ...

    @wp.kernel(enable_backward=False, module="unique")
    def kernel(values: wp.array(dtype=wp.float32), count: int, kind: int):
        native(values, count, kind)

    return kernel


def make_derive(text: str) -> wp.Kernel:
    @wp.func_native(text)
    def native(
        values: wp.array(dtype=wp.float32), others: wp.array(dtype=wp.float32), row_stride: int, rows: int, kind: int,
        sums: wp.array(dtype=wp.float32),
    ): ...  # fmt: skip

    @wp.kernel(enable_backward=False, module="unique")
    def kernel(
        values: wp.array(dtype=wp.float32), others: wp.array(dtype=wp.float32), row_stride: int, rows: int, kind: int,
        sums: wp.array(dtype=wp.float32),
    ):  # fmt: skip
        native(values, others, row_stride, rows, kind, sums)

    return kernel


def make_adam(text: str) -> wp.Kernel:
    @wp.func_native(text)
    def native(
        values: wp.array(dtype=wp.float32), gradient: wp.array(dtype=wp.float32), first: wp.array(dtype=wp.float32),
        second: wp.array(dtype=wp.float32), count: int, scale: wp.float32, rate: wp.float32, correction: wp.float32,
        beta1: wp.float32, beta2: wp.float32, epsilon: wp.float32,
    ): ...  # fmt: skip

    @wp.kernel(enable_backward=False, module="unique")
    def kernel(
        values: wp.array(dtype=wp.float32), gradient: wp.array(dtype=wp.float32), first: wp.array(dtype=wp.float32),
        second: wp.array(dtype=wp.float32), count: int, scale: wp.float32, rate: wp.float32, correction: wp.float32,
        beta1: wp.float32, beta2: wp.float32, epsilon: wp.float32,
    ):  # fmt: skip
        native(values, gradient, first, second, count, scale, rate, correction, beta1, beta2, epsilon)

    return kernel


def both_sizes(make: Callable[[str], wp.Kernel], text: str) -> tuple[wp.Kernel, wp.Kernel]:
    """Kernels with vectors of 8 and of 16 numbers."""
    assert text.count(WIDE_VECTORS) == 1
    return make(text.replace(WIDE_VECTORS, "0")), make(text.replace(WIDE_VECTORS, "1"))


PRODUCTS, NARROW_PRODUCTS = both_sizes(make_product, PRODUCT), both_sizes(make_narrow_product, NARROW_PRODUCT)
ACTIVATES, DERIVES = both_sizes(make_activate, ACTIVATE), both_sizes(make_derive, DERIVE)
ADAMS = both_sizes(make_adam, ADAM)


def run(kernel: wp.Kernel, *arguments: Any) -> None:
    launch(kernel, 1, arguments, torch.device("cpu"))


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def padded(values: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(values, (0, -values.shape[1] % PADDING))


@pytest.mark.parametrize(("rows", "columns", "inner"), [(1, 1, 1), (3, 5, 4), (9, 17, 33), (20, 40, 7), (16, 64, 64)])
def test_product(rows: int, columns: int, inner: int) -> None:
    results = []
    a, b, start = randn(rows, inner), padded(randn(inner, columns)), padded(randn(rows, columns))
    width = start.shape[1]
    for kernel in PRODUCTS:
        c = torch.zeros_like(start)
        factors = (a.view(-1), inner, 1, b.view(-1), width)
        run(kernel, *factors, start.view(-1), width, c.view(-1), width, rows, columns, inner)
        results.append(c[:, :columns])
    assert torch.equal(*results)
    torch.testing.assert_close(results[0], (start + a @ b)[:, :columns], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("inner", [1, 7, 8, 9, 16, 24, 33, 64])
def test_narrow_product(inner: int) -> None:
    results = []
    a, b, bias = randn(5, inner), padded(randn(3, inner)), randn(3)
    rows = padded(a)
    rows[:, inner:] = torch.nan  # padding is not read
    for kernel in NARROW_PRODUCTS:
        c = torch.zeros(5, PADDING)
        factors = (rows.view(-1), rows.shape[1], b.view(-1), b.shape[1])
        run(kernel, *factors, bias, c.view(-1), PADDING, 5, 3, inner)
        results.append(c[:, :3])
    assert torch.equal(*results)
    torch.testing.assert_close(results[0], a @ b[:, :inner].T + bias, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - {"none"}))
def test_activations_and_derivatives(name: str) -> None:
    kind, results = ACTIVATIONS[name], []
    for activate, derive in zip(ACTIVATES, DERIVES, strict=True):
        values, gradients, sums = 3.0 * randn(6, 32), randn(6, 32) + 1.0, torch.zeros(32)
        values[2, 3] = torch.nan
        run(activate, values.view(-1), values.numel(), kind)
        run(derive, gradients.view(-1), values.view(-1), 32, 6, kind, sums)
        results.append(torch.cat([values, gradients, sums[None]]))
    assert torch.equal(*(result.nan_to_num(9.0) for result in results))
    assert results[0][:6].isnan().nonzero().tolist() == [[2, 3]]  # NaN stays NaN, and where it is


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 37])
def test_adam(count: int) -> None:
    results = []
    for kernel in ADAMS:
        state = [randn(count), 0.1 * randn(count) + 0.2, 0.1 * randn(count), randn(count).square()]
        run(kernel, *state, count, 0.5, 1e-3, 1.1, 0.9, 0.999, 1e-5)
        results.append(torch.stack(state))
    assert torch.equal(*results)
