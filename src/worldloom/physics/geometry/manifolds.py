"""Contact manifolds of two shapes.

A manifold has a unit normal from A to B, up to 4 points midway between the surfaces, their separations (negative:
penetration) and their number. Positions are relative to a common origin. Points farther apart than ``margin`` are
left out.
"""

import worldloom as wl
from worldloom.physics.geometry.clipping import (
    Points,
    clip_to_face,
    face_polygon,
    manifold_point,
    polygon_heights,
    reduce_polygon,
    set_point,
)
from worldloom.physics.geometry.closest import closest_of_polytopes, closest_on_polytope, closest_on_segments
from worldloom.physics.geometry.separating_axis import (
    EDGE_ABSOLUTE,
    EDGE_RELATIVE,
    deepest_edges,
    deepest_face,
    deepest_segment_axis,
)
from worldloom.physics.shapes import (
    CAPSULE,
    PLANE,
    Edges,
    Faces,
    Vertices,
    face_normal,
    face_size,
    face_vertex,
    vertex,
)

FACE_ALIGNED = 0.9995  # cosine above which a capsule rests on a face


@wl.function
def capsule_end(shape: int, size: wl.vec3, position: wl.vec3, rotation: wl.quat, sign: float) -> wl.vec3:
    """An end of the core segment of a capsule; the centre of a sphere."""
    if shape == CAPSULE:
        return position + wl.quat_rotate(rotation, wl.vec3(0.0, 0.0, sign * size.y))
    return position


@wl.function
def midway(points: Points, separations: wl.vec4, count: int, normal: wl.vec3) -> Points:
    """Points of a surface moved by half their separation against the normal."""
    for i in range(count):
        points = set_point(points, i, manifold_point(points, i) - normal * (0.5 * separations[i]))
    return points


@wl.function
def single_point(a: wl.vec3, b: wl.vec3, normal: wl.vec3, margin: float):
    """The manifold of one pair of surface points: (normal, points, separations, number)."""
    separation = wl.dot(b - a, normal)
    points = set_point(Points(), 0, (a + b) * 0.5)
    return normal, points, wl.vec4(separation, 0.0, 0.0, 0.0), 1 if separation < margin else 0


@wl.function
def plane_round(point: wl.vec3, normal: wl.vec3, p: wl.vec3, q: wl.vec3, radius: float, margin: float):
    """A plane with a sphere (p = q) or a capsule."""
    points = Points()
    separations = wl.vec4()
    count = 0
    ends = 2 if wl.length_sq(q - p) > 0.0 else 1
    for i in range(ends):
        end = p if i == 0 else q
        separation = wl.dot(end - point, normal) - radius
        if separation < margin:
            points = set_point(points, count, end - normal * (radius + 0.5 * separation))
            separations[count] = separation
            count += 1
    return normal, points, separations, count


@wl.function
def facing(vertices: Vertices, faces: Faces, count: int, direction: wl.vec3) -> int:
    """The face whose normal is most along a direction, the first of equals."""
    best = -2.0
    chosen = 0
    for f in range(count):
        along = wl.dot(face_normal(vertices, faces[f]), direction)
        if along > best + 1e-6:
            best = along
            chosen = f
    return faces[chosen]


@wl.function
def plane_polytope(point: wl.vec3, normal: wl.vec3, vertices: Vertices, faces: Faces, counts: wl.vec3i, margin: float):
    """A plane with the face of a polytope that is turned towards it."""
    face = facing(vertices, faces, counts.y, -normal)
    polygon = face_polygon(vertices, face)
    heights = polygon_heights(polygon, face_size(face), normal, wl.dot(normal, point))
    points, separations, count = reduce_polygon(polygon, heights, face_size(face), normal, margin)
    return normal, midway(points, separations, count, normal), separations, count


@wl.function
def round_round(p: wl.vec3, q: wl.vec3, radius: float, a: wl.vec3, b: wl.vec3, other_radius: float, margin: float):
    """Two spheres or capsules."""
    first, second = closest_on_segments(p, q, a, b)
    normal = second - first
    distance = wl.length(normal)
    if distance > 1e-9:
        normal = normal / distance
    else:
        normal = wl.vec3(0.0, 0.0, 1.0)
    return single_point(first + normal * radius, second - normal * other_radius, normal, margin)


