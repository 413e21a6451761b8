"""The intersection of two quadrilaterals and its reduction to four points, in registers alone.

The reference face lies in the plane z = 0, counter-clockwise; the incident face is above it, counter-clockwise too, and
z is the separation. A triangle is a quadrilateral whose last vertex appears twice.
"""

import worldloom as wl
from worldloom.core.kernels.quotients import fast_quotient
from worldloom.physics.geometry.clipping import Points, points_of

MIN_AREA = 1.0e-30  # m^2, of an incident face above the reference face, so that it has an inverse in float32

Reference = wl.vec(8)  # x, y of 4 vertices
Incident = wl.vec(12)  # x, y, z of 4 vertices
Candidates = wl.vec(36)  # x, y, z of the starts of 4 clipped edges, of their ends, and of 4 reference vertices


@wl.function
def narrowed(low: float, high: float, start: float, end: float):
    """The part of an edge, as two shares of its length, on the side of a line where distances are not negative.

    ``start`` and ``end`` are the distances of its ends; without such a part the first share is 2.
    """
    if start < 0.0 and end < 0.0:
        return 2.0, high
    if start < 0.0:
        return max(low, fast_quotient(start, start - end)), high
    if end < 0.0:
        return low, min(high, fast_quotient(start, start - end))
    return low, high


@wl.function
def clip_quads(reference: Reference, incident: Incident):
    """The vertices of the part of the incident face above the reference face: (candidates, bits of those found)."""
    candidates = Candidates()
    found = 0
    for e in wl.unroll(4):
        low, high = 0.0, 1.0
        x, y, z = incident[3 * e], incident[3 * e + 1], incident[3 * e + 2]
        dx, dy = incident[(3 * e + 3) % 12] - x, incident[(3 * e + 4) % 12] - y
        dz = incident[(3 * e + 5) % 12] - z
        for m in wl.unroll(4):
            side_x, side_y = (
                reference[(2 * m + 2) % 8] - reference[2 * m],
                reference[(2 * m + 3) % 8] - reference[2 * m + 1],
            )
            start = side_x * (y - reference[2 * m + 1]) - side_y * (x - reference[2 * m])
            low, high = narrowed(low, high, start, start + (side_x * dy - side_y * dx))
        candidates[3 * e], candidates[3 * e + 1], candidates[3 * e + 2] = x + dx * low, y + dy * low, z + dz * low
        candidates[3 * e + 12], candidates[3 * e + 13] = x + dx * high, y + dy * high
        candidates[3 * e + 14] = z + dz * high
        if low <= high:
            found = found | (1 << e)
            if low < high and high < 1.0:
                found = found | (16 << e)
    first = wl.vec3(incident[0], incident[1], incident[2])
    plane = wl.cross(
        wl.vec3(incident[3], incident[4], incident[5]) - first, wl.vec3(incident[6], incident[7], incident[8]) - first
    )
    inverse = fast_quotient(1.0, plane.z)
    for c in wl.unroll(4):
        x, y = reference[2 * c], reference[2 * c + 1]
        inside = plane.z > MIN_AREA
        for e in wl.unroll(4):
            dx, dy = incident[(3 * e + 3) % 12] - incident[3 * e], incident[(3 * e + 4) % 12] - incident[3 * e + 1]
            inside = inside and dx * (y - incident[3 * e + 1]) - dy * (x - incident[3 * e]) >= 0.0
        if inside:
            found = found | (256 << c)
            candidates[3 * c + 24], candidates[3 * c + 25] = x, y
            candidates[3 * c + 26] = first.z - (plane.x * (x - first.x) + plane.y * (y - first.y)) * inverse
    return candidates, found


@wl.function
def reduce_candidates(candidates: Candidates, found: int, margin: float):
    """At most 4 of the candidates lower than ``margin``: (points, heights, number).

    The lowest, the farthest from it, the farthest from their line, and the farthest on its other side.
    """
    first, second = wl.vec3(0.0, 0.0, 0.0), wl.vec3(0.0, 0.0, 0.0)
    third, fourth = wl.vec3(0.0, 0.0, 0.0), wl.vec3(0.0, 0.0, 0.0)
    low, farthest, left, right = margin, 1e-10, 1e-10, -1e-10
    for i in wl.unroll(12):
        if (found & (1 << i)) != 0:
            if candidates[3 * i + 2] < low:
                low = candidates[3 * i + 2]
                first = wl.vec3(candidates[3 * i], candidates[3 * i + 1], low)
            if candidates[3 * i + 2] >= margin:
                found = found - (1 << i)
    for i in wl.unroll(12):
        point = wl.vec3(candidates[3 * i], candidates[3 * i + 1], candidates[3 * i + 2])
        distance_sq = wl.length_sq(point - first)
        if (found & (1 << i)) != 0 and distance_sq > farthest:
            farthest = distance_sq
            second = point
    along = second - first
    for i in wl.unroll(12):
        point = wl.vec3(candidates[3 * i], candidates[3 * i + 1], candidates[3 * i + 2])
        area = along.x * (point.y - first.y) - along.y * (point.x - first.x)
        if (found & (1 << i)) != 0 and area > left:
            left = area
            third = point
        if (found & (1 << i)) != 0 and area < right:
            right = area
            fourth = point
    count = 0
    if low < margin:
        count = 1
        if farthest > 1e-10:
            count = 2
            if left > 1e-10 and right < -1e-10:
                count = 4
            elif left > 1e-10 or right < -1e-10:
                count = 3
                if left <= 1e-10:
                    third = fourth
    if count < 4:
        fourth = wl.vec3(0.0, 0.0, 0.0)
    return points_of(first, second, third, fourth), wl.vec4(first.z, second.z, third.z, fourth.z), count


@wl.function
def face_manifold(points: Points, heights: wl.vec4, origin: wl.vec3, u: wl.vec3, v: wl.vec3, normal: wl.vec3) -> Points:
    """Points of a reference face, in world axes and midway between the faces."""
    for i in wl.unroll(4):
        point = origin + u * points[3 * i] + v * points[3 * i + 1] + normal * (0.5 * heights[i])
        points[3 * i], points[3 * i + 1], points[3 * i + 2] = point.x, point.y, point.z
    return points
