"""Points of a simplex nearest to the origin, and the iteration of Gilbert, Johnson and Keerthi (GJK).

GJK finds the distance of two convex sets from their support functions: a simplex of differences of support points
moves towards the origin. The sets here are the cores of shapes: points, segments and polytopes.
"""

import worldloom as wl
from worldloom.physics.geometry.clipping import Points, manifold_point, set_point
from worldloom.physics.shapes import BOX, CAPSULE, WEDGE

MAX_ITERATIONS = 24
TOLERANCE = 1.0e-6  # relative, of the squared distance


@wl.function
def core_support(shape: int, size: wl.vec3, direction: wl.vec3) -> wl.vec3:
    """The point of the core of a sphere, capsule, box or wedge farthest along a direction, in the body frame."""
    if shape == CAPSULE:
        return wl.vec3(0.0, 0.0, size.y if direction.z > 0.0 else -size.y)
    x = size.x if direction.x > 0.0 else -size.x
    if shape == BOX:
        return wl.vec3(x, size.y if direction.y > 0.0 else -size.y, size.z if direction.z > 0.0 else -size.z)
    if shape == WEDGE:
        foot_y, top_z = size.y * (2.0 / 3.0), size.z * (4.0 / 3.0)
        low_y, foot_z = -size.y * (4.0 / 3.0), -size.z * (2.0 / 3.0)
        z = top_z if direction.z > 0.0 else foot_z
        if low_y * direction.y + foot_z * direction.z > foot_y * direction.y + z * direction.z:
            return wl.vec3(x, low_y, foot_z)
        return wl.vec3(x, foot_y, z)
    return wl.vec3(0.0, 0.0, 0.0)


@wl.function
def nearest_on_triangle(a: wl.vec3, b: wl.vec3, c: wl.vec3) -> wl.vec3:
    """Barycentric coordinates of the point of a triangle nearest to the origin, by its Voronoi regions."""
    ab, ac = b - a, c - a
    ab_a, ac_a = -wl.dot(ab, a), -wl.dot(ac, a)
    if ab_a <= 0.0 and ac_a <= 0.0:
        return wl.vec3(1.0, 0.0, 0.0)
    ab_b, ac_b = -wl.dot(ab, b), -wl.dot(ac, b)
    if ab_b >= 0.0 and ac_b <= ab_b:
        return wl.vec3(0.0, 1.0, 0.0)
    ab_c, ac_c = -wl.dot(ab, c), -wl.dot(ac, c)
    if ac_c >= 0.0 and ab_c <= ac_c:
        return wl.vec3(0.0, 0.0, 1.0)
    on_c = ab_a * ac_b - ab_b * ac_a
    if on_c <= 0.0 and ab_a >= 0.0 and ab_b <= 0.0 and ab_a > ab_b:
        t = ab_a / (ab_a - ab_b)
        return wl.vec3(1.0 - t, t, 0.0)
    on_b = ab_c * ac_a - ab_a * ac_c
    if on_b <= 0.0 and ac_a >= 0.0 and ac_c <= 0.0 and ac_a > ac_c:
        t = ac_a / (ac_a - ac_c)
        return wl.vec3(1.0 - t, 0.0, t)
    on_a = ab_b * ac_c - ab_c * ac_b
    if on_a <= 0.0 and ac_b >= ab_b and ab_c >= ac_c and (ac_b - ab_b) + (ab_c - ac_c) > 0.0:
        t = (ac_b - ab_b) / ((ac_b - ab_b) + (ab_c - ac_c))
        return wl.vec3(0.0, 1.0 - t, t)
    total = on_a + on_b + on_c
    if total <= 0.0:
        return wl.vec3(1.0, 0.0, 0.0)
    return wl.vec3(on_a / total, on_b / total, on_c / total)


@wl.function
def nearest_on_segment(a: wl.vec3, b: wl.vec3) -> wl.vec3:
    """Barycentric coordinates (third 0) of the point of a segment nearest to the origin."""
    along = b - a
    square = wl.length_sq(along)
    t = wl.clamp(-wl.dot(a, along) / square, 0.0, 1.0) if square > 0.0 else 0.0
    return wl.vec3(1.0 - t, t, 0.0)


@wl.function
def reduce_simplex(points: Points, count: int):
    """The smallest part of a simplex that holds its point nearest to the origin: (points, number, nearest point).

    A tetrahedron about the origin is returned whole, with the origin.
    """
    best = wl.vec3(1.0, 0.0, 0.0)
    first, second, third = 0, 1, 2
    if count == 2:
        best = nearest_on_segment(manifold_point(points, 0), manifold_point(points, 1))
    elif count == 3:
        best = nearest_on_triangle(manifold_point(points, 0), manifold_point(points, 1), manifold_point(points, 2))
    elif count == 4:
        nearest = 1.0e30
        for left in range(4):
            i, j, k = (left + 1) % 4, (left + 2) % 4, (left + 3) % 4
            a, b, c = manifold_point(points, i), manifold_point(points, j), manifold_point(points, k)
            normal = wl.cross(b - a, c - a)
            if wl.dot(a, normal) * wl.dot(a - manifold_point(points, left), normal) <= 0.0:  # beyond this face
                weights = nearest_on_triangle(a, b, c)
                square = wl.length_sq(a * weights.x + b * weights.y + c * weights.z)
                if square < nearest:
                    nearest = square
                    best = weights
                    first, second, third = i, j, k
        if nearest == 1.0e30:
            return points, 4, wl.vec3(0.0, 0.0, 0.0)
    kept, number, point = Points(), 0, wl.vec3(0.0, 0.0, 0.0)
    for n in range(3):
        if best[n] > 0.0:
            corner = manifold_point(points, first if n == 0 else (second if n == 1 else third))
            kept = set_point(kept, number, corner)
            point += corner * best[n]
            number += 1
    return kept, number, point
