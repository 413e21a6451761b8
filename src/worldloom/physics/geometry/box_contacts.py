"""Contacts of boxes in closed form: a box with a plane, and two boxes.

A box is its half extents and its axes, the columns of a rotation matrix. Manifolds are those of ``manifolds``.
"""

import worldloom as wl
from worldloom.core.kernels.quotients import fast_quotient
from worldloom.physics.geometry.clipping import Points, points_of
from worldloom.physics.geometry.closest import closest_on_segments
from worldloom.physics.geometry.closest_boxes import box_axis, closest_of_boxes, component, supporting_edge_of_box
from worldloom.physics.geometry.quads import Incident, Reference, clip_quads, face_manifold, reduce_candidates
from worldloom.physics.geometry.separating_axis import EDGE_ABSOLUTE, EDGE_RELATIVE, PARALLEL_SQ


@wl.function
def sign_of(x: float) -> float:
    """-1 for negative numbers, else 1."""
    return -1.0 if x < 0.0 else 1.0


@wl.function
def largest_axis(x: float, y: float, z: float) -> int:
    """The index of the number of the largest size, the first of equals."""
    chosen = 0
    best = abs(x) + 1e-6
    if abs(y) > best:
        chosen = 1
        best = abs(y) + 1e-6
    if abs(z) > best:
        chosen = 2
    return chosen


@wl.function
def midpoint(first: wl.vec3, second: wl.vec3, normal: wl.vec3, margin: float):
    """A manifold of one pair of surface points: (points, separations, number)."""
    origin = wl.vec3(0.0, 0.0, 0.0)
    gap = wl.dot(second - first, normal)
    return (
        points_of((first + second) * 0.5, origin, origin, origin),
        wl.vec4(gap, 0.0, 0.0, 0.0),
        1 if gap < margin else 0,
    )


@wl.function
def rectangle_on_plane(centre: wl.vec3, p: wl.vec3, q: wl.vec3, normal: wl.vec3, level: float, margin: float):
    """The corners ``centre +- p +- q`` less than ``margin`` above the plane ``normal . x = level``.

    Returns (points midway between corner and plane, heights, number). The order is that of the heights unless all four
    corners are kept.
    """
    height = wl.dot(normal, centre) - level
    p_rise = wl.dot(normal, p)
    q_rise = wl.dot(normal, q)
    if height + abs(p_rise) + abs(q_rise) >= margin:
        if abs(p_rise) < abs(q_rise):
            p, q = q, p
            p_rise, q_rise = q_rise, p_rise
        if p_rise < 0.0:
            p, p_rise = -p, -p_rise
        if q_rise < 0.0:
            q, q_rise = -q, -q_rise
    h0, h1 = height - p_rise - q_rise, height - p_rise + q_rise
    h2, h3 = height + p_rise - q_rise, height + p_rise + q_rise
    count = 0
    if h0 < margin:
        count = 1
        if h1 < margin:
            count = 2
            if h2 < margin:
                count = 3
                if h3 < margin:
                    count = 4
    points = points_of(
        centre - p - q - normal * (0.5 * h0),
        centre - p + q - normal * (0.5 * h1),
        centre + p - q - normal * (0.5 * h2),
        centre + p + q - normal * (0.5 * h3),
    )
    return points, wl.vec4(h0, h1, h2, h3), count


@wl.function
def box_face_towards(size: wl.vec3, axes: wl.mat33, position: wl.vec3, direction: wl.vec3):
    """The face of a box whose outward normal is most along a direction: (centre, half side, other half side)."""
    along = wl.transpose(axes) * direction
    chosen = largest_axis(along.x, along.y, along.z)
    if chosen == 0:
        centre = position + box_axis(axes, 0) * (sign_of(along.x) * size.x)
        return centre, box_axis(axes, 1) * size.y, box_axis(axes, 2) * size.z
    if chosen == 1:
        centre = position + box_axis(axes, 1) * (sign_of(along.y) * size.y)
        return centre, box_axis(axes, 2) * size.z, box_axis(axes, 0) * size.x
    centre = position + box_axis(axes, 2) * (sign_of(along.z) * size.z)
    return centre, box_axis(axes, 0) * size.x, box_axis(axes, 1) * size.y


@wl.function
def plane_box(normal: wl.vec3, size: wl.vec3, axes: wl.mat33, position: wl.vec3, margin: float):
    """A plane through the origin with a box."""
    centre, p, q = box_face_towards(size, axes, position, -normal)
    points, separations, count = rectangle_on_plane(centre, p, q, normal, 0.0, margin)
    return normal, points, separations, count


