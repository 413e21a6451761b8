# mypy: ignore-errors
"""Conversion of numbers of MuJoCo Warp to float64."""

from __future__ import annotations

import warp as wp


@wp.func
def widened(vector: wp.vec3) -> wp.vec3d:
    """A vector in float64."""
    return wp.vec3d(wp.float64(vector[0]), wp.float64(vector[1]), wp.float64(vector[2]))
