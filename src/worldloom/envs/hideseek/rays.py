"""Rays against the bodies of HideSeek.

A ray is a direction of any length; distances are in units of it, and ``MISS`` is none. A ray that starts within a
body hits it at distance 0.
"""

import worldloom as wl
from worldloom import physics
from worldloom.core.kernels.quotients import fast_quotient
from worldloom.envs.hideseek.entities import WALL_HEIGHT
from worldloom.physics.queries.slabs import MISS, box_interval, reciprocal, rectangle_interval


@wl.function
def height_interval(height: float, inverse: float):
    """The interval of a ray from ``height`` between the foot and the top of walls: (entry, leave)."""
    foot, top = -height * inverse, (WALL_HEIGHT - height) * inverse
    return min(foot, top), max(foot, top)


@wl.function
def ray_wall(origin: wl.vec3, inverse: wl.vec3, wall: wl.vec4) -> float:
    """Distance to a wall; ``inverse`` holds the reciprocals of its direction."""
    entry, leave = rectangle_interval(inverse.x, inverse.y, wall - wl.vec4(origin.x, origin.y, origin.x, origin.y))
    low, high = height_interval(origin.z, inverse.z)
    entry, leave = max(entry, low), min(leave, high)
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
    entry, leave = rectangle_interval(reciprocal(x), reciprocal(y), wall)
    return entry if entry <= leave else MISS


@wl.function
def wedge_middle(size: wl.vec3) -> wl.vec3:
    """The centre of the bounding box of a wedge, from its centre of mass."""
    return wl.vec3(0.0, fast_quotient(-size.y, 3.0), fast_quotient(size.z, 3.0))


@wl.function
def ray_box(start: wl.vec3, way: wl.vec3, size: wl.vec3) -> float:
    """Distance to a box with half extents ``size`` about the origin."""
    entry, leave = box_interval(start, way, size)
    return entry if entry <= leave else MISS


@wl.function
def below_slope(entry: float, leave: float, start: wl.vec3, way: wl.vec3, size: wl.vec3) -> float:
    """Distance to a wedge of a ray that is within its bounding box from ``entry`` to ``leave``."""
    height = size.z * start.y - size.y * start.z  # positive below the slope
    slope = reciprocal(size.z * way.y - size.y * way.z)
    entry = max(entry, -height * slope if slope > 0.0 else 0.0)
    leave = min(leave, -height * slope if slope < 0.0 else MISS)
    return entry if entry <= leave else MISS


@wl.function
def ray_wedge(start: wl.vec3, way: wl.vec3, size: wl.vec3) -> float:
    """Distance to a wedge whose bounding box has half extents ``size`` about the origin."""
    entry, leave = box_interval(start, way, size)
    return below_slope(entry, leave, start, way, size)


@wl.function
def ray_start(offset: wl.vec3, rotation: wl.quat, size: wl.vec3, shape: int) -> wl.vec3:
    """The start of rays in the frame of a solid whose centre of mass is at ``offset`` from it, see `ray_shape`."""
    start = -wl.quat_rotate_inv(rotation, offset)
    return start - wedge_middle(size) if shape == physics.WEDGE else start


@wl.function
def ray_shape(start: wl.vec3, way: wl.vec3, size: wl.vec3, wedge: bool) -> float:
    """Distance to a box or a wedge in its own frame, about the centre of its bounding box."""
    entry, leave = box_interval(start, way, size)  # of both, so that threads with either take the same branch
    if wedge:
        return below_slope(entry, leave, start, way, size)
    return entry if entry <= leave else MISS


@wl.function
def ray_solid(offset: wl.vec3, direction: wl.vec3, rotation: wl.quat, size: wl.vec3, shape: int) -> float:
    """Distance to a box or a wedge whose centre of mass is at ``offset`` from the origin."""
    way = wl.quat_rotate_inv(rotation, direction)
    return ray_shape(ray_start(offset, rotation, size, shape), way, size, shape == physics.WEDGE)
