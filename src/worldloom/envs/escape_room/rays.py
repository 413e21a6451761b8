"""One ray against all boxes."""

import worldloom as wl
from worldloom.envs.escape_room.entities import (
    FIRST_AGENT,
    FIRST_BORDER,
    FIRST_CUBE,
    FIRST_END_WALL,
    NONE,
    NUM_BODIES,
    NUM_ROOMS,
    Body,
    Level,
)
from worldloom.physics.queries.slabs import MISS, box_interval, reciprocal, rectangle_interval


@wl.function
def ray_upright_box(start: wl.vec3, inverse_x: float, inverse_y: float, half: wl.vec3) -> float:
    """Distance along a horizontal ray to a box with world axes; 0 from within, ``MISS`` for a miss.

    Args:
        start: of the ray, relative to the centre of the box.
        inverse_x, inverse_y: reciprocals of the unit direction.
        half: half extents.
    """
    near, far = rectangle_interval(
        inverse_x, inverse_y, wl.vec4(-half.x - start.x, -half.y - start.y, half.x - start.x, half.y - start.y)
    )
    return near if near <= far and abs(start.z) <= half.z else MISS


@wl.function
def ray_turned_box(start: wl.vec3, direction: wl.vec3, half: wl.vec3, rotation: wl.quat, reach: float) -> float:
    """The same for a box with any rotation; also ``MISS`` if its bounding sphere is farther than ``reach``."""
    ahead = -wl.dot(start, direction)  # of the centre
    square = wl.length_sq(start)
    radius_sq = wl.length_sq(half)
    if square - ahead * ahead > radius_sq:
        return MISS  # the ray passes the sphere
    beyond = max(ahead - reach, -ahead, 0.0)
    if beyond * beyond > radius_sq:
        return MISS  # the sphere is too far ahead, or behind
    origin = wl.quat_rotate_inv(rotation, start)
    way = wl.quat_rotate_inv(rotation, direction)
    near, far = box_interval(origin, way, half)
    return near if near <= far else MISS


@wl.function
def nearest_box(world: Level, eye: wl.vec3, direction: wl.vec3, reach: float, own: int):
    """Row of the nearest body that a horizontal ray hits, -1 for none, and the distance; row ``own`` is left out.

    End walls are tested from the agent's room onwards in the direction of the ray, up to the first hit before them.
    """
    inverse_x, inverse_y = reciprocal(direction.x), reciprocal(direction.y)
    hit_row = -1
    nearest = reach
    for border_row in range(FIRST_BORDER, FIRST_END_WALL):
        border = world.at(Body, border_row)
        distance = ray_upright_box(eye - border.position, inverse_x, inverse_y, border.size)
        if distance < nearest:
            nearest = distance
            hit_row = border_row
    room = int(eye.y / world.room_length)
    onward = 1 if inverse_y > 0.0 else -1
    face = -world.wall_thickness if inverse_y > 0.0 else 0.0  # of an end wall, from the end of its room
    for n in range(NUM_ROOMS):
        number = wl.clamp(room, 0, NUM_ROOMS - 1) + onward * n
        if number >= 0 and number < NUM_ROOMS:
            end = world.room_length * float(number + 1)
            if (end + face - eye.y) * inverse_y < nearest:
                for part in range(3):
                    wall_row = FIRST_END_WALL + 3 * wl.clamp(number, 0, NUM_ROOMS - 1) + part
                    wall = world.at(Body, wall_row)
                    distance = ray_upright_box(eye - wall.position, inverse_x, inverse_y, wall.size)
                    if distance < nearest:
                        nearest = distance
                        hit_row = wall_row
    for body_row in range(FIRST_AGENT, NUM_BODIES):
        if body_row < FIRST_BORDER or body_row >= FIRST_CUBE:
            body = world.at(Body, body_row)
            if body.type != NONE and body_row != own:
                distance = ray_turned_box(eye - body.position, direction, body.size, body.rotation, nearest)
                if distance < nearest:
                    nearest = distance
                    hit_row = body_row
    return hit_row, nearest
