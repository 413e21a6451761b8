"""The separating-axis test of two polytopes, and of a segment with a polytope.

The separation along a unit axis is the gap of the two projections, negative where they overlap. The largest
separation over all candidate axes is the distance of two faces or edges, or minus the penetration depth.
"""

import worldloom as wl
from worldloom.core.kernels.quotients import fast_quotient
from worldloom.physics.shapes import (
    Edges,
    Faces,
    Vertices,
    edge_direction,
    face_normal,
    face_vertex,
    support_distance,
)

EDGE_RELATIVE = 0.02  # an edge axis replaces a face axis if it separates more by this share of the depth
EDGE_ABSOLUTE = 0.001  # and by this length, m
PARALLEL_SQ = 1e-6  # squared sine below which two edges are parallel


@wl.function
def deepest_face(vertices: Vertices, faces: Faces, count: int, other: Vertices, other_count: int):
    """The face of a polytope that separates the other one most: (separation, face number, normal)."""
    best = -1.0e30
    best_face = 0
    best_normal = wl.vec3(0.0, 0.0, 1.0)
    for f in range(count):
        normal = face_normal(vertices, faces[f])
        near = -support_distance(other, other_count, -normal)
        separation = near - wl.dot(normal, face_vertex(vertices, faces[f], 0))
        if separation > best:
            best = separation
            best_face = f
            best_normal = normal
    return best, best_face, best_normal


@wl.function
def deepest_edges(
    a: Vertices, a_edges: Edges, a_counts: wl.vec3i, b: Vertices, b_edges: Edges, b_counts: wl.vec3i, towards: wl.vec3
):
    """The product of two edge directions that separates most: (separation, axis from A to B)."""
    best = -1.0e30
    best_axis = wl.vec3(0.0, 0.0, 1.0)
    for i in range(a_counts.z):
        first = edge_direction(a, a_edges[i])
        for j in range(b_counts.z):
            second = edge_direction(b, b_edges[j])
            axis = wl.cross(first, second)
            length_sq = wl.dot(axis, axis)
            if length_sq > PARALLEL_SQ * wl.length_sq(first) * wl.length_sq(second):
                axis = axis * fast_quotient(1.0, wl.sqrt(length_sq))
                if wl.dot(axis, towards) < 0.0:
                    axis = -axis
                separation = -support_distance(b, b_counts.x, -axis) - support_distance(a, a_counts.x, axis)
                if separation > best:
                    best = separation
                    best_axis = axis
    return best, best_axis


@wl.function
def deepest_segment_axis(p: wl.vec3, q: wl.vec3, vertices: Vertices, faces: Faces, edges: Edges, counts: wl.vec3i):
    """The axis that separates a segment from a polytope most: (separation, axis from the polytope to the segment)."""
    best = -1.0e30
    best_axis = wl.vec3(0.0, 0.0, 1.0)
    for f in range(counts.y):
        normal = face_normal(vertices, faces[f])
        corner = face_vertex(vertices, faces[f], 0)
        separation = min(wl.dot(p - corner, normal), wl.dot(q - corner, normal))
        if separation > best:
            best = separation
            best_axis = normal
    along = q - p
    for i in range(counts.z):
        direction = edge_direction(vertices, edges[i])
        axis = wl.cross(along, direction)
        length_sq = wl.dot(axis, axis)
        if length_sq > PARALLEL_SQ * wl.length_sq(along) * wl.length_sq(direction):
            axis = axis * fast_quotient(1.0, wl.sqrt(length_sq))
            for _ in range(2):
                separation = wl.dot(p, axis) - support_distance(vertices, counts.x, axis)
                if separation > best:
                    best = separation
                    best_axis = axis
                axis = -axis
    return best, best_axis