@wl.function
def clipped_rectangle(centre: wl.vec3, p: wl.vec3, q: wl.vec3, x_limit: float, y_limit: float, margin: float):
    """The rectangle ``centre +- p +- q`` clipped to ``|x| <= x_limit, |y| <= y_limit``, reduced to 4 points."""
    if p.x * q.y - p.y * q.x < 0.0:
        q = -q
    a, b, c, d = centre + p + q, centre - p + q, centre - p - q, centre + p - q
    reference = Reference(x_limit, y_limit, -x_limit, y_limit, -x_limit, -y_limit, x_limit, -y_limit)
    incident = Incident(a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z, d.x, d.y, d.z)
    candidates, found = clip_quads(reference, incident)
    return reduce_candidates(candidates, found, margin)


@wl.function
def box_face_points(
    size: wl.vec3,
    axes: wl.mat33,
    face: int,
    side: float,
    other_size: wl.vec3,
    other_axes: wl.mat33,
    offset: wl.vec3,
    margin: float,
):
    """Points of the other box's opposite face above a face of a box at the origin: (points, separations, number).

    Args:
        size: half extents of the box.
        axes: of the box.
        face: number of the axis that is its normal.
        side: 1 or -1, the direction of the normal.
        other_size: half extents of the other box.
        other_axes: of the other box.
        offset: centre of the other box.
        margin: greatest separation.
    """
    second, third = (face + 1) % 3, (face + 2) % 3
    normal = box_axis(axes, face) * side
    u = box_axis(axes, second)
    v = box_axis(axes, third)
    x_limit, y_limit, level = component(size, second), component(size, third), component(size, face)
    centre, p, q = box_face_towards(other_size, other_axes, offset, -normal)
    local = wl.vec3(wl.dot(centre, u), wl.dot(centre, v), wl.dot(centre, normal) - level)
    local_p = wl.vec3(wl.dot(p, u), wl.dot(p, v), wl.dot(p, normal))
    local_q = wl.vec3(wl.dot(q, u), wl.dot(q, v), wl.dot(q, normal))
    if (
        abs(local.x) + abs(local_p.x) + abs(local_q.x) <= x_limit
        and abs(local.y) + abs(local_p.y) + abs(local_q.y) <= y_limit
    ):
        return rectangle_on_plane(centre, p, q, normal, level, margin)
    points, heights, count = clipped_rectangle(local, local_p, local_q, x_limit, y_limit, margin)
    return face_manifold(points, heights, normal * level, u, v, normal), heights, count


@wl.function
def edge_axis(
    best: float,
    chosen: int,
    number: int,
    t1: float,
    t2: float,
    c1: float,
    c2: float,
    a1: float,
    a2: float,
    b1: float,
    b2: float,
    q1: float,
    q2: float,
):
    """The product of an edge of A and one of B as separating axis, if it separates more than ``best``: (best, chosen).

    Args:
        best: largest separation so far.
        chosen: number of the product that has it.
        number: number of this product.
        t1, t2: centre of B along the two other axes of A.
        c1, c2: the edge of B along the two other axes of A.
        a1, a2: half extents of A along its two other axes.
        b1, b2: half extents of B along its two other axes.
        q1, q2: size of the edge of A along the two other axes of B.
    """
    gap = abs(c1 * t2 - c2 * t1) - a2 * abs(c1) - a1 * abs(c2) - b1 * q2 - b2 * q1
    length_sq = c1 * c1 + c2 * c2
    if length_sq > PARALLEL_SQ and (gap > 0.0 or gap > best):
        gap = fast_quotient(gap, wl.sqrt(length_sq))
        if gap > best:
            return gap, number
    return best, chosen


@wl.function
def deepest_box_edges(t: wl.vec3, c: wl.mat33, q: wl.mat33, a: wl.vec3, b: wl.vec3, least: float):
    """The pair of edges of two boxes that separates more than ``least``, and most: (separation, 3 i + j, or -1).

    Args:
        t: centre of B in the frame of A.
        c: axes of B in the frame of A, as columns.
        q: sizes of the entries of ``c``.
        a: half extents of A.
        b: half extents of B.
        least: a separation.
    """
    best = least
    chosen = -1
    best, chosen = edge_axis(best, chosen, 0, t.y, t.z, c[1, 0], c[2, 0], a.y, a.z, b.y, b.z, q[0, 1], q[0, 2])
    best, chosen = edge_axis(best, chosen, 1, t.y, t.z, c[1, 1], c[2, 1], a.y, a.z, b.z, b.x, q[0, 2], q[0, 0])
    best, chosen = edge_axis(best, chosen, 2, t.y, t.z, c[1, 2], c[2, 2], a.y, a.z, b.x, b.y, q[0, 0], q[0, 1])
    best, chosen = edge_axis(best, chosen, 3, t.z, t.x, c[2, 0], c[0, 0], a.z, a.x, b.y, b.z, q[1, 1], q[1, 2])
    best, chosen = edge_axis(best, chosen, 4, t.z, t.x, c[2, 1], c[0, 1], a.z, a.x, b.z, b.x, q[1, 2], q[1, 0])
    best, chosen = edge_axis(best, chosen, 5, t.z, t.x, c[2, 2], c[0, 2], a.z, a.x, b.x, b.y, q[1, 0], q[1, 1])
    best, chosen = edge_axis(best, chosen, 6, t.x, t.y, c[0, 0], c[1, 0], a.x, a.y, b.y, b.z, q[2, 1], q[2, 2])
    best, chosen = edge_axis(best, chosen, 7, t.x, t.y, c[0, 1], c[1, 1], a.x, a.y, b.z, b.x, q[2, 2], q[2, 0])
    best, chosen = edge_axis(best, chosen, 8, t.x, t.y, c[0, 2], c[1, 2], a.x, a.y, b.x, b.y, q[2, 0], q[2, 1])
    return best, chosen


