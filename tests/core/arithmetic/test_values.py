"""Vectors and matrices of interpreted systems, also as seen at a breakpoint."""

from __future__ import annotations

import math

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.arithmetic.functions import to_interpreted, type_of
from worldloom.core.arithmetic.values import as_interpreted, as_warp, interpreted, make_composite, with_component
from worldloom.core.model.dtypes import canonical, is_composite, scalar_of, shape_of


def test_a_vector_has_letters_places_and_a_length() -> None:
    v = make_composite(wl.vec3, (1.0, 2.5, 3.0))
    assert (v.x, v.y, v.z) == (v[0], v[1], v[2]) == (1.0, 2.5, 3.0)
    assert all(isinstance(n, np.float32) for n in v) and len(v) == 3 and v[-1] == 3.0
    with pytest.raises(AttributeError):
        _ = v.w
    assert repr(v) == "vec3(1.0, 2.5, 3.0)"
    np.testing.assert_array_equal(np.asarray(v), np.array([1.0, 2.5, 3.0], np.float32))
    assert np.asarray(v).dtype == np.float32


def test_a_vector_compares_with_warps_and_with_lists() -> None:
    v = make_composite(wl.vec3, (1.0, 2.5, 3.0))
    assert v == wl.vec3(1.0, 2.5, 3.0) and v == (1.0, 2.5, 3.0) and v == [1.0, 2.5, 3.0]
    assert v != wl.vec3(1.0, 2.5, 3.5) and v != (1.0, 2.5) and v != "vector"
    assert v == make_composite(wl.vec3, (1.0, 2.5, 3.0)) and hash(v) == hash(make_composite(wl.vec3, (1.0, 2.5, 3.0)))
    assert make_composite(wl.vec2, (math.nan, 0.0)) != make_composite(wl.vec2, (math.nan, 0.0))


def test_a_matrix_has_rows() -> None:
    m = make_composite(wl.mat22, (1.0, 2.0, 3.0, 4.0))
    assert m[1, 0] == 3.0 and m[-1, -1] == 4.0 and m[0] == (1.0, 2.0) and len(m) == 2
    assert np.asarray(m).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert repr(m) == "mat22(1.0, 2.0, 3.0, 4.0)"
    assert m == wl.mat22(1.0, 2.0, 3.0, 4.0)


def test_operators_at_a_breakpoint() -> None:
    v, m = make_composite(wl.vec2, (3.0, 4.0)), make_composite(wl.mat22, (0.0, 1.0, 1.0, 0.0))
    assert v + v == (6.0, 8.0) and v - v == (0.0, 0.0) and -v == (-3.0, -4.0)
    assert v * 2.0 == 2.0 * v == (6.0, 8.0) and v / 2.0 == (1.5, 2.0) and m @ v == (4.0, 3.0)
    assert wl.length(v) == 5.0 and isinstance(wl.normalize(v), wp.vec2)


def test_types_are_those_of_warp() -> None:
    kind = wl.vec(5, wp.int16)
    v = make_composite(kind, range(5))
    assert type_of(v) is canonical(type(v)) is kind and is_composite(type(v))
    assert scalar_of(type(v)) is wp.int16 and shape_of(type(v)) == (5,)
    assert interpreted(kind) is type(v)


def test_to_warp_and_back() -> None:
    for value in (wl.vec3(1.0, 2.0, 3.0), wl.mat33(*range(9)), wl.quat(0.0, 0.0, 0.0, 1.0), wl.transform(*range(7))):
        held = as_interpreted(value)
        assert held == value and isinstance(as_warp(held), type(value)) and as_warp(held) == value
    assert as_warp((make_composite(wl.vec2, (1.0, 2.0)), np.float32(3.0))) == (wl.vec2(1.0, 2.0), 3.0)
    assert as_interpreted(3) == 3 and as_warp("text") == "text"


def test_one_number_is_replaced_in_a_copy() -> None:
    v, m = make_composite(wl.vec3, (1.0, 2.0, 3.0)), make_composite(wl.mat22, (1.0, 2.0, 3.0, 4.0))
    assert with_component(v, np.float32(9.0), np.int32(1)) == (1.0, 9.0, 3.0) and v == (1.0, 2.0, 3.0)
    assert with_component(m, np.float32(9.0), 1, 0) == wl.mat22(1.0, 2.0, 9.0, 4.0)


def test_wrap_takes_what_people_write() -> None:
    assert to_interpreted(wp.vec2, (1.0, 2.0)) == (1.0, 2.0) and to_interpreted(wp.vec2, wl.vec2(1.0, 2.0)) == (
        1.0,
        2.0,
    )
    assert type(to_interpreted(wp.vec2, [1, 2])) is interpreted(wp.vec2)
    with pytest.raises(TypeError, match="vec2 takes 2 numbers, not 3"):
        to_interpreted(wp.vec2, (1.0, 2.0, 3.0))


@wl.function
def mirrored(v: wl.vec2):
    return wl.vec2(v.y, v.x)


@wl.function
def with_length(v: wl.vec2):
    return v, wl.length(v)


def test_helpers_called_from_python_take_and_give_warps_vectors() -> None:
    assert isinstance(mirrored(wl.vec2(1.0, 2.0)), wp.vec2) and mirrored((1.0, 2.0)) == wl.vec2(2.0, 1.0)
    vector, length = with_length(wl.vec2(3.0, 4.0))
    assert isinstance(vector, wp.vec2) and length == 5.0 and isinstance(length, np.float32)
