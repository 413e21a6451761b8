"""Boxes and wedges as formulas: vertices, faces, edges and supports computed from the size, without tables in memory.

Vertex i of a box has the signs of the bits of i. Vertices of a wedge: 0 and 1 at the low edge, 2 and 3 at the foot of
the vertical face, 4 and 5 at the top edge. Frames are those of the body. A *place* is the rotation matrix and the
position of a body.
"""

import worldloom as wl
from worldloom.physics.geometry.closest import closest_on_segments, nearer_points
from worldloom.physics.geometry.closest_boxes import box_axis
from worldloom.physics.geometry.separating_axis import PARALLEL_SQ
from worldloom.physics.shapes import WEDGE, pack_face

BOX_NEGATIVE_X, BOX_POSITIVE_X = pack_face(0, 4, 6, 2), pack_face(1, 3, 7, 5)
BOX_NEGATIVE_Y, BOX_POSITIVE_Y = pack_face(0, 1, 5, 4), pack_face(2, 6, 7, 3)
BOX_NEGATIVE_Z, BOX_POSITIVE_Z = pack_face(0, 2, 3, 1), pack_face(4, 5, 7, 6)
WEDGE_BOTTOM, WEDGE_BACK, WEDGE_SLOPE = pack_face(0, 2, 3, 1), pack_face(2, 4, 5, 3), pack_face(0, 1, 5, 4)
WEDGE_LEFT, WEDGE_RIGHT = pack_face(0, 4, 2), pack_face(1, 3, 5)


@wl.function
def solid_vertex(shape: int, size: wl.vec3, i: int) -> wl.vec3:
    """Vertex ``i`` of a box or a wedge."""
    x = size.x if (i & 1) != 0 else -size.x
    if shape == WEDGE:
        y = size.y * (2.0 / 3.0) if i >= 2 else size.y * (-4.0 / 3.0)
        z = size.z * (4.0 / 3.0) if i >= 4 else size.z * (-2.0 / 3.0)
        return wl.vec3(x, y, z)
    return wl.vec3(x, size.y if (i & 2) != 0 else -size.y, size.z if (i & 4) != 0 else -size.z)


@wl.function
def num_vertices(shape: int) -> int:
    """Vertices of a box or a wedge."""
    return 6 if shape == WEDGE else 8


@wl.function
def num_faces(shape: int) -> int:
    """Faces of a box or a wedge."""
    return 5 if shape == WEDGE else 6


@wl.function
def num_edges(shape: int) -> int:
    """Edge directions of a box or a wedge."""
    return 4 if shape == WEDGE else 3


@wl.function
def solid_face(shape: int, f: int) -> int:
    """The vertices of face ``f``, counter-clockwise seen from outside, packed as in ``shapes``."""
    if shape == WEDGE:
        if f < 2:
            return WEDGE_BOTTOM if f == 0 else WEDGE_BACK
        if f == 2:
            return WEDGE_SLOPE
        return WEDGE_LEFT if f == 3 else WEDGE_RIGHT
    if f < 2:
        return BOX_NEGATIVE_X if f == 0 else BOX_POSITIVE_X
    if f < 4:
        return BOX_NEGATIVE_Y if f == 2 else BOX_POSITIVE_Y
    return BOX_NEGATIVE_Z if f == 4 else BOX_POSITIVE_Z


@wl.function
def solid_normal(shape: int, size: wl.vec3, f: int) -> wl.vec3:
    """The outward unit normal of face ``f``."""
    if shape == WEDGE:
        if f == 0:
            return wl.vec3(0.0, 0.0, -1.0)
        if f == 1:
            return wl.vec3(0.0, 1.0, 0.0)
        if f == 2:
            return wl.normalize(wl.vec3(0.0, -size.z, size.y))
        return wl.vec3(-1.0 if f == 3 else 1.0, 0.0, 0.0)
    side = -1.0 if (f & 1) == 0 else 1.0
    if f < 2:
        return wl.vec3(side, 0.0, 0.0)
    if f < 4:
        return wl.vec3(0.0, side, 0.0)
    return wl.vec3(0.0, 0.0, side)


@wl.function
def solid_edge(shape: int, size: wl.vec3, axes: wl.mat33, e: int) -> wl.vec3:
    """Edge direction ``e``, of unit length, in world axes: the axes of the body, and along the slope of a wedge."""
    if e < 3:
        return box_axis(axes, e)
    return axes * wl.normalize(wl.vec3(0.0, size.y, size.z))


@wl.function
def solid_reach(shape: int, size: wl.vec3, direction: wl.vec3) -> float:
    """The largest projection of a point of the solid on a direction."""
    if shape == WEDGE:
        low = size.y * direction.y * (-4.0 / 3.0) + size.z * direction.z * (-2.0 / 3.0)
        foot = size.y * direction.y * (2.0 / 3.0) + size.z * direction.z * (-2.0 / 3.0)
        top = size.y * direction.y * (2.0 / 3.0) + size.z * direction.z * (4.0 / 3.0)
        return size.x * abs(direction.x) + max(low, foot, top)
    return size.x * abs(direction.x) + size.y * abs(direction.y) + size.z * abs(direction.z)


