"""Loops over ``wl.unroll``: their results, the constants that they leave, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl

Six = wl.vec(6)


@wl.function
def reversed_sums(values: Six) -> Six:
    """Sums from the end, with indices that are constant arithmetic."""
    sums = Six()
    total = 0.0
    for i in wl.unroll(6):
        total += values[5 - i]
        sums[(5 - i) % 6] = total
    return sums


@wl.function
def pairs_below(values: Six, limit: float) -> int:
    count = 0
    for i in wl.unroll(3):
        for k in wl.unroll(2):
            if values[2 * i + k] < limit:
                count += 1
    return count


def test_an_unrolled_loop_computes_what_a_loop_does() -> None:
    values = np.arange(1.0, 7.0, dtype=np.float32)
    assert np.array_equal(np.array(reversed_sums(Six(*values))), np.cumsum(values[::-1])[::-1])
    assert pairs_below(Six(*values), 3.5) == 3
    assert list(wl.unroll(3)) == [0, 1, 2]


def test_indices_are_constants_in_the_code() -> None:
    code, _ = reversed_sums.kernel_code({})
    assert "for" not in code.split("\n", 2)[2] and "% " not in code
    assert all(f"[{i}]" in code for i in range(6))


def test_what_cannot_be_unrolled_is_refused() -> None:
    with pytest.raises(wl.DefinitionError, match="constant number of iterations"):

        @wl.function
        def too_long(n: int) -> int:
            total = 0
            for i in wl.unroll(n):
                total += i
            return total

    with pytest.raises(wl.DefinitionError, match="cannot be left early"):

        @wl.function
        def left(n: int) -> int:
            total = 0
            for i in wl.unroll(3):
                if n == i:
                    break
                total += i
            return total

    with pytest.raises(wl.DefinitionError, match="'i' is also another variable"):

        @wl.function
        def counted(i: int) -> int:
            total = 0
            for i in wl.unroll(3):
                total += i
            return total