@wl.function
def meeting_offset(offset: wl.vec3, velocity: wl.vec3, reach: float, time: float) -> wl.vec3:
    """The vector between the centres of two spheres when they meet, or where they pass each other, within a time.

    Args:
        offset: vector between the centres now, longer than ``reach``.
        velocity: its rate.
        reach: the sum of the radii.
        time: in which it is sought; later, the vector at its end.
    """
    speed_sq = wl.length_sq(velocity)
    approach = -wl.dot(offset, velocity)
    if approach <= 0.0:
        return offset
    root = approach * approach - speed_sq * (wl.length_sq(offset) - reach * reach)
    meeting = (approach - wl.sqrt(max(root, 0.0))) / speed_sq
    return offset + velocity * min(meeting, time)


@wl.function
def clip_segment(p: wl.vec3, q: wl.vec3, vertices: Vertices, face: int, normal: wl.vec3):
    """The part of a segment above a face: (start, end, whether there is one)."""
    first = 0.0
    last = 1.0
    size = face_size(face)
    for i in range(size):
        corner = face_vertex(vertices, face, i)
        side = wl.cross(face_vertex(vertices, face, (i + 1) % size) - corner, normal)
        start = wl.dot(side, p - corner)
        change = wl.dot(side, q - p)
        if change > 0.0:
            last = min(last, -start / change)
        elif change < 0.0:
            first = max(first, -start / change)
        elif start > 0.0:
            last = -1.0
    return p + (q - p) * first, p + (q - p) * last, first < last


@wl.function
def round_polytope(
    p: wl.vec3,
    q: wl.vec3,
    radius: float,
    vertices: Vertices,
    faces: Faces,
    edges: Edges,
    counts: wl.vec3i,
    margin: float,
):
    """A sphere or capsule with a polytope; two points where a capsule lies along a face."""
    separation, axis = deepest_segment_axis(p, q, vertices, faces, edges, counts)
    core = p
    surface = p
    if separation > 1e-5:
        core, surface = closest_on_polytope(p, q, vertices, faces, counts.y)
        axis = wl.normalize(core - surface)
    else:
        core = p if wl.dot(p, axis) <= wl.dot(q, axis) else q
        surface = core - axis * separation
    normal, points, separations, count = single_point(core - axis * radius, surface, -axis, margin)
    face = facing(vertices, faces, counts.y, axis)
    upward = face_normal(vertices, face)
    if count > 0 and wl.length_sq(q - p) > 0.0 and wl.dot(upward, axis) > FACE_ALIGNED:
        start, end, crosses = clip_segment(p, q, vertices, face, upward)
        if crosses:
            corner = face_vertex(vertices, face, 0)
            _, line, heights, ends = plane_round(corner, upward, start, end, radius, margin)
            if ends > 1 and min(heights[0], heights[1]) < separations[0] + EDGE_ABSOLUTE:
                normal = -upward
                points = line
                separations = heights
                count = ends
    return normal, points, separations, count


@wl.function
def supporting_edge(vertices: Vertices, count: int, direction: wl.vec3):
    """The two vertices farthest along a direction."""
    first = -1.0e30
    second = -1.0e30
    first_point = vertex(vertices, 0)
    second_point = vertex(vertices, 0)
    for i in range(count):
        point = vertex(vertices, i)
        along = wl.dot(point, direction)
        if along > first:
            second = first
            second_point = first_point
            first = along
            first_point = point
        elif along > second:
            second = along
            second_point = point
    return first_point, second_point


@wl.function
def face_points(
    vertices: Vertices, face: int, normal: wl.vec3, other: Vertices, other_faces: Faces, faces: int, margin: float
):
    """Points of the other polytope's opposite face above a reference face: (points, separations, number)."""
    incident = facing(other, other_faces, faces, -normal)
    polygon, sides = clip_to_face(face_polygon(other, incident), face_size(incident), vertices, face, normal)
    heights = polygon_heights(polygon, sides, normal, wl.dot(normal, face_vertex(vertices, face, 0)))
    points, separations, count = reduce_polygon(polygon, heights, sides, normal, margin)
    return midway(points, separations, count, normal), separations, count


