"""Rays against boxes: the lidar of agents."""

import math

import worldloom as wl
from worldloom.envs.escape_room.entities import (
    AGENT,
    CUBE,
    FIRST_AGENT,
    LIDAR_DEPTH,
    LIDAR_RAYS,
    LIDAR_TYPE,
    NONE,
    NUM_ROOMS,
    NUM_TYPES,
    Agent,
    Body,
    Level,
)

NO_HIT = 1.0e30
SMALLEST_SLOPE = 1.0e-12
"""Direction components below it count as parallel to the faces."""


@wl.function
def slab(start: float, slope: float, half: float):
    """Distances at which a ray enters and leaves the slab from ``-half`` to ``half`` of one axis."""
    if abs(slope) < SMALLEST_SLOPE:
        if abs(start) <= half:
            return -NO_HIT, NO_HIT
        return NO_HIT, -NO_HIT
    near = (-half - start) / slope
    far = (half - start) / slope
    return min(near, far), max(near, far)


@wl.function
def ray_box(start: wl.vec3, direction: wl.vec3, half: wl.vec3) -> float:
    """Distance along a ray to a box with its centre at the origin; 0 from within, ``NO_HIT`` for a miss.

    Args:
        start: of the ray, in the frame of the box.
        direction: of unit length, in the frame of the box.
        half: half extents.
    """
    x_near, x_far = slab(start.x, direction.x, half.x)
    y_near, y_far = slab(start.y, direction.y, half.y)
    z_near, z_far = slab(start.z, direction.z, half.z)
    near = max(x_near, y_near, z_near, 0.0)
    if near > min(x_far, y_far, z_far):
        return NO_HIT
    return near


@wl.function
def ray_turned_box(start: wl.vec3, direction: wl.vec3, half: wl.vec3, rotation: wl.quat) -> float:
    """As :func:`ray_box` for a turned box; the start is relative to its centre, in world axes."""
    along = wl.dot(start, direction)
    if wl.length_sq(start) - along * along > wl.length_sq(half):
        return NO_HIT
    return ray_box(wl.quat_rotate_inv(rotation, start), wl.quat_rotate_inv(rotation, direction), half)


@wl.function
def nearest_box(world: Level, eye: wl.vec3, direction: wl.vec3, reach: float, own: int):
    """Row of the nearest body that a horizontal ray hits, -1 for none, and the distance; row ``own`` is left out."""
    row = -1
    nearest = reach
    for body in world.all(Body):
        if body.type != NONE and body.id != own:
            distance = NO_HIT
            start = eye - body.position
            if body.type == CUBE or body.type == AGENT:
                distance = ray_turned_box(start, direction, body.size, body.rotation)
            else:
                distance = ray_box(start, direction, body.size)
            if distance < nearest:
                nearest = distance
                row = body.id
    return row, nearest


@wl.system(threads=32)
def cast_lidar(agent: Agent, world: Level):
    own = world.at(Body, FIRST_AGENT + agent.id)
    eye = own.position - wl.vec3(0.0, 0.0, own.size.z - world.eye_height)
    scale = 1.0 / (float(NUM_ROOMS) * world.room_length)
    for ray in wl.share(LIDAR_RAYS):
        angle = 2.0 * math.pi * float(ray) / float(LIDAR_RAYS)  # counter-clockwise from forward
        direction = wl.quat_rotate(own.rotation, wl.vec3(-wl.sin(angle), wl.cos(angle), 0.0))
        row, distance = nearest_box(world, eye, direction, world.lidar_range, FIRST_AGENT + agent.id)
        type = world.at(Body, row).type if row >= 0 else NONE
        agent.sight[LIDAR_DEPTH + ray] = distance * scale if row >= 0 else 0.0
        agent.sight[LIDAR_TYPE + ray] = float(type) / float(NUM_TYPES)
