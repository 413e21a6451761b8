"""The mathematics of worlds outside systems: numbers of the engine's width, and Python's meaning where Warp differs."""

import math

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.arithmetic.functions import (
    FUNCTIONS,
    NAMES,
    NoOverloadError,
    construct,
    python_math,
    result_type,
    to_interpreted,
    type_of,
)
from worldloom.core.kernels.operators import HELPERS


def test_every_function_is_exported_and_documented() -> None:
    for name in NAMES:
        assert getattr(wl, name) is FUNCTIONS[name]
        assert repr(getattr(wl, name)) == f"worldloom.{name}"
        assert FUNCTIONS[name].__doc__


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: wl.sin(0.5), math.sin(0.5)),
        (lambda: wl.atan2(1.0, -2.0), math.atan2(1.0, -2.0)),
        (lambda: wl.pow(2.0, 0.5), math.sqrt(2.0)),
        (lambda: wl.cbrt(-27.0), -3.0),
        (lambda: wl.radians(180.0), math.pi),
        (lambda: wl.frac(2.75), 0.75),
        (lambda: wl.clamp(5.0, 0.0, 2.0), 2.0),
        (lambda: wl.lerp(1.0, 3.0, 0.25), 1.5),
        (lambda: wl.smoothstep(0.0, 1.0, 0.5), 0.5),
        (lambda: wl.rint(2.5), 2.0),
        (lambda: wl.length(wl.vec2(3.0, 4.0)), 5.0),
        (lambda: wl.dot(wl.vec3(1.0, 2.0, 3.0), wl.vec3(4.0, 5.0, 6.0)), 32.0),
        (lambda: wl.determinant(wl.mat22(2.0, 1.0, 0.0, 3.0)), 6.0),
        (lambda: wl.trace(wl.mat33(1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 4.0)), 7.0),
    ],
)
def test_functions_give_floats_of_32_bits(made, expected: float) -> None:
    found = made()
    assert isinstance(found, np.float32)
    assert found == pytest.approx(expected, rel=1e-6)


def test_functions_of_vectors() -> None:
    assert list(wl.cross(wl.vec3(1.0, 0.0, 0.0), wl.vec3(0.0, 1.0, 0.0))) == [0.0, 0.0, 1.0]
    assert list(wl.cw_mul(wl.vec2(2.0, 3.0), wl.vec2(4.0, 5.0))) == [8.0, 15.0]
    turned = wl.quat_rotate(wl.quat_from_axis_angle(wl.vec3(0.0, 0.0, 1.0), math.pi / 2), wl.vec3(1.0, 0.0, 0.0))
    assert list(turned) == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)
    there_and_back = wl.transform_multiply(wl.transform_identity(), wl.transform_inverse(wl.transform_identity()))
    assert list(there_and_back) == [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]


def test_predicates_give_truth_values() -> None:
    assert wl.isnan(math.nan) is True
    assert wl.isinf(-math.inf) is True
    assert wl.isfinite(1.0) is True
    assert wl.isfinite(wl.vec2(1.0, math.nan)) is False


@pytest.mark.parametrize(
    ("name", "types", "expected"),
    [
        ("sin", (wp.float32,), wp.float32),
        ("sin", (wp.float64,), wp.float64),
        ("length", (wp.vec3,), wp.float32),
        ("mul", (wp.mat33, wp.vec3), wp.vec3),
        ("mul", (wp.vec2, wp.float32), wp.vec2),
        ("add", (wp.vec4i, wp.vec4i), wp.vec4i),
        ("transpose", (wp.mat22,), wp.mat22),
        ("quat_rotate", (wp.quat, wp.vec3), wp.vec3),
    ],
)
def test_result_types(name: str, types: tuple, expected: type) -> None:
    assert result_type(name, types) is expected


@pytest.mark.parametrize(
    ("name", "types"),
    [("sin", (wp.vec2,)), ("length", (wp.float32,)), ("add", (wp.vec2, wp.vec3)), ("cross", (wp.vec3,))],
)
def test_arguments_that_no_version_takes(name: str, types: tuple) -> None:
    with pytest.raises(NoOverloadError):
        result_type(name, types)


