"""Which function a name stands for, given the types of its arguments: resolved once per call site, then called directly."""

from __future__ import annotations

import functools
from typing import Any

from worldloom.core.arithmetic import matrices
from worldloom.core.arithmetic.matrices import Matrix
from worldloom.core.arithmetic.rotations import Quaternion, Transform
from worldloom.core.arithmetic.scalars import Function, numbers
from worldloom.core.arithmetic.values import interpreted
from worldloom.core.arithmetic.vectors import Elementwise, Vector, all_of, any_of
from worldloom.core.model.fields import canonical, is_composite, scalar_of, shape_of, vec

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
    """The function ``name`` of arguments of ``types``, which gives a ``result``; all are component types. KeyError where there is none."""
    families = tuple(_family(t) for t in types)
    if not types or (name.endswith("_identity")):
        scalar = scalar_of(result)
        found = Quaternion(scalar).identity() if name == "quat_identity" else Transform(scalar).identity()
        return lambda *_: found
    if all(f == "scalar" for f in families):
        return Quaternion(types[0]).from_angles() if name == "quat_rpy" else numbers(types[0])[name]
    first, scalar = types[0], scalar_of(types[0])
    if name in ("isnan", "isinf", "isfinite"):
        return (all_of if name == "isfinite" else any_of)(numbers(scalar)[name])
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
        found: Function = getattr(of, name)()
        return found
    if name in ("min", "max"):
        return of.extreme(name)
    if name in ("argmin", "argmax"):
        return of.place(name)
    made: Function = {"diag": matrices.diagonal, "outer": matrices.outer, "skew": matrices.skew}[name](result)
    return made


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
        made: Function = getattr(of, name)(result)
        return made
    found: Function = {"ddot": of.ddot, "trace": of.trace, "determinant": of.determinant, "inverse": of.inverse}[name]()
    return found


def _moved_by_matrix(of: Matrix, is_point: bool, result: Any) -> Function:
    """A point or a direction, moved by a matrix of 4 x 4 numbers."""
    last, made = (of.of.one if is_point else of.of.zero), interpreted(result)
    mul = of.times_vector(vec(4, scalar_of(result)))
    return lambda m, v: made(mul(m, (*v, last))[:3])


def _of_quaternions(name: str, scalar: Any, first: Any) -> Function:
    of = Quaternion(scalar)
    if name == "quat_from_matrix":
        return of.from_matrix(shape_of(first)[1])
    if name in ("quat_rotate", "quat_rotate_inv"):
        return of.rotate(back=name == "quat_rotate_inv")
    found: Function = {
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
    return found


def _of_transforms(name: str, scalar: Any) -> Function:
    of = Transform(scalar)
    found: Function = {
        "mul": of.multiply,
        "transform_multiply": of.multiply,
        "transform_inverse": of.inverse,
        "transform_get_translation": of.translation,
        "transform_get_rotation": of.rotation,
        "transform_point": of.point,
        "transform_vector": of.vector,
    }[name]()
    return found
