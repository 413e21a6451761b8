"""Rays against the bodies of HideSeek.

A ray is a direction of any length; distances are in units of it, and ``MISS`` is none. A ray that starts within a
body hits it at distance 0.
"""

import worldloom as wl
from worldloom import physics
from worldloom.envs.hideseek.entities import WALL_HEIGHT

MISS = 1.0e30
STEEP = 1.0e9
"""Reciprocal of directions that are nearly parallel to a face."""


@wl.function
def reciprocal(x: float) -> float:
    """1 / x, limited to ``STEEP``."""
    if abs(x) * STEEP > 1.0:
        return 1.0 / x
    return STEEP


@wl.function
def reciprocals(direction: wl.vec3) -> wl.vec3:
    """The reciprocal of each component."""
    return wl.vec3(reciprocal(direction.x), reciprocal(direction.y), reciprocal(direction.z))


@wl.function
def ray_wall(origin: wl.vec3, inverse: wl.vec3, wall: wl.vec4) -> float:
    """Distance to a wall; ``inverse`` holds the reciprocals of its direction."""
    left, right = (wall[0] - origin.x) * inverse.x, (wall[2] - origin.x) * inverse.x
    near, far = (wall[1] - origin.y) * inverse.y, (wall[3] - origin.y) * inverse.y
    foot, top = -origin.z * inverse.z, (WALL_HEIGHT - origin.z) * inverse.z
    entry = max(max(min(left, right), min(near, far)), max(min(foot, top), 0.0))
    leave = min(min(max(left, right), max(near, far)), max(foot, top))
    return entry if entry <= leave else MISS


@wl.function
def may_hit(offset: wl.vec3, direction: wl.vec3, length_sq: float, radius: float) -> bool:
    """Whether a ray passes a sphere at ``offset`` from its origin; ``length_sq`` is that of the direction."""
    along = wl.dot(offset, direction)
    gap_sq = wl.length_sq(offset) - radius * radius
    return gap_sq <= 0.0 or (along > 0.0 and along * along >= gap_sq * length_sq)


@wl.function
def ray_rectangle(x: float, y: float, wall: wl.vec4) -> float:
    """Distance along a horizontal direction to a wall whose rectangle is given relative to the origin."""
    inverse_x, inverse_y = reciprocal(x), reciprocal(y)
    left, right = wall[0] * inverse_x, wall[2] * inverse_x
    near, far = wall[1] * inverse_y, wall[3] * inverse_y
    entry = max(max(min(left, right), min(near, far)), 0.0)
    leave = min(max(left, right), max(near, far))
    return entry if entry <= leave else MISS


@wl.function
def wedge_middle(size: wl.vec3) -> wl.vec3:
    """The centre of the bounding box of a wedge, from its centre of mass."""
    return wl.vec3(0.0, -size.y / 3.0, size.z / 3.0)


@wl.function
def clip_to_box(start: wl.vec3, way: wl.vec3, size: wl.vec3):
    """Distances at which a ray enters and leaves a box with half extents ``size`` about the origin."""
    x, y, z = reciprocal(way.x), reciprocal(way.y), reciprocal(way.z)
    half_x, half_y, half_z = size.x * abs(x), size.y * abs(y), size.z * abs(z)
    entry = max(max(-start.x * x - half_x, -start.y * y - half_y), max(-start.z * z - half_z, 0.0))
    leave = min(min(half_x - start.x * x, half_y - start.y * y), half_z - start.z * z)
    return entry, leave


@wl.function
def ray_box(start: wl.vec3, way: wl.vec3, size: wl.vec3) -> float:
    """Distance to a box with half extents ``size`` about the origin."""
    entry, leave = clip_to_box(start, way, size)
    return entry if entry <= leave else MISS


@wl.function
def ray_wedge(start: wl.vec3, way: wl.vec3, size: wl.vec3) -> float:
    """Distance to a wedge whose bounding box has half extents ``size`` about the origin."""
    entry, leave = clip_to_box(start, way, size)
    height = size.z * start.y - size.y * start.z  # positive below the slope
    slope = reciprocal(size.z * way.y - size.y * way.z)
    entry = max(entry, -height * slope if slope > 0.0 else 0.0)
    leave = min(leave, -height * slope if slope < 0.0 else MISS)
    return entry if entry <= leave else MISS


@wl.function
def ray_solid(offset: wl.vec3, direction: wl.vec3, rotation: wl.quat, size: wl.vec3, shape: int) -> float:
    """Distance to a box or a wedge whose centre of mass is at ``offset`` from the origin."""
    start = -wl.quat_rotate_inv(rotation, offset)
    way = wl.quat_rotate_inv(rotation, direction)
    if shape == physics.WEDGE:
        return ray_wedge(start - wedge_middle(size), way, size)
    return ray_box(start, way, size)
