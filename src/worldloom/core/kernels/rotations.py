"""Rotation matrices with fewer instructions of a GPU.

Warp rotates the three unit vectors. Compilers keep the products with their zeros, whose results are NaN for infinite
numbers. A CPU and exact mode compute Warp's version, whose bits interpreted systems have too.
"""

from __future__ import annotations

import warp as wp

from worldloom.core.model.dtypes import canonical

SNIPPET = """
#if defined(__CUDA_ARCH__)
    const float c = 2.0f * q.w * q.w - 1.0f;
    const float x = q.x + q.x, y = q.y + q.y, z = q.z + q.z;
    return wp::mat_t<3, 3, wp::float32>(
        c + q.x * x, q.x * y - z * q.w, q.x * z + y * q.w,
        q.x * y + z * q.w, c + q.y * y, q.y * z - x * q.w,
        q.x * z - y * q.w, q.y * z + x * q.w, c + q.z * z);
#else
    return wp::quat_to_matrix(q);
#endif
"""


@wp.func_native(snippet=SNIPPET)
def rotation_matrix(q: wp.quatf) -> wp.mat33f:  # type: ignore[empty-body]
    """The rotation matrix of a quaternion."""


SHORT = {("quat_to_matrix", (canonical(wp.quatf),)): "wl_rotation_matrix"}
"""Functions of Warp, by name and types of arguments, and what compiled systems call in their place."""

SPACE = {"wl_rotation_matrix": rotation_matrix}
"""These functions by their names in generated code."""
