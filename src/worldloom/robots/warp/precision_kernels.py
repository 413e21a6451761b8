# mypy: ignore-errors
"""Conversion of numbers of MuJoCo Warp to float64, and frames of refined contacts."""

from __future__ import annotations

import warp as wp


@wp.func
def widened(vector: wp.vec3) -> wp.vec3d:
    """A vector in float64."""
    return wp.vec3d(wp.float64(vector[0]), wp.float64(vector[1]), wp.float64(vector[2]))


@wp.func
def frame_of(normal: wp.vec3) -> wp.mat33:
    """Normal and tangents as MuJoCo's ``mju_makeFrame`` chooses them."""
    tangent = wp.vec3(0.0, 1.0, 0.0)
    if wp.abs(normal[1]) >= 0.5:
        tangent = wp.vec3(0.0, 0.0, 1.0)
    tangent = wp.normalize(tangent - normal * wp.dot(normal, tangent))
    return wp.matrix_from_rows(normal, tangent, wp.cross(normal, tangent))
