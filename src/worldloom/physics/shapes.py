"""Kinds of shapes and polytopes by value.

A polytope (box, wedge or hull) has at most 8 vertices, hence at most 12 faces and 18 edges. It is passed by value:

- ``Vertices``: x, y, z of each vertex.
- ``Faces``: an int per face, 3 bits for each of up to 7 vertex numbers, counter-clockwise seen from outside; their
  count in bits 21 to 23.
- ``Edges``: an int per edge direction, two vertex numbers of 3 bits; parallel edges appear once.
- counts: ``wl.vec3i`` of vertices, faces and edge directions.
"""

import worldloom as wl

PLANE = 0
SPHERE = 1
CAPSULE = 2
BOX = 3
WEDGE = 4
HULL = 5

MAX_VERTICES = 8
MAX_FACES = 12
MAX_EDGES = 18

Vertices = wl.vec(3 * MAX_VERTICES)
Faces = wl.vec(MAX_FACES, int)
Edges = wl.vec(MAX_EDGES, int)


def pack_face(*indices: int) -> int:
    """The vertex numbers of a face in one int."""
    return sum(index << (3 * place) for place, index in enumerate(indices)) | len(indices) << 21


def pack_edge(first: int, second: int) -> int:
    """The vertex numbers of an edge in one int."""
    return first | second << 3


BOX_FACES = Faces(
    pack_face(0, 4, 6, 2),
    pack_face(1, 3, 7, 5),
    pack_face(0, 1, 5, 4),
    pack_face(2, 6, 7, 3),
    pack_face(0, 2, 3, 1),
    pack_face(4, 5, 7, 6),
    *[0] * 6,
)
BOX_EDGES = Edges(pack_edge(0, 1), pack_edge(0, 2), pack_edge(0, 4), *[0] * 15)
BOX_COUNTS = wl.vec3i(8, 6, 3)

# Vertices of a wedge: 0 and 1 at the low edge, 2 and 3 at the foot of the vertical face, 4 and 5 at the top edge.
WEDGE_FACES = Faces(
    pack_face(0, 2, 3, 1),
    pack_face(2, 4, 5, 3),
    pack_face(0, 1, 5, 4),
    pack_face(0, 4, 2),
    pack_face(1, 3, 5),
    *[0] * 7,
)
WEDGE_EDGES = Edges(pack_edge(0, 1), pack_edge(0, 2), pack_edge(2, 4), pack_edge(0, 4), *[0] * 14)
WEDGE_COUNTS = wl.vec3i(6, 5, 4)


@wl.function
def polytope_vertices(shape: int, size: wl.vec3) -> Vertices:
    """Vertices of a box or a wedge in its body frame, whose origin is the centre of mass."""
    vertices = Vertices()
    for i in range(8):
        x = size.x if (i & 1) != 0 else -size.x
        y = size.y if (i & 2) != 0 else -size.y
        z = size.z if (i & 4) != 0 else -size.z
        if shape == WEDGE:
            y = size.y * (2.0 / 3.0) if i >= 2 else -size.y * (4.0 / 3.0)
            z = size.z * (4.0 / 3.0) if i >= 4 else -size.z * (2.0 / 3.0)
        vertices[3 * i] = x
        vertices[3 * i + 1] = y
        vertices[3 * i + 2] = z
    return vertices


@wl.function
def polytope_faces(shape: int) -> Faces:
    """Faces of a box or a wedge."""
    if shape == WEDGE:
        return WEDGE_FACES
    return BOX_FACES


@wl.function
def polytope_edges(shape: int) -> Edges:
    """Edge directions of a box or a wedge."""
    if shape == WEDGE:
        return WEDGE_EDGES
    return BOX_EDGES


@wl.function
def polytope_counts(shape: int) -> wl.vec3i:
    """Numbers of vertices, faces and edge directions of a box or a wedge."""
    if shape == WEDGE:
        return WEDGE_COUNTS
    return BOX_COUNTS


@wl.function
def vertex(vertices: Vertices, i: int) -> wl.vec3:
    """Vertex ``i`` of a polytope."""
    return wl.vec3(vertices[3 * i], vertices[3 * i + 1], vertices[3 * i + 2])


@wl.function
def face_size(face: int) -> int:
    """Number of vertices of a face."""
    return (face >> 21) & 7


@wl.function
def face_vertex(vertices: Vertices, face: int, i: int) -> wl.vec3:
    """Vertex ``i`` of a face, counter-clockwise."""
    return vertex(vertices, (face >> (3 * i)) & 7)


@wl.function
def face_normal(vertices: Vertices, face: int) -> wl.vec3:
    """Outward unit normal of a face."""
    first = face_vertex(vertices, face, 0)
    second = face_vertex(vertices, face, 1)
    third = face_vertex(vertices, face, 2)
    return wl.normalize(wl.cross(second - first, third - first))


@wl.function
def edge_direction(vertices: Vertices, edge: int) -> wl.vec3:
    """From the first vertex of an edge to the second."""
    return vertex(vertices, (edge >> 3) & 7) - vertex(vertices, edge & 7)


@wl.function
def place_vertices(vertices: Vertices, count: int, position: wl.vec3, rotation: wl.quat) -> Vertices:
    """Vertices in the frame in which the body has this position and rotation."""
    placed = Vertices()
    for i in range(count):
        point = position + wl.quat_rotate(rotation, vertex(vertices, i))
        placed[3 * i] = point.x
        placed[3 * i + 1] = point.y
        placed[3 * i + 2] = point.z
    return placed


@wl.function
def support_index(vertices: Vertices, count: int, direction: wl.vec3) -> int:
    """The vertex farthest along a direction, the first of equals."""
    best = 0
    farthest = wl.dot(vertex(vertices, 0), direction)
    for i in range(1, count):
        along = wl.dot(vertex(vertices, i), direction)
        if along > farthest:
            farthest = along
            best = i
    return best


@wl.function
def support_distance(vertices: Vertices, count: int, direction: wl.vec3) -> float:
    """The largest projection of a vertex on a direction."""
    return wl.dot(vertex(vertices, support_index(vertices, count, direction)), direction)


@wl.function
def core_radius(shape: int, size: wl.vec3) -> float:
    """Distance from the core of a shape to its surface: the radius of spheres and capsules."""
    if shape in (SPHERE, CAPSULE):
        return size.x
    return 0.0