@wl.function
def polytope_polytope(
    a: Vertices,
    a_faces: Faces,
    a_edges: Edges,
    a_counts: wl.vec3i,
    b: Vertices,
    b_faces: Faces,
    b_edges: Edges,
    b_counts: wl.vec3i,
    towards: wl.vec3,
    margin: float,
):
    """Two polytopes; ``towards`` is the vector from the centre of A to the centre of B.

    Where they are apart and their closest features do not face each other, the closest points are the contact.
    """
    normal = wl.vec3(0.0, 0.0, 1.0)
    points = Points()
    separations = wl.vec4()
    count = 0
    a_separation, a_face, a_normal = deepest_face(a, a_faces, a_counts.y, b, b_counts.x)
    b_separation, b_face, b_normal = deepest_face(b, b_faces, b_counts.y, a, a_counts.x)
    face_separation = max(a_separation, b_separation)
    if face_separation < margin:
        edge_separation, axis = deepest_edges(a, a_edges, a_counts, b, b_edges, b_counts, towards)
        if edge_separation < margin:
            if edge_separation > face_separation + EDGE_RELATIVE * abs(face_separation) + EDGE_ABSOLUTE:
                p, q = supporting_edge(a, a_counts.x, axis)
                r, s = supporting_edge(b, b_counts.x, -axis)
                first, second = closest_on_segments(p, q, r, s)
                normal, points, separations, count = single_point(first, second, axis, margin)
            elif b_separation > a_separation + EDGE_RELATIVE * abs(a_separation) + EDGE_ABSOLUTE:
                points, separations, count = face_points(b, b_faces[b_face], b_normal, a, a_faces, a_counts.y, margin)
                normal = -b_normal
            else:
                points, separations, count = face_points(a, a_faces[a_face], a_normal, b, b_faces, b_counts.y, margin)
                normal = a_normal
            lowest = margin
            for i in range(count):
                lowest = min(lowest, separations[i])
            apart = max(face_separation, edge_separation)
            if apart > 0.0 and lowest > apart + EDGE_RELATIVE * apart + EDGE_ABSOLUTE:
                first, second = closest_of_polytopes(a, a_faces, a_counts.y, b, b_faces, b_counts.y)
                axis = wl.normalize(second - first)
                normal, points, separations, count = single_point(first, second, axis, margin)
    return normal, points, separations, count


@wl.function
def contact_manifold(
    a_shape: int,
    a_size: wl.vec3,
    a_rotation: wl.quat,
    a: Vertices,
    a_faces: Faces,
    a_edges: Edges,
    a_counts: wl.vec3i,
    b_shape: int,
    b_size: wl.vec3,
    b_rotation: wl.quat,
    b: Vertices,
    b_faces: Faces,
    b_edges: Edges,
    b_counts: wl.vec3i,
    offset: wl.vec3,
    margin: float,
):
    """The manifold of two shapes, the kind of A not above that of B: (normal, points, separations, number).

    A is at the origin and B at ``offset``; the vertices of polytopes are placed.
    """
    origin = wl.vec3(0.0, 0.0, 0.0)
    p = capsule_end(a_shape, a_size, origin, a_rotation, -1.0)
    q = capsule_end(a_shape, a_size, origin, a_rotation, 1.0)
    r = capsule_end(b_shape, b_size, offset, b_rotation, -1.0)
    s = capsule_end(b_shape, b_size, offset, b_rotation, 1.0)
    if a_shape == PLANE:
        upward = wl.quat_rotate(a_rotation, wl.vec3(0.0, 0.0, 1.0))
        if b_shape <= CAPSULE:
            return plane_round(origin, upward, r, s, b_size.x, margin)
        return plane_polytope(origin, upward, b, b_faces, b_counts, margin)
    if b_shape <= CAPSULE:
        return round_round(p, q, a_size.x, r, s, b_size.x, margin)
    if a_shape <= CAPSULE:
        return round_polytope(p, q, a_size.x, b, b_faces, b_edges, b_counts, margin)
    return polytope_polytope(a, a_faces, a_edges, a_counts, b, b_faces, b_edges, b_counts, offset, margin)
