"""Contacts of boxes and wedges with planes and with each other. Manifolds are those of ``manifolds``."""

import worldloom as wl
from worldloom.core.kernels.quotients import fast_quotient
from worldloom.physics.geometry.box_contacts import midpoint
from worldloom.physics.geometry.clipping import Points
from worldloom.physics.geometry.closest import closest_on_segments
from worldloom.physics.geometry.quads import Incident, Reference, clip_quads, face_manifold, reduce_candidates
from worldloom.physics.geometry.separating_axis import EDGE_ABSOLUTE, EDGE_RELATIVE, PARALLEL_SQ
from worldloom.physics.geometry.solids import (
    closest_of_solids,
    face_corner,
    face_towards,
    num_edges,
    num_faces,
    solid_edge,
    solid_face,
    solid_normal,
    solid_reach,
    supporting_edge_of_solid,
)
from worldloom.physics.shapes import face_size


@wl.function
def plane_solid(normal: wl.vec3, shape: int, size: wl.vec3, axes: wl.mat33, position: wl.vec3, margin: float):
    """A plane through the origin with the face of a solid that is turned towards it."""
    points = Points()
    separations = wl.vec4()
    count = 0
    face = solid_face(shape, face_towards(shape, size, wl.transpose(axes) * -normal))
    for i in wl.unroll(4):
        corner = position + axes * face_corner(shape, size, face, i)
        height = wl.dot(normal, corner)
        corner -= normal * (0.5 * height)
        if i < face_size(face) and height < margin:
            for k in wl.unroll(4):
                if count == k:
                    points[3 * k], points[3 * k + 1], points[3 * k + 2] = corner.x, corner.y, corner.z
                    separations[k] = height
            count += 1
    return normal, points, separations, count


@wl.function
def solid_face_points(
    shape: int,
    size: wl.vec3,
    axes: wl.mat33,
    f: int,
    other_shape: int,
    other_size: wl.vec3,
    other_axes: wl.mat33,
    offset: wl.vec3,
    margin: float,
):
    """Points of the other solid's opposite face above face ``f`` of one at the origin: (points, heights, number)."""
    face = solid_face(shape, f)
    normal = solid_normal(shape, size, f)
    start = face_corner(shape, size, face, 0)
    u = wl.normalize(face_corner(shape, size, face, 1) - start)
    v = wl.cross(normal, u)
    turn = wl.transpose(axes) * other_axes
    shift = wl.transpose(axes) * offset - start
    opposite = solid_face(other_shape, face_towards(other_shape, other_size, wl.transpose(turn) * -normal))
    reference = Reference()
    incident = Incident()
    last, other_last = face_size(face) - 1, face_size(opposite) - 1
    for i in wl.unroll(4):
        corner = face_corner(shape, size, face, min(i, last)) - start
        reference[2 * i], reference[2 * i + 1] = wl.dot(corner, u), wl.dot(corner, v)
        corner = shift + turn * face_corner(other_shape, other_size, opposite, max(other_last - i, 0))
        incident[3 * i], incident[3 * i + 1] = wl.dot(corner, u), wl.dot(corner, v)
        incident[3 * i + 2] = wl.dot(corner, normal)
    candidates, found = clip_quads(reference, incident)
    points, heights, count = reduce_candidates(candidates, found, margin)
    return face_manifold(points, heights, axes * start, axes * u, axes * v, axes * normal), heights, count


@wl.function
def deepest_solid_face(
    shape: int,
    size: wl.vec3,
    axes: wl.mat33,
    other_shape: int,
    other_size: wl.vec3,
    other_axes: wl.mat33,
    offset: wl.vec3,
):
    """The face of a solid at the origin that separates the other one, at ``offset``, most: (separation, face)."""
    best = -1.0e30
    chosen = 0
    turn = wl.transpose(axes) * other_axes
    shift = wl.transpose(axes) * offset
    for f in range(num_faces(shape)):
        normal = solid_normal(shape, size, f)
        near = wl.dot(normal, shift) - solid_reach(other_shape, other_size, wl.transpose(turn) * -normal)
        separation = near - solid_reach(shape, size, normal)
        if separation > best:
            best = separation
            chosen = f
    return best, chosen


