"""Rays against shapes.

Distances are along a unit direction; a miss is ``MISS``. A ray that starts within a shape hits it at distance 0 with
the reversed direction as normal.
"""

import worldloom as wl
from worldloom.physics.geometry.manifolds import capsule_end
from worldloom.physics.queries.slabs import MISS, box_entries, box_leave, reciprocals
from worldloom.physics.shapes import BOX, CAPSULE, PLANE, SPHERE, WEDGE


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
def ray_box(origin: wl.vec3, direction: wl.vec3, size: wl.vec3):
    """Distance to a box in its body frame, and the normal at the hit."""
    inverse = reciprocals(direction)
    entries = box_entries(origin, inverse, size)
    entry = max(entries.x, entries.y, entries.z)
    if max(entry, 0.0) > box_leave(origin, inverse, size):
        return MISS, -direction
    if entry <= 0.0:
        return 0.0, -direction
    if entries.x == entry:
        return entry, wl.vec3(-wl.sign(direction.x), 0.0, 0.0)
    if entries.y == entry:
        return entry, wl.vec3(0.0, -wl.sign(direction.y), 0.0)
    return entry, wl.vec3(0.0, 0.0, -wl.sign(direction.z))


@wl.function
def clip_ray(
    origin: wl.vec3,
    direction: wl.vec3,
    point: wl.vec3,
    outward: wl.vec3,
    entry: float,
    leave: float,
    normal: wl.vec3,
):
    """The interval of a ray within one more half-space, and the normal where it enters: (entry, leave, normal).

    Args:
        origin: of the ray.
        direction: of the ray.
        point: on the boundary of the half-space.
        outward: unit normal of the boundary.
        entry: start of the interval so far.
        leave: end of the interval so far; below ``entry`` if the ray misses.
        normal: of the half-space that the ray entered last.
    """
    height = wl.dot(origin - point, outward)
    rise = wl.dot(direction, outward)
    if rise < 0.0:
        if -height / rise > entry:
            return -height / rise, leave, outward
    elif rise > 0.0:
        leave = min(leave, -height / rise)
    elif height > 0.0:
        leave = -1.0
    return entry, leave, normal


@wl.function
def ray_wedge(origin: wl.vec3, direction: wl.vec3, size: wl.vec3):
    """Distance to a wedge in its body frame, and the normal at the hit."""
    entry, leave, normal = 0.0, MISS, -direction
    low = wl.vec3(-size.x, size.y * (2.0 / 3.0), -size.z * (2.0 / 3.0))  # a corner at the foot of the vertical face
    ramp = wl.normalize(wl.vec3(0.0, -size.z, size.y))
    top = wl.vec3(size.x, low.y, size.z * (4.0 / 3.0))
    entry, leave, normal = clip_ray(origin, direction, low, wl.vec3(-1.0, 0.0, 0.0), entry, leave, normal)
    entry, leave, normal = clip_ray(origin, direction, top, wl.vec3(1.0, 0.0, 0.0), entry, leave, normal)
    entry, leave, normal = clip_ray(origin, direction, low, wl.vec3(0.0, 1.0, 0.0), entry, leave, normal)
    entry, leave, normal = clip_ray(origin, direction, low, wl.vec3(0.0, 0.0, -1.0), entry, leave, normal)
    entry, leave, normal = clip_ray(origin, direction, top, ramp, entry, leave, normal)
    if entry > leave:
        return MISS, -direction
    return entry, normal


@wl.function
def ray_shape(origin: wl.vec3, direction: wl.vec3, shape: int, size: wl.vec3, position: wl.vec3, rotation: wl.quat):
    """Distance to a plane, sphere, capsule, box or wedge, and the normal at the hit."""
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
    distance, normal = MISS, -local_direction
    if shape == BOX:
        distance, normal = ray_box(local_origin, local_direction, size)
    elif shape == WEDGE:
        distance, normal = ray_wedge(local_origin, local_direction, size)
    return distance, wl.quat_rotate(rotation, normal)


@wl.function
def beyond_reach(origin: wl.vec3, direction: wl.vec3, length: float, position: wl.vec3, radius: float) -> bool:
    """Whether a ray of this length misses the bounding sphere of a body; False where the radius is unknown, 0."""
    between = position - origin
    along = wl.dot(between, direction)
    outside = along < -radius or along - radius > length
    return radius > 0.0 and (outside or wl.length_sq(between - direction * along) > radius * radius)


@wl.function
def fan_direction(forward: wl.vec3, axis: wl.vec3, index: int, count: int, spread: float) -> wl.vec3:
    """Direction of ray ``index`` of ``count``, turned from ``forward`` counter-clockwise about the unit axis.

    The rays divide the angle ``spread`` (radians) into ``count`` equal parts; ray 0 points forward.
    """
    angle = spread * float(index) / float(count)
    return wl.quat_rotate(wl.quat_from_axis_angle(axis, angle), forward)