def test_types_of_values() -> None:
    assert type_of(True) is wp.bool
    assert type_of(3) is wp.int32
    assert type_of(0.5) is wp.float32
    assert type_of(np.uint8(3)) is wp.uint8
    assert type_of(np.float64(3)) is wp.float64
    assert type_of(wl.vec3()) is wp.vec3
    assert type_of("three") is None


def test_construct_takes_numbers_vectors_one_number_or_none() -> None:
    assert list(construct(wl.vec3, [1, 2, 3])) == [1.0, 2.0, 3.0]
    assert list(construct(wl.vec3, [wl.vec2(1.0, 2.0), 3.0])) == [1.0, 2.0, 3.0]
    assert list(construct(wl.vec3, [4.0])) == [4.0, 4.0, 4.0]
    assert list(construct(wl.vec3, [])) == [0.0, 0.0, 0.0]
    assert np.asarray(construct(wl.mat22, [1, 2, 3, 4])).ravel().tolist() == [1.0, 2.0, 3.0, 4.0]


def test_wrap_gives_the_width_of_the_type() -> None:
    assert isinstance(to_interpreted(wp.float16, 0.5), np.float16)
    assert isinstance(to_interpreted(wp.int64, np.int32(5)), np.int64)
    assert to_interpreted(wp.bool, np.int32(5)) is True
    assert list(to_interpreted(wl.vec2, (1.0, 2.0))) == [1.0, 2.0]


def test_interpreted_systems_see_only_known_functions() -> None:
    assert python_math.float32(0.5) == np.float32(0.5)
    with pytest.raises(AttributeError):
        _ = python_math.tid


INTEGERS = [-(2**31), -(2**31) + 1, -100, -7, -3, -1, 0, 1, 2, 7, 99, 2**31 - 1]


@pytest.mark.parametrize("divisor", INTEGERS)
def test_division_of_whole_numbers_rounds_down(divisor: int) -> None:
    """As Python's, but it wraps at 32 bits; a divisor of 0 gives the quotient 0."""
    divide, modulo = HELPERS["wl_floor_divide"][1], HELPERS["wl_floor_modulo"][1]
    with np.errstate(all="ignore"):
        for number in INTEGERS:
            quotient, rest = divide(np.int32(number), np.int32(divisor)), modulo(np.int32(number), np.int32(divisor))
            expected = np.array(number // divisor if divisor else 0).astype(np.int32)
            assert quotient == expected and quotient.dtype == np.int32
            assert rest == (number % divisor if divisor else number) and rest.dtype == np.int32


@wp.kernel
def divide_all(
    a: wp.array(dtype=wp.int32),
    b: wp.array(dtype=wp.int32),
    quotients: wp.array(dtype=wp.int32),
    rests: wp.array(dtype=wp.int32),
):
    i = wp.tid()
    quotients[i] = floor_divide(a[i], b[i])
    rests[i] = floor_modulo(a[i], b[i])


floor_divide, floor_modulo = HELPERS["wl_floor_divide"][0], HELPERS["wl_floor_modulo"][0]


def test_compiled_division_equals_the_interpreted_one() -> None:
    a, b = (np.ascontiguousarray(grid.ravel().astype(np.int32)) for grid in np.meshgrid(INTEGERS, INTEGERS))
    quotients, rests = wp.zeros(a.size, dtype=wp.int32, device="cpu"), wp.zeros(a.size, dtype=wp.int32, device="cpu")
    wp.launch(
        divide_all,
        dim=a.size,
        inputs=[wp.array(a, device="cpu"), wp.array(b, device="cpu"), quotients, rests],
        device="cpu",
    )
    with np.errstate(all="ignore"):
        expected = [
            (HELPERS["wl_floor_divide"][1](x, y), HELPERS["wl_floor_modulo"][1](x, y))
            for x, y in zip(a, b, strict=True)
        ]
    assert list(zip(quotients.numpy().tolist(), rests.numpy().tolist(), strict=True)) == expected
