"""Rays against shapes.

Distances are along a unit direction; a miss is ``MISS``. A ray that starts within a shape hits it at distance 0 with
the reversed direction as normal.
"""

import worldloom as wl
from worldloom.physics.manifolds import capsule_end
from worldloom.physics.shapes import (
    CAPSULE,
    PLANE,
    SPHERE,
    Faces,
    Vertices,
    face_normal,
    face_vertex,
)

MISS = 1.0e30


@wl.function
def ray_plane(origin: wl.vec3, direction: wl.vec3, point: wl.vec3, normal: wl.vec3):
    """Distance to the half-space below a plane, and its normal."""
    height = wl.dot(origin - point, normal)
    if height <= 0.0:
        return 0.0, -direction
    fall = -wl.dot(direction, normal)
    if fall <= 0.0:
        return MISS, normal
    return height / fall, normal


@wl.function
def ray_sphere(origin: wl.vec3, direction: wl.vec3, centre: wl.vec3, radius: float):
    """Distance to a sphere, and the normal at the hit."""
    to_centre = centre - origin
    if wl.length_sq(to_centre) <= radius * radius:
        return 0.0, -direction
    along = wl.dot(to_centre, direction)
    aside = to_centre - direction * along
    square = radius * radius - wl.length_sq(aside)
    if along < 0.0 or square < 0.0:
        return MISS, -direction
    distance = along - wl.sqrt(square)
    return distance, (direction * distance - to_centre) / radius


@wl.function
def ray_capsule(origin: wl.vec3, direction: wl.vec3, p: wl.vec3, q: wl.vec3, radius: float):
    """Distance to a capsule about the segment p q, and the normal at the hit."""
    axis = wl.normalize(q - p)
    length = wl.length(q - p)
    start = origin - p
    height = wl.dot(start, axis)
    nearest = p + axis * wl.clamp(height, 0.0, length)
    if wl.length_sq(origin - nearest) <= radius * radius:
        return 0.0, -direction
    rise = wl.dot(direction, axis)
    flat = direction - axis * rise
    aside = start - axis * height
    flat_sq = wl.length_sq(flat)
    if flat_sq > 1e-12:
        along = -wl.dot(aside, flat) / flat_sq
        square = radius * radius - wl.length_sq(aside + flat * along)
        if square < 0.0:
            return MISS, -direction
        distance = along - wl.sqrt(square / flat_sq)
        level = height + distance * rise
        if distance >= 0.0 and level >= 0.0 and level <= length:
            return distance, (aside + flat * distance) / radius
    first, first_normal = ray_sphere(origin, direction, p, radius)
    second, second_normal = ray_sphere(origin, direction, q, radius)
    if first <= second:
        return first, first_normal
    return second, second_normal


@wl.function
def ray_polytope(origin: wl.vec3, direction: wl.vec3, vertices: Vertices, faces: Faces, count: int):
    """Distance to a polytope, the intersection of the half-spaces of its faces, and the normal at the hit."""
    entry = 0.0
    leave = MISS
    normal = -direction
    for f in range(count):
        outward = face_normal(vertices, faces[f])
        height = wl.dot(origin - face_vertex(vertices, faces[f], 0), outward)
        rise = wl.dot(direction, outward)
        if abs(rise) < 1e-12:
            if height > 0.0:
                return MISS, -direction
        elif rise < 0.0:
            if -height / rise > entry:
                entry = -height / rise
                normal = outward
        else:
            leave = min(leave, -height / rise)
    if entry > leave:
        return MISS, -direction
    return entry, normal


@wl.function
def ray_shape(
    origin: wl.vec3,
    direction: wl.vec3,
    shape: int,
    size: wl.vec3,
    position: wl.vec3,
    rotation: wl.quat,
    vertices: Vertices,
    faces: Faces,
    counts: wl.vec3i,
):
    """Distance to a shape, and the normal at the hit; vertices of a polytope are in its body frame."""
    if shape == PLANE:
        return ray_plane(origin, direction, position, wl.quat_rotate(rotation, wl.vec3(0.0, 0.0, 1.0)))
    if shape == SPHERE:
        return ray_sphere(origin, direction, position, size.x)
    if shape == CAPSULE:
        p = capsule_end(shape, size, position, rotation, -1.0)
        q = capsule_end(shape, size, position, rotation, 1.0)
        return ray_capsule(origin, direction, p, q, size.x)
    local_origin = wl.quat_rotate_inv(rotation, origin - position)
    local_direction = wl.quat_rotate_inv(rotation, direction)
    distance, normal = ray_polytope(local_origin, local_direction, vertices, faces, counts.y)
    return distance, wl.quat_rotate(rotation, normal)
