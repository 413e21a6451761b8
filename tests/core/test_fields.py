"""Fields: what annotations declare, and which defaults they take."""

import math

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.model.declarations import check_value, declare
from worldloom.core.model.dtypes import canonical, scalar_of, shape_of, type_name
from worldloom.core.model.fields import VECTOR_LIMIT, Role


def field(annotation: object, default: object = None) -> object:
    return declare("thing", annotation, default, default is not None)


@pytest.mark.parametrize(
    ("annotation", "dtype", "shape"),
    [
        (bool, wp.bool, ()),
        (int, wp.int32, ()),
        (float, wp.float32, ()),
        (wl.uint8, wp.uint8, ()),
        (wl.float64, wp.float64, ()),
        (wl.vec3, wp.vec3, ()),
        (wl.mat22, wp.mat22, ()),
        (wl.quat, wp.quat, ()),
        (wl.transform, wp.transform, ()),
        (wl.Array(int, 5), wp.int32, (5,)),
        (wl.Array(wl.vec2, 2, 3), wp.vec2, (2, 3)),
        (wl.Array(bool, 2, 3, 4), wp.bool, (2, 3, 4)),
        (wl.Reward, wp.float32, ()),
        (wl.Finite(float), wp.float32, ()),
        (wl.Persistent(int), wp.int32, ()),
        (wl.Observation(), wp.float32, ()),
        (wl.Observation(3), wp.vec3, ()),
        (wl.Observation(VECTOR_LIMIT + 1), wp.float32, (VECTOR_LIMIT + 1,)),
        (wl.Observation(3, 4), wp.float32, (3, 4)),
        (wl.Observation(2, dtype=wl.uint8), wl.vec(2, wl.uint8), ()),
        (wl.Action(wl.Discrete(4)), wp.int32, ()),
        (wl.Action(wl.MultiDiscrete(2, 3)), wp.vec2i, ()),
        (wl.Action(wl.Box(-1.0, 1.0)), wp.float32, ()),
        (wl.Action(wl.Box(-1.0, 1.0, shape=(3,))), wp.vec3, ()),
    ],
)
def test_annotations(annotation: object, dtype: type, shape: tuple[int, ...]) -> None:
    made = field(annotation)
    assert made.dtype is dtype
    assert made.shape == shape
    assert made.value_shape == shape + shape_of(dtype)
    assert made.is_array == bool(shape)


def test_roles_and_marks() -> None:
    assert field(float).role is Role.STATE
    assert field(wl.Reward).role is Role.REWARD
    assert field(wl.Observation(2)).role is Role.OBSERVATION
    assert field(wl.Action(wl.Discrete(2))).space == wl.Discrete(2)
    assert field(wl.Config, 2.0).role is Role.CONFIG
    assert field(wl.Finite(wl.vec2)).finite and not field(wl.vec2).finite
    assert field(wl.Persistent(wl.Finite(float))).keep and field(wl.Persistent(wl.Finite(float))).finite
    assert field(wl.Ref("Ball")).ref == "Ball"
    assert (field(wl.Observation(2, low=-1.0, high=3.0)).low, field(wl.Observation(2, low=-1.0, high=3.0)).high) == (
        -1.0,
        3.0,
    )


def test_configurations_take_the_type_of_their_default() -> None:
    assert field(wl.Config, 2.0).dtype is wp.float32
    assert field(wl.Config, 2).dtype is wp.int32
    assert field(wl.Config, True).dtype is wp.bool
    assert field(wl.Config, wl.vec2(1.0, 2.0)).dtype is wp.vec2


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (bool, True),
        (int, -5),
        (int, 2**31 - 1),
        (float, 3),
        (float, 0.5),
        (float, math.inf),
        (wl.uint8, 255),
        (wl.vec2, (1.0, 2.0)),
        (wl.vec2, 3.0),
        (wl.mat22, ((1, 2), (3, 4))),
    ],
)
def test_values_that_fit(dtype: type, value: object) -> None:
    made = check_value("thing", canonical(dtype), value)
    assert np.array_equal(made, np.asarray(value))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (bool, 2),
        (bool, 0.5),
        (int, 0.5),
        (int, 2**31),
        (wl.uint8, 300),
        (wl.uint8, -1),
        (float, "fast"),
        (float, (1.0, 2.0)),
        (wl.vec2, (1.0, 2.0, 3.0)),
        (int, None),
    ],
)
def test_values_that_do_not_fit(dtype: type, value: object) -> None:
    with pytest.raises(ValueError, match="'thing' is of type"):
        check_value("thing", canonical(dtype), value)


def test_one_object_per_type() -> None:
    assert wl.vec(3) is wp.vec3
    assert wl.vec(5) is wl.vec(5, float)
    assert canonical(wp.types.vector(length=7, dtype=wp.int32)) is wl.vec(7, int)
    assert canonical(str) is None and canonical("float") is None
    assert scalar_of(wl.vec4i) is wp.int32 and scalar_of(wp.uint8) is wp.uint8


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (wp.float32, "float"),
        (wp.int32, "int"),
        (wp.bool, "bool"),
        (wp.uint8, "uint8"),
        (wp.float64, "float64"),
        (wp.vec3, "vec3"),
        (wp.vec2i, "vec2i"),
        (wp.mat33, "mat33"),
        (wp.quat, "quat"),
    ],
)
def test_names_in_messages(dtype: type, name: str) -> None:
    assert type_name(dtype) == name


def test_spaces_refuse_what_makes_no_sense() -> None:
    for wrong in (
        lambda: wl.Discrete(0),
        lambda: wl.Discrete(2.5),
        lambda: wl.MultiDiscrete(),
        lambda: wl.MultiDiscrete(2, 0),
        lambda: wl.Box(1.0, 1.0),
        lambda: wl.Box((0.0, 1.0), (1.0, 1.0), (2,)),
        lambda: wl.Box((0.0, 1.0), (1.0, 2.0), (3,)),
        lambda: wl.Box((0.0, 1.0), 2.0),
        lambda: wl.Box(shape=(0,)),
    ):
        with pytest.raises((ValueError, wl.WorldloomError), match=r"needs|takes"):
            wrong()
