# mypy: ignore-errors
"""Kernels of what MuJoCo Warp computes only when it allocates its arrays: the frame of the world, and static geoms."""

from __future__ import annotations

import warp as wp


@wp.func
def _rotated(quat: wp.vec4, vector: wp.vec3):
    """``vector`` rotated by a quaternion w, x, y, z."""
    axis = wp.vec3(quat[1], quat[2], quat[3])
    twice = 2.0 * wp.cross(axis, vector)
    return vector + quat[0] * twice + wp.cross(axis, twice)


@wp.func
def _product(a: wp.vec4, b: wp.vec4):
    """The product of two quaternions w, x, y, z."""
    return wp.vec4(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@wp.func
def _components(quat: wp.quat):
    """The numbers of a quaternion of MuJoCo Warp: w, x, y, z."""
    return wp.vec4(quat[0], quat[1], quat[2], quat[3])


@wp.kernel(enable_backward=False)
def set_world_frame(
    # outputs
    xquat: wp.array2d(dtype=wp.quat),
):  # fmt: skip
    """Set the orientation of body 0; thread (world)."""
    xquat[wp.tid(), 0] = wp.quat(1.0, 0.0, 0.0, 0.0)


@wp.kernel(enable_backward=False)
def place_static_geoms(
    geoms: wp.array(dtype=wp.int32), geom_bodyid: wp.array(dtype=int), body_parentid: wp.array(dtype=int),
    geom_pos: wp.array2d(dtype=wp.vec3), geom_quat: wp.array2d(dtype=wp.quat), body_pos: wp.array2d(dtype=wp.vec3),
    body_quat: wp.array2d(dtype=wp.quat),
    # outputs
    geom_xpos: wp.array2d(dtype=wp.vec3), geom_xmat: wp.array2d(dtype=wp.mat33),
):  # fmt: skip
    """Poses of geoms of bodies without joints up to the world; thread (world, index in ``geoms``)."""
    world, index = wp.tid()
    geom = geoms[index]
    position = geom_pos[world % geom_pos.shape[0], geom]
    quat = _components(geom_quat[world % geom_quat.shape[0], geom])
    body = geom_bodyid[geom]
    while body > 0:
        turn = wp.normalize(_components(body_quat[world % body_quat.shape[0], body]))
        position = body_pos[world % body_pos.shape[0], body] + _rotated(turn, position)
        quat = _product(turn, quat)
        body = body_parentid[body]
    geom_xpos[world, geom] = position
    x, y, z = (
        _rotated(quat, wp.vec3(1.0, 0.0, 0.0)),
        _rotated(quat, wp.vec3(0.0, 1.0, 0.0)),
        _rotated(quat, wp.vec3(0.0, 0.0, 1.0)),
    )
    geom_xmat[world, geom] = wp.matrix_from_cols(x, y, z)
