"""Closest points of segments and polytopes. A segment with equal ends is a point."""

import worldloom as wl
from worldloom.physics.shapes import Faces, Vertices, face_normal, face_size, face_vertex, vertex

TINY = 1e-12


@wl.function
def closest_on_segments(p: wl.vec3, q: wl.vec3, a: wl.vec3, b: wl.vec3):
    """Closest points of the segments p q and a b; the middle of the overlap for parallel segments."""
    first = q - p
    second = b - a
    between = p - a
    first_sq = wl.dot(first, first)
    second_sq = wl.dot(second, second)
    on_second = wl.dot(second, between)
    on_first = wl.dot(first, between)
    mixed = wl.dot(first, second)
    s = 0.0
    if first_sq > TINY:
        determinant = first_sq * second_sq - mixed * mixed
        if determinant > 1e-6 * first_sq * second_sq:
            s = wl.clamp((mixed * on_second - on_first * second_sq) / determinant, 0.0, 1.0)
        elif second_sq > TINY:
            start = wl.clamp(-on_first / first_sq, 0.0, 1.0)
            end = wl.clamp((mixed - on_first) / first_sq, 0.0, 1.0)
            s = 0.5 * (start + end)
        else:
            s = wl.clamp(-on_first / first_sq, 0.0, 1.0)
    t = 0.0
    if second_sq > TINY:
        t = (mixed * s + on_second) / second_sq
        if t < 0.0 or t > 1.0:
            t = wl.clamp(t, 0.0, 1.0)
            if first_sq > TINY:
                s = wl.clamp((mixed * t - on_first) / first_sq, 0.0, 1.0)
    return p + first * s, a + second * t


@wl.function
def nearer_points(on_a: wl.vec3, on_b: wl.vec3, best_a: wl.vec3, best_b: wl.vec3, best: float):
    """The nearer of two pairs of points, and its squared distance; ``best`` is that of ``best_a`` and ``best_b``."""
    distance_sq = wl.length_sq(on_b - on_a)
    if distance_sq < best:
        return on_a, on_b, distance_sq
    return best_a, best_b, best


@wl.function
def inside_face(vertices: Vertices, face: int, normal: wl.vec3, point: wl.vec3) -> bool:
    """Whether the projection of a point lies within a face."""
    size = face_size(face)
    inside = True
    for i in range(size):
        start = face_vertex(vertices, face, i)
        along = face_vertex(vertices, face, (i + 1) % size) - start
        if wl.dot(wl.cross(along, point - start), normal) < 0.0:
            inside = False
    return inside


@wl.function
def closest_on_polytope(p: wl.vec3, q: wl.vec3, vertices: Vertices, faces: Faces, count: int):
    """Closest points of the segment p q and a polytope that it does not touch: on the segment, on the polytope.

    The pair is an end of the segment with a face, or the segment with an edge.
    """
    best_core = p
    best_surface = vertex(vertices, 0)
    best = 1.0e30
    for f in range(count):
        face = faces[f]
        normal = face_normal(vertices, face)
        corner = face_vertex(vertices, face, 0)
        for end in range(2):
            point = p if end == 0 else q
            height = wl.dot(point - corner, normal)
            if height >= 0.0 and height * height < best and inside_face(vertices, face, normal, point):
                best = height * height
                best_core = point
                best_surface = point - normal * height
        size = face_size(face)
        for i in range(size):
            a = face_vertex(vertices, face, i)
            b = face_vertex(vertices, face, (i + 1) % size)
            core, surface = closest_on_segments(p, q, a, b)
            distance_sq = wl.length_sq(core - surface)
            if distance_sq < best:
                best = distance_sq
                best_core = core
                best_surface = surface
    return best_core, best_surface


@wl.function
def closest_of_polytopes(a: Vertices, a_faces: Faces, a_count: int, b: Vertices, b_faces: Faces, b_count: int):
    """Closest points of two polytopes that do not touch: on A, on B.

    The pair is an edge or vertex of A with B, or a vertex of B with a face of A.
    """
    best_a = vertex(a, 0)
    best_b = vertex(b, 0)
    best = 1.0e30
    for f in range(a_count):
        size = face_size(a_faces[f])
        for i in range(size):
            start = face_vertex(a, a_faces[f], i)
            end = face_vertex(a, a_faces[f], (i + 1) % size)
            on_a, on_b = closest_on_polytope(start, end, b, b_faces, b_count)
            best_a, best_b, best = nearer_points(on_a, on_b, best_a, best_b, best)
    for f in range(b_count):
        for i in range(face_size(b_faces[f])):
            corner = face_vertex(b, b_faces[f], i)
            on_b, on_a = closest_on_polytope(corner, corner, a, a_faces, a_count)
            best_a, best_b, best = nearer_points(on_a, on_b, best_a, best_b, best)
    return best_a, best_b
