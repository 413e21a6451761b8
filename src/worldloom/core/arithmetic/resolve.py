"""Overload resolution: the function for a name and argument types, found once per call site."""

from __future__ import annotations

import functools
from typing import Any

from worldloom.core.arithmetic import matrices
from worldloom.core.arithmetic.matrices import Matrix
from worldloom.core.arithmetic.rotations import Quaternion, Transform
from worldloom.core.arithmetic.scalars import Function, scalar_math
from worldloom.core.arithmetic.values import interpreted
from worldloom.core.arithmetic.vectors import Elementwise, Vector, all_of, any_of
from worldloom.core.model.dtypes import canonical, is_composite, scalar_of, shape_of, vec

_ELEMENTWISE = ("add", "sub", "neg", "cw_mul", "cw_div", "abs", "sign", "lerp")
_BY_ONE_NUMBER = ("mul", "div", "outer")


def _family(dtype: Any) -> str:
    """``scalar``, ``vector``, ``matrix``, ``quaternion`` or ``transform``."""
    if not is_composite(dtype):
        return "scalar"
    if len(shape_of(dtype)) == 2:
        return "matrix"
    name = canonical(dtype).__name__
    return "quaternion" if name.startswith("quat") else "transform" if name.startswith("transform") else "vector"


@functools.cache
def resolve(name: str, types: tuple[Any, ...], result: Any) -> Function:
    """The function ``name`` for arguments of ``types``, which returns a ``result``; KeyError where there is none.

    All types are component types.
    """
    families = tuple(_family(t) for t in types)
    if not types or (name.endswith("_identity")):
        scalar = scalar_of(result)
        identity = Quaternion(scalar).identity() if name == "quat_identity" else Transform(scalar).identity()
        return lambda *_: identity
    if all(f == "scalar" for f in families):
        return Quaternion(types[0]).from_angles() if name == "quat_rpy" else scalar_math(types[0])[name]
    first, scalar = types[0], scalar_of(types[0])
    if name in ("isnan", "isinf", "isfinite"):
        return (all_of if name == "isfinite" else any_of)(scalar_math(scalar)[name])
    if name in _BY_ONE_NUMBER and "scalar" in families:
        operation = "mul" if name == "outer" else name
        return Elementwise(result).build(f"scalar_{operation}" if families[0] == "scalar" else f"{operation}_scalar")
    if name in _ELEMENTWISE or (name in ("min", "max") and len(types) == 2):
        return Elementwise(first).build(name)
    if name.startswith("quat_") or (
        families[0] == "quaternion" and name in ("dot", "length", "length_sq", "normalize", "mul")
    ):
        return _of_quaternions(name, scalar, first)
    if families[0] == "transform":
        return _of_transforms(name, scalar)
    if families[0] == "matrix" or (name == "mul" and families[1] == "matrix"):
        return _of_matrices(name, types, result)
    return _of_vectors(name, first, result)


def _of_vectors(name: str, dtype: Any, result: Any) -> Function:
    of = Vector(dtype)
    if name in ("dot", "length", "length_sq", "normalize", "cross"):
        function: Function = getattr(of, name)()
        return function
    if name in ("min", "max"):
        return of.extreme(name)
    if name in ("argmin", "argmax"):
        return of.arg_extreme(name)
    constructor: Function = {"diag": matrices.diagonal, "outer": matrices.outer, "skew": matrices.skew}[name](result)
    return constructor


def _of_matrices(name: str, types: tuple[Any, ...], result: Any) -> Function:
    first, *others = types
    if _family(first) == "vector":
        return Matrix(others[0]).vector_times(result)
    of = Matrix(first)
    if name == "mul":
        return of.times_matrix(others[0], result) if _family(others[0]) == "matrix" else of.times_vector(result)
    if name in ("transform_point", "transform_vector"):
        return _moved_by_matrix(of, name == "transform_point", result)
    if name in ("transpose", "get_diag"):
        transposed: Function = getattr(of, name)(result)
        return transposed
    function: Function = {"ddot": of.ddot, "trace": of.trace, "determinant": of.determinant, "inverse": of.inverse}[
        name
    ]()
    return function


def _moved_by_matrix(of: Matrix, is_point: bool, result: Any) -> Function:
    """A point or a direction, transformed by a 4 x 4 matrix."""
    last, create = (of.of.one if is_point else of.of.zero), interpreted(result)
    mul = of.times_vector(vec(4, scalar_of(result)))
    return lambda m, v: create(mul(m, (*v, last))[:3])


def _of_quaternions(name: str, scalar: Any, first: Any) -> Function:
    of = Quaternion(scalar)
    if name == "quat_from_matrix":
        return of.from_matrix(shape_of(first)[1])
    if name in ("quat_rotate", "quat_rotate_inv"):
        return of.rotate(back=name == "quat_rotate_inv")
    function: Function = {
        "dot": of.dot,
        "length": of.length,
        "length_sq": of.length_sq,
        "normalize": of.normalize,
        "mul": of.multiply,
        "quat_inverse": of.inverse,
        "quat_from_axis_angle": of.from_axis_angle,
        "quat_slerp": of.slerp,
        "quat_to_matrix": of.to_matrix,
    }[name]()
    return function


def _of_transforms(name: str, scalar: Any) -> Function:
    of = Transform(scalar)
    function: Function = {
        "mul": of.multiply,
        "transform_multiply": of.multiply,
        "transform_inverse": of.inverse,
        "transform_get_translation": of.translation,
        "transform_get_rotation": of.rotation,
        "transform_point": of.point,
        "transform_vector": of.vector,
    }[name]()
    return function
