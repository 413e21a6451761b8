"""Types of components: scalars, vectors, matrices, quaternions and transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base.warp_private import composite_scalar, composite_shape, composite_type_name
from worldloom.core.base.warp_private import is_composite as is_composite

SCALARS: dict[type, Any] = {
    wp.bool: np.bool_,
    wp.int8: np.int8,
    wp.uint8: np.uint8,
    wp.int16: np.int16,
    wp.uint16: np.uint16,
    wp.int32: np.int32,
    wp.uint32: np.uint32,
    wp.int64: np.int64,
    wp.uint64: np.uint64,
    wp.float16: np.float16,
    wp.float32: np.float32,
    wp.float64: np.float64,
}
"""The scalar types of components, with the NumPy type of each."""

FLOATS = (wp.float16, wp.float32, wp.float64)
PYTHON_SCALARS = {bool: wp.bool, int: wp.int32, float: wp.float32}
"""The component types of Python's number types."""

_TypeKey = tuple[str, tuple[int, ...], str]
_CANONICAL: dict[_TypeKey, Any] = {}


def scalar_of(dtype: Any) -> Any:
    """The scalar type of a component type: ``vec3f`` gives ``float32``, ``int32`` gives itself."""
    return composite_scalar(dtype) if is_composite(dtype) else dtype


def shape_of(dtype: Any) -> tuple[int, ...]:
    """The shape of one value of a component type: ``vec3f`` gives ``(3,)``, a scalar ``()``."""
    return composite_shape(dtype) if is_composite(dtype) else ()


def vec(length: int, dtype: Any = wp.float32) -> Any:
    """The vector type of ``length`` numbers. Equal arguments give the same object."""
    return canonical(wp.types.vector(length=length, dtype=PYTHON_SCALARS.get(dtype, dtype)))


def canonical(dtype: Any) -> Any:
    """One object per component type, so that types compare with ``is``; None where ``dtype`` is no component type."""
    dtype = PYTHON_SCALARS.get(dtype, dtype) if isinstance(dtype, type) else dtype
    if isinstance(dtype, type) and dtype in SCALARS:
        return dtype
    if not is_composite(dtype):
        return None
    if not _CANONICAL:
        for named in _named_types():
            _CANONICAL.setdefault(_key(named), named)
    return _CANONICAL.setdefault(_key(dtype), dtype)


def _key(dtype: Any) -> _TypeKey:
    return composite_type_name(dtype), shape_of(dtype), scalar_of(dtype).__name__


def _named_types() -> list[Any]:
    """The composite types that Warp exports, such as ``wp.vec3f``."""
    names = [name for name in dir(wp) if name[:3] in ("vec", "mat", "qua", "tra", "spa")]
    return [dtype for name in names if is_composite(dtype := getattr(wp, name))]


def narrowed(dtype: Any) -> Any:
    """The type with 32 instead of 64 bits per real number; other types unchanged."""
    if scalar_of(dtype) is not wp.float64:
        return dtype
    if not is_composite(dtype):
        return wp.float32
    if composite_type_name(dtype).startswith("quat"):
        return canonical(wp.types.quaternion(dtype=wp.float32))
    return with_scalar(dtype, wp.float32)


def with_scalar(dtype: Any, scalar: Any) -> Any:
    """The vector or matrix type of the same shape with another scalar type."""
    shape = shape_of(dtype)
    if len(shape) == 1:
        return vec(shape[0], scalar)
    return canonical(wp.types.matrix(shape=shape, dtype=scalar))


def type_name(dtype: Any) -> str:
    """The name of a component type in messages: ``float``, ``int64``, ``vec3``."""
    if dtype is wp.float32:
        return "float"
    if dtype is wp.int32:
        return "int"
    if dtype is wp.bool:
        return "bool"
    if is_composite(dtype) and dtype.__name__.endswith("_t"):
        return f"vec{shape_of(dtype)[0]} of {type_name(scalar_of(dtype))}"
    name = getattr(dtype, "__name__", str(dtype))
    return name[:-1] if is_composite(dtype) and name.endswith("f") else name
