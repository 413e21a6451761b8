"""Clipping of polygons, and reduction of a contact polygon to four points."""

import worldloom as wl
from worldloom.physics.shapes import Vertices, face_size, face_vertex

MAX_POLYGON = 14  # a face of 7 vertices, clipped by 7 planes

Polygon = wl.vec(3 * MAX_POLYGON)
Heights = wl.vec(MAX_POLYGON)
Points = wl.vec(12)


@wl.function
def polygon_point(polygon: Polygon, i: int) -> wl.vec3:
    """Vertex ``i`` of a polygon."""
    return wl.vec3(polygon[3 * i], polygon[3 * i + 1], polygon[3 * i + 2])


@wl.function
def manifold_point(points: Points, i: int) -> wl.vec3:
    """Point ``i`` of a manifold."""
    return wl.vec3(points[3 * i], points[3 * i + 1], points[3 * i + 2])


@wl.function
def set_point(points: Points, i: int, point: wl.vec3) -> Points:
    """The points with point ``i`` replaced."""
    points[3 * i] = point.x
    points[3 * i + 1] = point.y
    points[3 * i + 2] = point.z
    return points


@wl.function
def points_of(a: wl.vec3, b: wl.vec3, c: wl.vec3, d: wl.vec3) -> Points:
    """Four points of a manifold."""
    return Points(a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z, d.x, d.y, d.z)


@wl.function
def face_polygon(vertices: Vertices, face: int) -> Polygon:
    """The vertices of a face."""
    polygon = Polygon()
    for i in range(face_size(face)):
        point = face_vertex(vertices, face, i)
        polygon[3 * i] = point.x
        polygon[3 * i + 1] = point.y
        polygon[3 * i + 2] = point.z
    return polygon


@wl.function
def clip_polygon(polygon: Polygon, count: int, normal: wl.vec3, offset: float):
    """The part of a polygon where ``normal . x <= offset``: (polygon, number of vertices)."""
    clipped = Polygon()
    kept = 0
    for i in range(count):
        here = polygon_point(polygon, i)
        there = polygon_point(polygon, (i + 1) % count)
        height = wl.dot(normal, here) - offset
        next_height = wl.dot(normal, there) - offset
        if height <= 0.0 and kept < MAX_POLYGON:
            clipped[3 * kept] = here.x
            clipped[3 * kept + 1] = here.y
            clipped[3 * kept + 2] = here.z
            kept += 1
        if ((height < 0.0 and next_height > 0.0) or (height > 0.0 and next_height < 0.0)) and kept < MAX_POLYGON:
            crossing = here + (there - here) * (height / (height - next_height))
            clipped[3 * kept] = crossing.x
            clipped[3 * kept + 1] = crossing.y
            clipped[3 * kept + 2] = crossing.z
            kept += 1
    return clipped, kept


@wl.function
def clip_to_face(polygon: Polygon, count: int, vertices: Vertices, face: int, normal: wl.vec3):
    """The part of a polygon above a face: clipped by the planes through its edges."""
    size = face_size(face)
    for i in range(size):
        start = face_vertex(vertices, face, i)
        side = wl.normalize(wl.cross(face_vertex(vertices, face, (i + 1) % size) - start, normal))
        polygon, count = clip_polygon(polygon, count, side, wl.dot(side, start))
    return polygon, count


@wl.function
def polygon_heights(polygon: Polygon, count: int, normal: wl.vec3, offset: float) -> Heights:
    """Height of each vertex above the plane ``normal . x = offset``."""
    heights = Heights()
    for i in range(count):
        heights[i] = wl.dot(normal, polygon_point(polygon, i)) - offset
    return heights


@wl.function
def reduce_polygon(polygon: Polygon, heights: Heights, count: int, normal: wl.vec3, margin: float):
    """At most 4 vertices lower than ``margin``: (points, heights, number).

    The lowest, the farthest from it, the farthest from their line, and the farthest on its other side.
    """
    chosen = wl.vec4i(-1, -1, -1, -1)
    low = margin
    for i in range(count):
        if heights[i] < low:
            low = heights[i]
            chosen[0] = i
    if chosen[0] >= 0:
        first = polygon_point(polygon, chosen[0])
        farthest = 1e-10
        for i in range(count):
            distance_sq = wl.length_sq(polygon_point(polygon, i) - first)
            if heights[i] < margin and distance_sq > farthest:
                farthest = distance_sq
                chosen[1] = i
        if chosen[1] >= 0:
            along = polygon_point(polygon, chosen[1]) - first
            left = 1e-10
            right = -1e-10
            for i in range(count):
                area = wl.dot(wl.cross(along, polygon_point(polygon, i) - first), normal)
                if heights[i] < margin and area > left:
                    left = area
                    chosen[2] = i
                if heights[i] < margin and area < right:
                    right = area
                    chosen[3] = i
    points = Points()
    depths = wl.vec4()
    number = 0
    for k in range(4):
        if chosen[k] >= 0:
            point = polygon_point(polygon, chosen[k])
            points = set_point(points, number, point)
            depths[number] = heights[chosen[k]]
            number += 1
    return points, depths, number