@wl.function
def largest(x: float, y: float, z: float) -> int:
    """The index of the largest number, the first of equals."""
    if x >= y and x >= z:
        return 0
    return 1 if y >= z else 2


@wl.function
def box_box(a: wl.vec3, a_axes: wl.mat33, b: wl.vec3, b_axes: wl.mat33, offset: wl.vec3, margin: float):
    """Two boxes of half extents ``a`` and ``b``, A at the origin and B at ``offset``.

    The choice between faces and edges is that of ``polytope_polytope``.
    """
    normal = wl.vec3(0.0, 0.0, 1.0)
    points = Points()
    separations = wl.vec4()
    count = 0
    t = wl.transpose(a_axes) * offset
    s = wl.transpose(b_axes) * offset
    c = wl.transpose(a_axes) * b_axes
    q = wl.mat33(
        abs(c[0, 0]), abs(c[0, 1]), abs(c[0, 2]),
        abs(c[1, 0]), abs(c[1, 1]), abs(c[1, 2]),
        abs(c[2, 0]), abs(c[2, 1]), abs(c[2, 2]),
    )  # fmt: skip
    a_gaps = wl.vec3(abs(t.x), abs(t.y), abs(t.z)) - a - q * b
    b_gaps = wl.vec3(abs(s.x), abs(s.y), abs(s.z)) - b - wl.transpose(q) * a
    a_separation = max(a_gaps.x, a_gaps.y, a_gaps.z)
    b_separation = max(b_gaps.x, b_gaps.y, b_gaps.z)
    apart = max(a_separation, b_separation)
    if apart < margin:
        edge_margin = EDGE_RELATIVE * abs(apart) + EDGE_ABSOLUTE
        edge_separation, edges = deepest_box_edges(t, c, q, a, b, apart)
        if edge_separation < margin:
            if edge_separation > apart + edge_margin:
                axis = wl.normalize(wl.cross(box_axis(a_axes, edges // 3), box_axis(b_axes, edges % 3)))
                normal = axis * sign_of(wl.dot(axis, offset))
                origin = wl.vec3(0.0, 0.0, 0.0)
                p_start, p_end = supporting_edge_of_box(a, a_axes, origin, edges // 3, normal)
                q_start, q_end = supporting_edge_of_box(b, b_axes, offset, edges % 3, -normal)
                first, second = closest_on_segments(p_start, p_end, q_start, q_end)
                points, separations, count = midpoint(first, second, normal, margin)
            else:
                on_b = b_separation > a_separation + EDGE_RELATIVE * abs(a_separation) + EDGE_ABSOLUTE
                # One call for both cases: the box with the reference face comes first.
                size, axes, other_size, other_axes, shift = a, a_axes, b, b_axes, offset
                gaps, along, origin = a_gaps, t, wl.vec3(0.0, 0.0, 0.0)
                if on_b:
                    size, axes, other_size, other_axes, shift = b, b_axes, a, a_axes, -offset
                    gaps, along, origin = b_gaps, -s, offset
                face = largest(gaps.x, gaps.y, gaps.z)
                side = sign_of(component(along, face))
                normal = box_axis(axes, face) * side
                points, separations, count = box_face_points(
                    size, axes, face, side, other_size, other_axes, shift, margin
                )
                points += points_of(origin, origin, origin, origin)
                if on_b:
                    normal = -normal
            apart = max(apart, edge_separation)
            if apart > 0.0:
                lowest = margin
                for i in wl.unroll(4):
                    if i < count:
                        lowest = min(lowest, separations[i])
                if lowest > apart + EDGE_RELATIVE * apart + EDGE_ABSOLUTE:
                    first, second = closest_of_boxes(a, a_axes, b, b_axes, offset)
                    normal = wl.normalize(second - first)
                    points, separations, count = midpoint(first, second, normal, margin)
    return normal, points, separations, count