@wl.function
def face_towards(shape: int, size: wl.vec3, direction: wl.vec3) -> int:
    """The face whose normal is most along a direction, the first of equals."""
    best = -2.0
    chosen = 0
    for f in range(num_faces(shape)):
        along = wl.dot(solid_normal(shape, size, f), direction)
        if along > best + 1e-6:
            best = along
            chosen = f
    return chosen


@wl.function
def face_corner(shape: int, size: wl.vec3, face: int, i: int) -> wl.vec3:
    """Vertex ``i`` of a packed face."""
    return solid_vertex(shape, size, (face >> (3 * i)) & 7)


@wl.function
def supporting_edge_of_solid(shape: int, size: wl.vec3, axes: wl.mat33, position: wl.vec3, direction: wl.vec3):
    """The two vertices farthest along a direction: (first, second), in world axes."""
    local = wl.transpose(axes) * direction
    first, second = -1.0e30, -1.0e30
    first_point, second_point = wl.vec3(0.0, 0.0, 0.0), wl.vec3(0.0, 0.0, 0.0)
    for i in range(num_vertices(shape)):
        point = solid_vertex(shape, size, i)
        along = wl.dot(point, local)
        if along > first:
            second, second_point = first, first_point
            first, first_point = along, point
        elif along > second:
            second, second_point = along, point
    return position + axes * first_point, position + axes * second_point


@wl.function
def nearer_on_segment(p: wl.vec2, a: wl.vec2, b: wl.vec2, best: wl.vec2) -> wl.vec2:
    """The nearer to ``p`` of a point ``best`` and the segment a b."""
    along = b - a
    point = a + along * wl.clamp(wl.dot(p - a, along) / max(wl.dot(along, along), 1.0e-12), 0.0, 1.0)
    return point if wl.length_sq(point - p) < wl.length_sq(best - p) else best


@wl.function
def closest_on_solid(point: wl.vec3, shape: int, size: wl.vec3, axes: wl.mat33, position: wl.vec3) -> wl.vec3:
    """The point of a box or a wedge that is closest to a point."""
    local = wl.transpose(axes) * (point - position)
    if shape != WEDGE:
        return position + axes * wl.max(-size, wl.min(local, size))
    low = wl.vec2(size.y * (-4.0 / 3.0), size.z * (-2.0 / 3.0))
    foot = wl.vec2(size.y * (2.0 / 3.0), size.z * (-2.0 / 3.0))
    top = wl.vec2(size.y * (2.0 / 3.0), size.z * (4.0 / 3.0))
    p = wl.vec2(local.y, local.z)
    below = size.y * (p.y - low.y) <= size.z * (p.x - low.x)
    if not (below and p.x <= foot.x and p.y >= foot.y):
        best = nearer_on_segment(p, low, foot, low)
        best = nearer_on_segment(p, foot, top, best)
        p = nearer_on_segment(p, top, low, best)
    return position + axes * wl.vec3(wl.clamp(local.x, -size.x, size.x), p.x, p.y)


@wl.function
def closest_of_solids(
    a_shape: int, a: wl.vec3, a_axes: wl.mat33, b_shape: int, b: wl.vec3, b_axes: wl.mat33, offset: wl.vec3
):
    """Closest points of two solids that do not touch, A at the origin and B at ``offset``: on A, on B.

    The pair is a vertex with a solid, or two edges that are farthest along the product of their directions.
    """
    origin = wl.vec3(0.0, 0.0, 0.0)
    best_a = origin
    best_b = offset
    best = 1.0e30
    for i in range(num_vertices(a_shape)):
        corner = a_axes * solid_vertex(a_shape, a, i)
        surface = closest_on_solid(corner, b_shape, b, b_axes, offset)
        best_a, best_b, best = nearer_points(corner, surface, best_a, best_b, best)
    for i in range(num_vertices(b_shape)):
        corner = offset + b_axes * solid_vertex(b_shape, b, i)
        surface = closest_on_solid(corner, a_shape, a, a_axes, origin)
        best_a, best_b, best = nearer_points(surface, corner, best_a, best_b, best)
    for i in range(num_edges(a_shape)):
        for j in range(num_edges(b_shape)):
            axis = wl.cross(solid_edge(a_shape, a, a_axes, i), solid_edge(b_shape, b, b_axes, j))
            if wl.length_sq(axis) > PARALLEL_SQ:
                if wl.dot(axis, offset) < 0.0:
                    axis = -axis
                p, q = supporting_edge_of_solid(a_shape, a, a_axes, origin, axis)
                r, s = supporting_edge_of_solid(b_shape, b, b_axes, offset, -axis)
                on_a, on_b = closest_on_segments(p, q, r, s)
                best_a, best_b, best = nearer_points(on_a, on_b, best_a, best_b, best)
    return best_a, best_b