@wl.function
def deepest_solid_edges(
    a_shape: int, a: wl.vec3, a_axes: wl.mat33, b_shape: int, b: wl.vec3, b_axes: wl.mat33, offset: wl.vec3
):
    """The product of two edge directions that separates most: (separation, axis from A to B)."""
    best = -1.0e30
    best_axis = wl.vec3(0.0, 0.0, 1.0)
    for i in range(num_edges(a_shape)):
        for j in range(num_edges(b_shape)):
            axis = wl.cross(solid_edge(a_shape, a, a_axes, i), solid_edge(b_shape, b, b_axes, j))
            length_sq = wl.dot(axis, axis)
            if length_sq > PARALLEL_SQ:
                axis = axis * fast_quotient(1.0, wl.sqrt(length_sq))
                if wl.dot(axis, offset) < 0.0:
                    axis = -axis
                separation = wl.dot(axis, offset) - solid_reach(a_shape, a, wl.transpose(a_axes) * axis)
                separation -= solid_reach(b_shape, b, wl.transpose(b_axes) * -axis)
                if separation > best:
                    best = separation
                    best_axis = axis
    return best, best_axis


@wl.function
def solid_solid(
    a_shape: int,
    a: wl.vec3,
    a_axes: wl.mat33,
    b_shape: int,
    b: wl.vec3,
    b_axes: wl.mat33,
    offset: wl.vec3,
    margin: float,
):
    """Two boxes or wedges, A at the origin and B at ``offset``, as in ``polytope_polytope``."""
    normal = wl.vec3(0.0, 0.0, 1.0)
    points = Points()
    separations = wl.vec4()
    count = 0
    a_separation, a_face = deepest_solid_face(a_shape, a, a_axes, b_shape, b, b_axes, offset)
    b_separation, b_face = deepest_solid_face(b_shape, b, b_axes, a_shape, a, a_axes, -offset)
    face_separation = max(a_separation, b_separation)
    if face_separation < margin:
        edge_separation, axis = deepest_solid_edges(a_shape, a, a_axes, b_shape, b, b_axes, offset)
        if edge_separation < margin:
            if edge_separation > face_separation + EDGE_RELATIVE * abs(face_separation) + EDGE_ABSOLUTE:
                p, q = supporting_edge_of_solid(a_shape, a, a_axes, wl.vec3(0.0, 0.0, 0.0), axis)
                r, s = supporting_edge_of_solid(b_shape, b, b_axes, offset, -axis)
                first, second = closest_on_segments(p, q, r, s)
                normal = axis
                points, separations, count = midpoint(first, second, normal, margin)
            else:
                on_b = b_separation > a_separation + EDGE_RELATIVE * abs(a_separation) + EDGE_ABSOLUTE
                # One call for both cases: the solid with the reference face comes first.
                shape, size, axes, face = a_shape, a, a_axes, a_face
                other_shape, other_size, other_axes, shift = b_shape, b, b_axes, offset
                origin = wl.vec3(0.0, 0.0, 0.0)
                if on_b:
                    shape, size, axes, face = b_shape, b, b_axes, b_face
                    other_shape, other_size, other_axes, shift = a_shape, a, a_axes, -offset
                    origin = offset
                points, separations, count = solid_face_points(
                    shape, size, axes, face, other_shape, other_size, other_axes, shift, margin
                )
                normal = axes * solid_normal(shape, size, face)
                if on_b:
                    normal = -normal
                for i in wl.unroll(4):
                    points[3 * i], points[3 * i + 1] = points[3 * i] + origin.x, points[3 * i + 1] + origin.y
                    points[3 * i + 2] = points[3 * i + 2] + origin.z
            apart = max(face_separation, edge_separation)
            if apart > 0.0:
                lowest = margin
                for i in wl.unroll(4):
                    if i < count:
                        lowest = min(lowest, separations[i])
                if lowest > apart + EDGE_RELATIVE * apart + EDGE_ABSOLUTE:
                    first, second = closest_of_solids(a_shape, a, a_axes, b_shape, b, b_axes, offset)
                    normal = wl.normalize(second - first)
                    points, separations, count = midpoint(first, second, normal, margin)
    return normal, points, separations, count
