"""Closest points of two boxes that do not touch.

A box is its half extents and its axes, the columns of a rotation matrix.
"""

import worldloom as wl
from worldloom.physics.geometry.closest import closest_on_segments, nearer_points
from worldloom.physics.geometry.separating_axis import PARALLEL_SQ


@wl.function
def box_axis(axes: wl.mat33, i: int) -> wl.vec3:
    """Column ``i`` of a matrix."""
    if i == 0:
        return wl.vec3(axes[0, 0], axes[1, 0], axes[2, 0])
    if i == 1:
        return wl.vec3(axes[0, 1], axes[1, 1], axes[2, 1])
    return wl.vec3(axes[0, 2], axes[1, 2], axes[2, 2])


@wl.function
def component(v: wl.vec3, i: int) -> float:
    """Component ``i`` of a vector; a choice of registers, where an index would need memory."""
    if i == 0:
        return v.x
    return v.y if i == 1 else v.z


@wl.function
def supporting_edge_of_box(size: wl.vec3, axes: wl.mat33, position: wl.vec3, edge: int, direction: wl.vec3):
    """The edge of a box parallel to axis ``edge`` that is farthest along a direction: (start, end)."""
    along = wl.transpose(axes) * direction
    corner = wl.vec3(
        -size.x if along.x < 0.0 else size.x, -size.y if along.y < 0.0 else size.y, -size.z if along.z < 0.0 else size.z
    )
    half = box_axis(axes, edge) * component(corner, edge)
    end = position + axes * corner
    return end - half * 2.0, end


@wl.function
def closest_on_box(point: wl.vec3, size: wl.vec3, axes: wl.mat33, position: wl.vec3) -> wl.vec3:
    """The point of a box that is closest to a point."""
    local = wl.transpose(axes) * (point - position)
    return position + axes * wl.max(-size, wl.min(local, size))


@wl.function
def box_corner(size: wl.vec3, axes: wl.mat33, position: wl.vec3, i: int) -> wl.vec3:
    """Corner ``i`` of a box, 0 to 7."""
    return position + axes * wl.vec3(
        size.x if (i & 1) != 0 else -size.x, size.y if (i & 2) != 0 else -size.y, size.z if (i & 4) != 0 else -size.z
    )


@wl.function
def closest_of_boxes(a: wl.vec3, a_axes: wl.mat33, b: wl.vec3, b_axes: wl.mat33, offset: wl.vec3):
    """Closest points of two boxes of half extents ``a`` and ``b``, A at the origin and B at ``offset``: on A, on B.

    The pair is a corner with a box, or two edges that are farthest along the product of their directions.
    """
    origin = wl.vec3(0.0, 0.0, 0.0)
    best_a = origin
    best_b = offset
    best = 1.0e30
    for i in range(8):
        corner = box_corner(a, a_axes, origin, i)
        surface = closest_on_box(corner, b, b_axes, offset)
        best_a, best_b, best = nearer_points(corner, surface, best_a, best_b, best)
    for i in range(8):
        corner = box_corner(b, b_axes, offset, i)
        surface = closest_on_box(corner, a, a_axes, origin)
        best_a, best_b, best = nearer_points(surface, corner, best_a, best_b, best)
    for i in range(3):
        for j in range(3):
            axis = wl.cross(box_axis(a_axes, i), box_axis(b_axes, j))
            if wl.length_sq(axis) > PARALLEL_SQ:
                if wl.dot(axis, offset) < 0.0:
                    axis = -axis
                p, q = supporting_edge_of_box(a, a_axes, origin, i, axis)
                r, s = supporting_edge_of_box(b, b_axes, offset, j, -axis)
                on_a, on_b = closest_on_segments(p, q, r, s)
                best_a, best_b, best = nearer_points(on_a, on_b, best_a, best_b, best)
    return best_a, best_b
